//! A server that a test starts, kills, stops, and lets go on.

use rustix::process::{Pid, Signal};
use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testing::Port;

/// The name and password that servers let in.
pub const USER: &str = "bench";
pub const SECRET: &str = "gEheim/und+lang";

/// Starts a server that listens at a port, in a directory.
type Start = dyn Fn(u16, &Path) -> Child + Send;

/// Whether the server at a port lets anyone in.
type Ready = dyn Fn(u16) -> bool + Send;

/// How long a server may take to end in order.
const GRACE: Duration = Duration::from_secs(5);

/// A server with a directory of its own. It is ended when this goes.
pub struct Server {
    pub dir: TempDir,
    pub port: u16,
    reserved: Port,
    command: Box<Start>,
    ready: Box<Ready>,
    child: Option<Child>,
}

impl Server {
    /// In a new directory, made ready by `prepare`, started by `command`. It has started when it listens and is `ready`.
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

    /// Starts it, again at the same place.
    pub fn restart(&mut self) {
        // Kept before anything can fail, so that it is ended then.
        let child = self.child.insert((self.command)(self.port, self.dir.path()));
        testing::wait_until("the server", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}");
            TcpStream::connect(("127.0.0.1", self.port)).is_ok() && (self.ready)(self.port)
        });
    }

    /// In the place of a server that is killed: waits for a client that tries to come in, and lets it down.
    pub fn let_one_down(&self) {
        let listener = self.reserved.listen().unwrap();
        drop(listener.accept().unwrap());
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Ends it in order.
    pub fn end(&mut self) {
        self.signal(Signal::TERM);
        self.wait();
    }

    fn wait(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
    }

    /// Sends a signal to it and its children.
    pub fn signal(&self, signal: Signal) {
        let Some(child) = &self.child else { return };
        let pid = Pid::from_child(child);
        for pid in children(pid).into_iter().chain([pid]) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// A file of credentials, for the user alone.
    pub fn credentials(&self, lines: &str) -> PathBuf {
        let path = self.dir.path().join("credentials");
        std::fs::write(&path, lines).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }
}

impl Drop for Server {
    /// In order where it can: some leave memory that they share with nobody behind when they are killed.
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
    // SAFETY: one system call, which allocates nothing.
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
