//! A mounted file system: mounted by the kernel, served by this program, or a ZFS pool.

use crate::Error;
use crate::kind::FileSystem;
use crate::kind::zfs::Pool;
use disk::{Mount, ServedMount, Session};
use std::path::Path;
use std::sync::Arc;

pub enum Mounted {
    ByKernel(Mount),
    Served(ServedMount),
    Pool(Pool),
}

impl Mounted {
    /// Mounts the file system on `device` on a new directory.
    pub fn new(
        session: &Arc<Session>,
        kind: &dyn FileSystem,
        device: &Path,
        options: &[String],
    ) -> Result<Mounted, Error> {
        if kind.in_pool() {
            return Pool::new(session, device, options).map(Mounted::Pool);
        }
        Ok(match kind.fuse_server(device, options) {
            Some(spec) => Mounted::Served(ServedMount::new(session, spec)?),
            None => Mounted::ByKernel(
                Mount::new(session, device, kind.mount_name(), options)
                    .map_err(|error| explained(error, kind, options))?,
            ),
        })
    }

    pub fn dir(&self) -> &Path {
        match self {
            Mounted::ByKernel(mount) => mount.dir(),
            Mounted::Served(mount) => mount.dir(),
            Mounted::Pool(pool) => pool.dir(),
        }
    }

    pub fn mount(&mut self) -> Result<(), Error> {
        match self {
            Mounted::ByKernel(mount) => Ok(mount.mount()?),
            Mounted::Served(mount) => Ok(mount.mount()?),
            Mounted::Pool(pool) => pool.mount(),
        }
    }

    pub fn unmount(&mut self) -> Result<(), Error> {
        match self {
            Mounted::ByKernel(mount) => Ok(mount.unmount()?),
            Mounted::Served(mount) => Ok(mount.unmount()?),
            Mounted::Pool(pool) => pool.unmount(),
        }
    }
}

/// The error, with what the options need that this kernel may lack.
fn explained(error: disk::Error, kind: &dyn FileSystem, options: &[String]) -> disk::Error {
    let mut all = options.iter().flat_map(|options| options.split(','));
    let needed = all.find_map(|option| Some((option, kind.option_needs(option)?)));
    match (error, needed) {
        (disk::Error::Mount { device, kind, why }, Some((option, needs))) => {
            disk::Error::Mount { device, kind, why: format!("{why}; {option} needs {needs}") }
        }
        (error, _) => error,
    }
}
