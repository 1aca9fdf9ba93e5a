//! A server that a test starts, kills, stops, and lets go on.

use rustix::process::{Pid, Signal};
use std::fs::Permissions;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The name and password that servers let in.
pub const USER: &str = "bench";
pub const SECRET: &str = "gEheim/und+lang";

/// Starts a server that listens at a port, in a directory.
type Start = dyn Fn(u16, &Path) -> Child + Send;

/// How long a server may take to end in order.
const GRACE: Duration = Duration::from_secs(5);

/// A server with a directory of its own. It is ended when this goes.
pub struct Server {
    pub dir: TempDir,
    pub port: u16,
    command: Box<Start>,
    child: Option<Child>,
}

impl Server {
    /// In a new directory, made ready by `prepare`, started by `command`.
    pub fn start(
        prepare: impl FnOnce(&Path),
        command: impl Fn(u16, &Path) -> Child + Send + 'static,
    ) -> Server {
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap();
        prepare(dir.path());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { dir, port, command: Box::new(command), child: None };
        server.restart();
        server
    }

    /// Starts it, again at the same place.
    pub fn restart(&mut self) {
        let mut child = (self.command)(self.port, self.dir.path());
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child = Some(child);
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
