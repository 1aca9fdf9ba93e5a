//! A modelled disk from the side of the process that uses it: mounts the file, starts the server, asks things of it.
//!
//! The mount belongs to this process, the server does not: it lives in the mount namespace that this process came
//! from. So when this process is killed, its namespace goes with all that is mounted in it; the file system on the
//! disk is unmounted, the loop device lets go of the file, the file's mount ends, and the server sees that and ends
//! too. When the server is killed instead, the kernel answers every request with an error.

use super::control::{Ask, Fault, Status, call, take_log};
use super::serve::READY;
use super::server::FILE;
use super::settings::DiskSettings;
use super::snapshots::{self, Snapshot};
use super::store::{Store, model_of};
use crate::error::{Error, IoContext};
use crate::isolate;
use crate::model::Model;
use crate::mount::Mount;
use crate::registry::Session;
use crate::request::Request;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The program that serves, if it is not this one.
static SERVER: OnceLock<PathBuf> = OnceLock::new();

/// How long a server may take to write back its store when it ends.
const END: Duration = Duration::from_secs(300);

/// A modelled disk in service. Dropping it takes it out of service; what it holds stays in its store.
#[derive(Debug)]
pub struct ModelledDisk {
    dir: PathBuf,
    settings: DiskSettings,
    file: PathBuf,
    mount: Mount,
    server: Child,
    /// What the server says.
    says: BufReader<ChildStdout>,
}

impl ModelledDisk {
    /// Makes a store in `dir`, which must be new or empty.
    pub fn create(dir: &Path, settings: &DiskSettings) -> Result<(), Error> {
        Store::create(dir, settings)
    }

    /// Lets another program serve than this one, which then needs no `disk serve`. For tests and benchmarks.
    pub fn served_by(program: &Path) {
        let _ = SERVER.set(program.to_owned());
    }

    /// Puts the disk in `dir` into service. The server is this program again, called with `disk serve`.
    pub fn attach(session: &Arc<Session>, dir: &Path) -> Result<ModelledDisk, Error> {
        let dir = std::fs::canonicalize(dir).context("opening the store", dir)?;
        let settings = DiskSettings::read(&dir)?;
        let path = Path::new("/dev/fuse");
        let device = File::options().read(true).write(true).open(path).map_err(|e| Error::Store {
            dir: dir.clone(),
            why: format!(
                "it needs FUSE, and {} cannot be opened ({e}); as root try `modprobe fuse`",
                path.display()
            ),
        })?;
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,nosuid,nodev,noexec", device.as_raw_fd());
        let mount = Mount::new(session, Path::new("senesce"), "fuse", &[options])?;
        // From here on the server alone has the device: when it ends, so does the file system.
        let mut server = start(&dir, device.into())?;
        let says = BufReader::new(server.stdout.take().expect("standard output is a pipe"));
        let file = mount.dir().join(FILE);
        let mut this = ModelledDisk { dir, settings, file, mount, server, says };
        this.wait_until_ready()?;
        Ok(this)
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
        matches!(self.server.try_wait(), Ok(None))
    }

    /// Takes it out of service, and waits until its store is written back.
    pub fn detach(mut self) -> Result<(), Error> {
        self.mount.unmount()?;
        self.wait_for_end()
    }

    fn ask(&self, ask: &Ask) -> Result<Status, Error> {
        call(&self.dir, ask)?.ok_or_else(|| self.no_server())
    }

    fn no_server(&self) -> Error {
        let why = "its server has ended; what was written is in the store, so attach it again".to_owned();
        Error::Store { dir: self.dir.clone(), why }
    }

    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let mut line = String::new();
        self.says.read_line(&mut line).context("starting the server of", &self.dir)?;
        match line.trim_end() {
            READY => Ok(()),
            "" => {
                let why = "its server ended before it was ready".to_owned();
                Err(Error::Store { dir: self.dir.clone(), why })
            }
            said => Err(Error::Said(said.to_owned())),
        }
    }

    fn wait_for_end(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        let mut wait = Duration::from_millis(1);
        while start.elapsed() < END {
            match self.server.try_wait().context("waiting for the server of", &self.dir)? {
                None => std::thread::sleep(wait),
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    let mut last = String::new();
                    let _ = self.says.read_line(&mut last);
                    let why = if last.is_empty() { status.to_string() } else { last.trim_end().to_owned() };
                    let why = format!("its server did not end well: {why}");
                    return Err(Error::Store { dir: self.dir.clone(), why });
                }
            }
            wait = (2 * wait).min(Duration::from_millis(50));
        }
        let why =
            format!("its server (process {}) does not end; is something still open there?", self.server.id());
        Err(Error::Store { dir: self.dir.clone(), why })
    }
}

impl Drop for ModelledDisk {
    fn drop(&mut self) {
        // What is still in use stays in service; the registry knows its mount.
        if self.mount.unmount().is_ok() {
            let _ = self.wait_for_end();
        }
    }
}

/// Starts the server in a process group of its own, so that Ctrl-C reaches this process alone, which then takes
/// down what is on the disk first.
fn start(dir: &Path, device: OwnedFd) -> Result<Child, Error> {
    let this = || PathBuf::from("/proc/self/exe");
    let mut command = Command::new(SERVER.get().cloned().unwrap_or_else(this));
    command.args(["disk", "serve"]).arg(dir).current_dir("/").process_group(0);
    command.stdin(Stdio::from(device)).stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(isolate::leave) };
    command.spawn().context("starting the server of", dir)
}
