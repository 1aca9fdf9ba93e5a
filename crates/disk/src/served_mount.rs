//! A file system that a process of this program serves through FUSE.
//!
//! The mount belongs to this process, the server does not: it lives in the mount namespace that this process came
//! from. So when this process is killed, its namespace goes with all that is mounted in it, and the server sees that and ends
//! too. When the server is killed instead, the kernel answers every request with an error.

use crate::child::ended_within;
use crate::error::{Error, IoContext};
use crate::isolate;
use crate::mount::Mount;
use crate::registry::Session;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The program that serves, if it is not this one.
static SERVER: OnceLock<PathBuf> = OnceLock::new();

/// What a server says when it is ready.
const READY: &str = "ready";

/// How long a server may take to write back what it has when it ends.
const END: Duration = Duration::from_secs(300);

/// What is mounted, and by which arguments of this program it is served.
#[derive(Debug)]
pub struct Serving {
    /// What messages call it, as in "modelled disk DIR".
    pub what: String,
    /// The source and the type that the mount table shows.
    pub source: PathBuf,
    /// See `source`.
    pub kind: &'static str,
    /// Options of the mount beside those that every FUSE mount has.
    pub options: Vec<String>,
    /// Arguments of the server. It gets the FUSE device as its standard input, says when it is ready ([`say_ready`]),
    /// or else a line that says what is wrong, and ends when what is mounted goes.
    pub args: Vec<OsString>,
}

/// A file system that is mounted and served. Dropping it unmounts it, and waits for its server to end.
#[derive(Debug)]
pub struct ServedMount {
    serving: Serving,
    mount: Mount,
    server: Option<(Child, BufReader<ChildStdout>)>,
}

impl ServedMount {
    /// Mounts it on a fresh directory and starts its server.
    pub fn new(session: &Arc<Session>, serving: Serving) -> Result<ServedMount, Error> {
        let mount = Mount::prepare(session, &serving.source, serving.kind, &[])?;
        let mut this = ServedMount { serving, mount, server: None };
        this.mount()?;
        Ok(this)
    }

    /// Lets another program serve than this one. For tests and benchmarks.
    pub fn served_by(program: &Path) {
        let _ = SERVER.set(program.to_owned());
    }

    /// Where it is mounted.
    pub fn dir(&self) -> &Path {
        self.mount.dir()
    }

    /// Whether its server lives.
    pub fn is_served(&mut self) -> bool {
        self.server.as_mut().is_some_and(|(child, _)| matches!(child.try_wait(), Ok(None)))
    }

    /// Mounts it again after [`unmount`](Self::unmount).
    pub fn mount(&mut self) -> Result<(), Error> {
        if self.server.is_some() {
            return Ok(());
        }
        let path = Path::new("/dev/fuse");
        let device = File::options().read(true).write(true).open(path).map_err(|e| {
            self.wrong(format!(
                "it needs FUSE, but {} cannot be opened ({e}); as root try `modprobe fuse`",
                path.display()
            ))
        })?;
        let mut options = self.serving.options.clone();
        options.push(format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd()));
        self.mount.set_options(options);
        self.mount.mount()?;
        // From here on the server alone has the device: when it ends, so does the file system.
        let served = self.start(device.into()).and_then(|()| self.wait_until_ready());
        if served.is_err() {
            // The first error is the one to tell.
            let _ = self.unmount();
        }
        served
    }

    /// Takes it off the directory, which stays, and waits until its server has written back what it has.
    pub fn unmount(&mut self) -> Result<(), Error> {
        self.mount.unmount()?;
        self.wait_for_end()
    }

    fn wrong(&self, why: String) -> Error {
        Error::Server { what: self.serving.what.clone(), why }
    }

    /// Starts the server in a process group of its own, so that Ctrl-C reaches this process alone, which then takes
    /// down what is on it first.
    fn start(&mut self, device: OwnedFd) -> Result<(), Error> {
        let this = || PathBuf::from("/proc/self/exe");
        let program = SERVER.get().cloned().unwrap_or_else(this);
        let mut command = Command::new(&program);
        command.args(&self.serving.args).current_dir("/").process_group(0);
        command.stdin(Stdio::from(device)).stdout(Stdio::piped()).stderr(Stdio::null());
        // SAFETY: between fork and exec the closure makes system calls and allocates nothing.
        unsafe { command.pre_exec(isolate::leave) };
        let mut child = command.spawn().context("starting", &program)?;
        let says = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        self.server = Some((child, says));
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let mut line = String::new();
        if let Some((_, says)) = &mut self.server {
            says.read_line(&mut line).context("reading from the server of", &self.serving.source)?;
        }
        match line.trim_end() {
            READY => Ok(()),
            "" => Err(self.wrong("its server ended before it was ready".to_owned())),
            said => Err(Error::Said(said.to_owned())),
        }
    }

    fn wait_for_end(&mut self) -> Result<(), Error> {
        let Some((child, says)) = &mut self.server else { return Ok(()) };
        let ended = ended_within(child, END).context("waiting for the server of", &self.serving.source)?;
        let why = match ended {
            None => {
                let id = child.id();
                format!("its server (process {id}) does not end; check for open files")
            }
            Some(status) => {
                let mut last = String::new();
                let _ = says.read_line(&mut last);
                self.server = None;
                if status.success() {
                    return Ok(());
                }
                let why = if last.is_empty() { status.to_string() } else { last.trim_end().to_owned() };
                format!("its server failed: {why}")
            }
        };
        Err(self.wrong(why))
    }
}

impl Drop for ServedMount {
    fn drop(&mut self) {
        // What is still in use stays in service; the registry knows its mount.
        if self.mount.unmount().is_ok() {
            let _ = self.wait_for_end();
        }
    }
}

/// Says that the server is ready. If nobody listens any more, what is mounted has gone as well.
pub fn say_ready() {
    say(READY);
}

/// Says what is wrong, in one line.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
