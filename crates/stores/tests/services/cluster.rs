//! A cluster of PostgreSQL that is the test's own.

use super::server::{SECRET, Server, USER, spawn};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user `nobody`: the server does not run as root.
const NOBODY: u32 = 65_534;

/// Where Debian's package has the newest server.
pub fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").is_file());
    let newest = found.max();
    if newest.is_none() {
        println!("skipped: there is no PostgreSQL server (apt-get install postgresql)");
    }
    newest
}

fn as_nobody(program: PathBuf) -> Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A server of a new cluster, which lets in who has the password; `None`, with a word on why, where there is none.
pub fn server() -> Option<Server> {
    let bin = programs()?;
    let initdb = as_nobody(bin.join("initdb"));
    let make = |dir: &Path| make_cluster(initdb, dir);
    Some(Server::start(make, move |port, dir| {
        let mut command = as_nobody(bin.join("postgres"));
        command.arg("-D").arg(dir.join("data"));
        // Shared memory in files of its own, which go with its directory.
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "dynamic_shared_memory_type=mmap",
        ] {
            command.args(["-c", setting]);
        }
        command.args(["-c", &format!("port={port}")]).stderr(Stdio::null());
        let child = spawn(&mut command);
        ready(&bin, port);
        child
    }))
}

/// Lets in who has the password.
fn make_cluster(mut initdb: Command, dir: &Path) {
    let (data, password) = (dir.join("data"), dir.join("password"));
    std::fs::create_dir(&data).unwrap();
    std::fs::write(&password, SECRET).unwrap();
    if rustix::process::geteuid().is_root() {
        for path in [dir, &data, &password] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    initdb.args(["-U", USER, "--auth=scram-sha-256", "--no-sync", "--locale=C", "--pwfile"]);
    let status = initdb.arg(&password).arg("-D").arg(&data).status().unwrap();
    assert!(status.success(), "initdb: {status}");
}

/// It listens before it lets anyone in.
fn ready(bin: &Path, port: u16) {
    let begun = std::time::Instant::now();
    let mut ask = Command::new(bin.join("pg_isready"));
    ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
    while !ask.status().unwrap().success() {
        assert!(begun.elapsed().as_secs() < 60, "the server does not get ready");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
