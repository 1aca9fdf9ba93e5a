//! A mounted file system: the kernel's own, or one that this program serves.

use crate::kind::FileSystem;
use disk::{Error, Mount, ServedMount, Session};
use std::path::Path;
use std::sync::Arc;

pub enum Mounted {
    ByKernel(Mount),
    Served(ServedMount),
}

impl Mounted {
    /// Mounts what is on `device` on a fresh directory.
    pub fn new(
        session: &Arc<Session>,
        kind: &dyn FileSystem,
        device: &Path,
        options: &[String],
    ) -> Result<Mounted, Error> {
        match kind.serving(device, options) {
            Some(serving) => ServedMount::new(session, serving).map(Mounted::Served),
            None => Mount::new(session, device, kind.name(), options).map(Mounted::ByKernel),
        }
    }

    pub fn dir(&self) -> &Path {
        match self {
            Mounted::ByKernel(mount) => mount.dir(),
            Mounted::Served(mount) => mount.dir(),
        }
    }

    pub fn mount(&mut self) -> Result<(), Error> {
        match self {
            Mounted::ByKernel(mount) => mount.mount(),
            Mounted::Served(mount) => mount.mount(),
        }
    }

    pub fn unmount(&mut self) -> Result<(), Error> {
        match self {
            Mounted::ByKernel(mount) => mount.unmount(),
            Mounted::Served(mount) => mount.unmount(),
        }
    }
}
