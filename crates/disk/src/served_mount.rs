//! FUSE file systems served by a process of this program.
//!
//! The mount is in the mount namespace of this process, the server is not: it runs in the original namespace. If this process is killed,
//! its namespace disappears with its mounts, and the server notices that and exits. If the server is killed, the kernel answers every
//! request with an error.

use crate::child::wait_timeout;
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

/// The server program, if it is not this one.
static SERVER: OnceLock<PathBuf> = OnceLock::new();

/// The line that a server prints when it is ready.
const READY: &str = "ready";

/// The time that a server may take to write back its data at exit.
const END_TIMEOUT: Duration = Duration::from_secs(300);

/// The mount, and the arguments of the server process.
#[derive(Debug)]
pub struct FuseServerSpec {
    /// The name in messages, as in "modelled disk DIR".
    pub what: String,
    /// The source in the mount table.
    pub source: PathBuf,
    /// The file system type in the mount table.
    pub kind: &'static str,
    /// Mount options in addition to those of every FUSE mount.
    pub options: Vec<String>,
    /// Arguments of the server. Its standard input is the FUSE device. It prints a line when it is ready ([`report_ready`]), or a line with an
    /// error, and exits when the file system is unmounted.
    pub args: Vec<OsString>,
}

/// A mounted file system with its server. Dropping it unmounts the file system and waits for the server to exit.
#[derive(Debug)]
pub struct ServedMount {
    spec: FuseServerSpec,
    mount: Mount,
    server: Option<(Child, BufReader<ChildStdout>)>,
}

impl ServedMount {
    /// Mounts the file system on a new directory and starts its server.
    pub fn new(session: &Arc<Session>, spec: FuseServerSpec) -> Result<ServedMount, Error> {
        let mount = Mount::prepare(session, &spec.source, spec.kind, &[])?;
        let mut this = ServedMount { spec, mount, server: None };
        this.mount()?;
        Ok(this)
    }

    /// Sets another program as the server. For tests and benchmarks.
    pub fn set_server_program(program: &Path) {
        let _ = SERVER.set(program.to_owned());
    }

    /// The mount point.
    pub fn dir(&self) -> &Path {
        self.mount.dir()
    }

    /// Whether the server is alive.
    pub fn is_served(&mut self) -> bool {
        self.server.as_mut().is_some_and(|(child, _)| matches!(child.try_wait(), Ok(None)))
    }

    /// Mounts the file system again after [`unmount`](Self::unmount).
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
        let mut options = self.spec.options.clone();
        options.push(format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd()));
        self.mount.set_options(options);
        self.mount.mount()?;
        // From here on only the server holds the device: the file system fails when the server exits.
        let served = self.start(device.into()).and_then(|()| self.wait_until_ready());
        if served.is_err() {
            // Report the first error only.
            let _ = self.unmount();
        }
        served
    }

    /// Unmounts the file system and waits until the server has written back its data. The directory stays.
    pub fn unmount(&mut self) -> Result<(), Error> {
        self.mount.unmount()?;
        self.wait_for_end()
    }

    fn wrong(&self, why: String) -> Error {
        Error::Server { what: self.spec.what.clone(), why }
    }

    /// Starts the server in its own process group, so that Ctrl-C reaches only this process, which unmounts first.
    fn start(&mut self, device: OwnedFd) -> Result<(), Error> {
        let this = || PathBuf::from("/proc/self/exe");
        let program = SERVER.get().cloned().unwrap_or_else(this);
        let mut command = Command::new(&program);
        command.args(&self.spec.args).current_dir("/").process_group(0);
        command.stdin(Stdio::from(device)).stdout(Stdio::piped()).stderr(Stdio::null());
        // SAFETY: between fork and exec the closure makes system calls and allocates nothing.
        unsafe { command.pre_exec(isolate::leave) };
        let mut child = command.spawn().context("starting", &program)?;
        let output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        self.server = Some((child, output));
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let mut line = String::new();
        if let Some((_, output)) = &mut self.server {
            output.read_line(&mut line).context("reading from the server of", &self.spec.source)?;
        }
        match line.trim_end() {
            READY => Ok(()),
            "" => Err(self.wrong("its server ended before it was ready".to_owned())),
            said => Err(Error::ServerMessage(said.to_owned())),
        }
    }

    fn wait_for_end(&mut self) -> Result<(), Error> {
        let Some((child, output)) = &mut self.server else { return Ok(()) };
        let ended =
            wait_timeout(child, END_TIMEOUT).context("waiting for the server of", &self.spec.source)?;
        let why = match ended {
            None => {
                let id = child.id();
                format!("its server (process {id}) does not end; check for open files")
            }
            Some(status) => {
                let mut last = String::new();
                let _ = output.read_line(&mut last);
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
        // A mount that is still in use stays mounted; the registry has recorded it.
        if self.mount.unmount().is_ok() {
            let _ = self.wait_for_end();
        }
    }
}

/// Reports that the server is ready. Write errors are ignored: without a reader the file system is unmounted as well.
pub fn report_ready() {
    let _ = writeln!(std::io::stdout(), "{READY}");
}

/// Prints an error message of one line.
pub fn report_error(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
