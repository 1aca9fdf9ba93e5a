//! PostgreSQL, with a cluster of the test's own.

use crate::scenario;
use crate::server::{SECRET, Server, USER, spawn};
use bench::metadata::{Remote, Service};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The user `nobody`: the server does not run as root.
const NOBODY: u32 = 65_534;

/// Where Debian's package has the newest server.
fn programs() -> Option<PathBuf> {
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

fn server() -> Option<Server> {
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

fn remote(server: &Server, credentials: &Path) -> Remote {
    let url = format!("postgres://127.0.0.1:{}/postgres", server.port);
    Remote::new(Service::Postgres, Some(&url), Some(credentials)).unwrap()
}

fn psql(server: &Server, statement: &str) -> Output {
    let mut psql = Command::new(programs().unwrap().join("psql"));
    psql.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", USER, "-d", "postgres", "-tA", "-c"]);
    psql.arg(statement).env("PGPASSWORD", SECRET).output().unwrap()
}

#[test]
fn postgres_does_what_files_do() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("PGUSER={USER}\nPGPASSWORD={SECRET}\n"));
    let remote = remote(&server, &credentials);
    scenario::does_what_files_do(&remote);
    scenario::counts_what_is_wrong(&remote, "no such row", 1);
    let schemas = || psql(&server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'senesce'").stdout;
    assert_eq!(schemas(), b"0\n");
    // A schema that others have made stays.
    assert!(psql(&server, "CREATE SCHEMA senesce").status.success());
    scenario::is_empty(&remote);
    assert_eq!(schemas(), b"1\n");
}

#[test]
fn a_run_without_its_postgres_server_ends() {
    let Some(server) = server() else { return };
    // All by variables, the password from a file of passwords.
    let passwords = server.dir.path().join("pgpass");
    let port = server.port;
    std::fs::rename(server.credentials(&format!("127.0.0.1:{port}:*:{USER}:{SECRET}\n")), &passwords)
        .unwrap();
    let credentials = server.credentials(&format!(
        "PGHOST=127.0.0.1\nPGPORT={port}\nPGDATABASE=postgres\nPGUSER={USER}\nPGPASSWORD=\nPGPASSFILE={}\n",
        passwords.display()
    ));
    let remote = Remote::new(Service::Postgres, None, Some(&credentials)).unwrap();
    scenario::ends_without_its_server(server, &remote);
}

#[test]
fn who_may_not_come_in_is_told_so_without_the_password() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("PGUSER={USER}\nPGPASSWORD=not-the-password\n"));
    let why = senesce_stores::open(&remote(&server, &credentials)).err().unwrap().0;
    assert!(why.contains("authentication failed") && !why.contains("not-the-password"), "{why}");
}
