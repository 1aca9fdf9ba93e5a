//! A modelled disk from the side of its user: mounts the file, starts the server and sends it requests.

use super::control::{ControlRequest, Fault, Status, call, take_log};
use super::flash::saved_flash;
use super::server::FILE;
use super::settings::{Clock, DiskSettings};
use super::snapshots::{self, Snapshot};
use super::store::{Store, model_of};
use crate::error::{Error, IoContext};
use crate::model::{Ftl, Model};
use crate::registry::Session;
use crate::request::Request;
use crate::served_mount::{FuseServerSpec, ServedMount};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An attached modelled disk. Dropping it detaches it; the data stays in the store.
#[derive(Debug)]
pub struct ModelledDisk {
    dir: PathBuf,
    settings: DiskSettings,
    file: PathBuf,
    mount: ServedMount,
}

impl ModelledDisk {
    /// Creates a store in `dir`, which must be new or empty.
    pub fn create(dir: &Path, settings: &DiskSettings) -> Result<(), Error> {
        Store::create(dir, settings)
    }

    /// Sets another program as the server, so that this one needs no `disk serve`. For tests and benchmarks.
    pub fn set_server_program(program: &Path) {
        ServedMount::set_server_program(program);
    }

    /// Attaches the disk in `dir`. The server is this program, called with `disk serve`.
    pub fn attach(session: &Arc<Session>, dir: &Path) -> Result<ModelledDisk, Error> {
        let clock = DiskSettings::read(dir)?.clock;
        ModelledDisk::attach_with_clock(session, dir, clock)
    }

    /// Attaches the disk with this clock instead of that of the store.
    pub fn attach_with_clock(
        session: &Arc<Session>,
        dir: &Path,
        clock: Clock,
    ) -> Result<ModelledDisk, Error> {
        let dir = std::fs::canonicalize(dir).context("opening the store", dir)?;
        let mut settings = DiskSettings::read(&dir)?;
        settings.clock = clock;
        let spec = FuseServerSpec {
            what: format!("modelled disk {}", dir.display()),
            source: "senesce".into(),
            kind: "fuse",
            options: vec!["nosuid,nodev,noexec".to_owned()],
            args: vec!["disk".into(), "serve".into(), dir.clone().into(), clock.name().into()],
        };
        let mount = ServedMount::new(session, spec)?;
        let file = mount.dir().join(FILE);
        Ok(ModelledDisk { dir, settings, file, mount })
    }

    /// The directory of the store.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The settings of the disk.
    pub fn settings(&self) -> &DiskSettings {
        &self.settings
    }

    /// The device model of the disk.
    pub fn model(&self) -> Result<Model, Error> {
        model_of(&self.dir)
    }

    /// The file that represents the disk.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Takes a snapshot under a new name.
    pub fn snapshot(&self, name: &str) -> Result<(), Error> {
        self.call(&ControlRequest::Snapshot(name.to_owned())).map(drop)
    }

    /// Rolls the disk back to a snapshot. Nothing may be mounted on it, and the caller must drop the kernel's caches of its loop device
    /// afterwards.
    pub fn rollback(&self, name: &str) -> Result<(), Error> {
        self.call(&ControlRequest::Rollback { name: name.to_owned(), open: true }).map(drop)
    }

    /// The snapshots of the disk.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, Error> {
        snapshots::list_snapshots(&self.dir)
    }

    /// The status of the disk.
    pub fn status(&self) -> Result<Status, Error> {
        self.call(&ControlRequest::Status)
    }

    /// The clock of the disk: its busy time since it was attached, in modelled time.
    pub fn clock_ns(&self) -> Result<u64, Error> {
        Ok(self.status()?.clock_ns)
    }

    /// The state of its flash now; `None` if its model has no translation layer.
    pub fn flash(&self) -> Result<Option<Ftl>, Error> {
        // A disk without one has nothing to save, which is a frequent case.
        if !self.model()?.has_ftl() {
            return Ok(None);
        }
        self.call(&ControlRequest::SaveFlash)?;
        saved_flash(&self.dir)
    }

    /// Starts a log of requests.
    pub fn start_log(&self) -> Result<(), Error> {
        self.call(&ControlRequest::Log(true)).map(drop)
    }

    /// Stops the log. Returns its requests, oldest first, and the number of requests that did not fit into it.
    pub fn end_log(&self) -> Result<(Vec<Request>, u64), Error> {
        let (requests, status) = take_log(&self.dir)?.ok_or_else(|| self.no_server())?;
        self.call(&ControlRequest::Log(false))?;
        Ok((requests, status.log_lost))
    }

    /// Injects a fault.
    pub fn fault(&self, fault: Fault) -> Result<(), Error> {
        self.call(&ControlRequest::Fault(fault)).map(drop)
    }

    /// Whether the server is alive.
    pub fn is_served(&mut self) -> bool {
        self.mount.is_served()
    }

    /// Detaches the disk and waits until its store is written back.
    pub fn detach(mut self) -> Result<(), Error> {
        self.mount.unmount()
    }

    fn call(&self, request: &ControlRequest) -> Result<Status, Error> {
        call(&self.dir, request)?.ok_or_else(|| self.no_server())
    }

    fn no_server(&self) -> Error {
        let why = "its server has ended; written data is in the store, so attach it again".to_owned();
        Error::Store { dir: self.dir.clone(), why }
    }
}
