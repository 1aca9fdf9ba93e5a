//! A modelled disk from the side of the process that uses it: mounts the file, starts the server, asks things of it.

use super::control::{Ask, Fault, Status, call, take_log};
use super::server::FILE;
use super::settings::{Clock, DiskSettings};
use super::snapshots::{self, Snapshot};
use super::store::{Store, model_of};
use crate::error::{Error, IoContext};
use crate::model::Model;
use crate::registry::Session;
use crate::request::Request;
use crate::served_mount::{ServedMount, Serving};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A modelled disk in service. Dropping it takes it out of service; what it holds stays in its store.
#[derive(Debug)]
pub struct ModelledDisk {
    dir: PathBuf,
    settings: DiskSettings,
    file: PathBuf,
    mount: ServedMount,
}

impl ModelledDisk {
    /// Makes a store in `dir`, which must be new or empty.
    pub fn create(dir: &Path, settings: &DiskSettings) -> Result<(), Error> {
        Store::create(dir, settings)
    }

    /// Lets another program serve than this one, which then needs no `disk serve`. For tests and benchmarks.
    pub fn served_by(program: &Path) {
        ServedMount::served_by(program);
    }

    /// Puts the disk in `dir` into service. The server is this program again, called with `disk serve`.
    pub fn attach(session: &Arc<Session>, dir: &Path) -> Result<ModelledDisk, Error> {
        let clock = DiskSettings::read(dir)?.clock;
        ModelledDisk::attach_by(session, dir, clock)
    }

    /// The same with this clock, whatever the store says.
    pub fn attach_by(session: &Arc<Session>, dir: &Path, clock: Clock) -> Result<ModelledDisk, Error> {
        let dir = std::fs::canonicalize(dir).context("opening the store", dir)?;
        let mut settings = DiskSettings::read(&dir)?;
        settings.clock = clock;
        let serving = Serving {
            what: format!("modelled disk {}", dir.display()),
            source: "senesce".into(),
            kind: "fuse",
            options: vec!["nosuid,nodev,noexec".to_owned()],
            args: vec!["disk".into(), "serve".into(), dir.clone().into(), clock.name().into()],
        };
        let mount = ServedMount::new(session, serving)?;
        let file = mount.dir().join(FILE);
        Ok(ModelledDisk { dir, settings, file, mount })
    }

    /// The directory of its store.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it is made like.
    pub fn settings(&self) -> &DiskSettings {
        &self.settings
    }

    /// The model that it was made after.
    pub fn model(&self) -> Result<Model, Error> {
        model_of(&self.dir)
    }

    /// The file that is the disk.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Keeps the disk as it is now under a new name.
    pub fn snapshot(&self, name: &str) -> Result<(), Error> {
        self.ask(&Ask::Snapshot(name.to_owned())).map(drop)
    }

    /// Makes the disk what it was when the snapshot was taken. Nothing may be mounted on it, and what the kernel
    /// keeps of its loop device must be dropped after it.
    pub fn rollback(&self, name: &str) -> Result<(), Error> {
        self.ask(&Ask::Rollback { name: name.to_owned(), open: true }).map(drop)
    }

    /// Its snapshots.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, Error> {
        snapshots::list(&self.dir)
    }

    /// How it is.
    pub fn status(&self) -> Result<Status, Error> {
        self.ask(&Ask::Status)
    }

    /// The disk's own clock: how long it has had requests to do since it was attached, in modelled time.
    pub fn clock_ns(&self) -> Result<u64, Error> {
        Ok(self.status()?.clock_ns)
    }

    /// Begins a log of requests.
    pub fn start_log(&self) -> Result<(), Error> {
        self.ask(&Ask::Log(true)).map(drop)
    }

    /// The requests since the log was begun, oldest first, and how many did not fit into it. No log is kept any longer.
    pub fn end_log(&self) -> Result<(Vec<Request>, u64), Error> {
        let (requests, status) = take_log(&self.dir)?.ok_or_else(|| self.no_server())?;
        self.ask(&Ask::Log(false))?;
        Ok((requests, status.log_lost))
    }

    /// Makes it fail.
    pub fn fault(&self, fault: Fault) -> Result<(), Error> {
        self.ask(&Ask::Fault(fault)).map(drop)
    }

    /// Whether its server lives.
    pub fn is_served(&mut self) -> bool {
        self.mount.is_served()
    }

    /// Takes it out of service, and waits until its store is written back.
    pub fn detach(mut self) -> Result<(), Error> {
        self.mount.unmount()
    }

    fn ask(&self, ask: &Ask) -> Result<Status, Error> {
        call(&self.dir, ask)?.ok_or_else(|| self.no_server())
    }

    fn no_server(&self) -> Error {
        let why = "its server has ended; written data is in the store, so attach it again".to_owned();
        Error::Store { dir: self.dir.clone(), why }
    }
}
