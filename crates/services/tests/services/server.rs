//! A server that a test starts, kills, stops and continues.

use rustix::process::{Pid, Signal};
use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testing::Port;

/// The accepted user name and password.
pub const USER: &str = "bench";
pub const SECRET: &str = "gEheim/und+lang";

/// Starts a server that listens on a port, in a directory.
type Start = dyn Fn(u16, &Path) -> Child + Send;

/// Whether the server on a port accepts connections.
type Ready = dyn Fn(u16) -> bool + Send;

/// How long a server may take to shut down.
const GRACE: Duration = Duration::from_secs(5);

/// A server with a directory of its own. It is stopped on drop.
pub struct Server {
    pub dir: TempDir,
    pub port: u16,
    reserved: Port,
    command: Box<Start>,
    ready: Box<Ready>,
    child: Option<Child>,
}

impl Server {
    /// Starts a server with `command`, in a new directory that `prepare` fills. Returns once it listens and is `ready`.
    pub fn start(
        prepare: impl FnOnce(&Path),
        command: impl Fn(u16, &Path) -> Child + Send + 'static,
        ready: impl Fn(u16) -> bool + Send + 'static,
    ) -> Server {
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap();
        prepare(dir.path());
        let reserved = Port::reserve().unwrap();
        let (port, command, ready) = (reserved.number(), Box::new(command), Box::new(ready));
        let mut server = Server { dir, port, reserved, command, ready, child: None };
        server.restart();
        server
    }

    /// Starts the server again, with the same port and directory.
    pub fn restart(&mut self) {
        // Stored before anything can fail, so that the drop stops it.
        let child = self.child.insert((self.command)(self.port, self.dir.path()));
        testing::wait_until("the server", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}");
            TcpStream::connect(("127.0.0.1", self.port)).is_ok() && (self.ready)(self.port)
        });
    }

    /// In place of a killed server: waits for a client that connects, and closes the connection.
    pub fn let_one_down(&self) {
        let listener = self.reserved.listen().unwrap();
        drop(listener.accept().unwrap());
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Shuts it down.
    pub fn end(&mut self) {
        self.signal(Signal::TERM);
        self.wait();
    }

    fn wait(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
    }

    /// Sends a signal to the server and its children.
    pub fn signal(&self, signal: Signal) {
        let Some(child) = &self.child else { return };
        let pid = Pid::from_child(child);
        for pid in children(pid).into_iter().chain([pid]) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// A file of credentials, readable by the user only.
    pub fn credentials(&self, lines: &str) -> PathBuf {
        let path = self.dir.path().join("credentials");
        std::fs::write(&path, lines).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }
}

impl Drop for Server {
    /// Shuts down if possible: some servers leave shared memory behind when they are killed.
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        if let Some(child) = &mut self.child {
            let _ = rustix::process::kill_process(Pid::from_child(child), Signal::INT);
            let begun = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < GRACE {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.kill();
    }
}

/// Starts a program that ends with the thread that started it.
pub fn spawn(command: &mut Command) -> Child {
    use std::os::unix::process::CommandExt as _;
    // SAFETY: one system call, which does not allocate.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    command.spawn().unwrap()
}

fn children(parent: Pid) -> Vec<Pid> {
    let threads = format!("/proc/{}/task", parent.as_raw_nonzero());
    let mut found = Vec::new();
    for thread in std::fs::read_dir(threads).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    found
}
