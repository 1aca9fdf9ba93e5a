//! A PostgreSQL cluster of the test.

use super::server::{SECRET, Server, USER, spawn};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user `nobody`: the server does not run as root.
const NOBODY: u32 = 65_534;

/// The directory of the newest server from Debian's packages.
pub fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").is_file());
    let newest = found.max();
    if newest.is_none() {
        testing::skip(
            "postgresql",
            "no server below /usr/lib/postgresql; `scripts/setup features` installs it",
        );
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

/// A server of a new cluster that requires a password; `None`, with a message, if PostgreSQL is missing.
pub fn server() -> Option<Server> {
    let bin = programs()?;
    let initdb = as_nobody(bin.join("initdb"));
    let isready = bin.join("pg_isready");
    let make = |dir: &Path| make_cluster(initdb, dir);
    let command = move |port: u16, dir: &Path| {
        let mut command = as_nobody(bin.join("postgres"));
        command.arg("-D").arg(dir.join("data"));
        // Shared memory in files, which are removed with its directory.
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "dynamic_shared_memory_type=mmap",
        ] {
            command.args(["-c", setting]);
        }
        command.args(["-c", &format!("port={port}")]).stderr(Stdio::null());
        spawn(&mut command)
    };
    // The server listens before it accepts connections.
    let ready = move |port: u16| {
        let mut ask = Command::new(&isready);
        ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]).status().unwrap().success()
    };
    Some(Server::start(make, command, ready))
}

/// Creates a cluster that requires a password.
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
