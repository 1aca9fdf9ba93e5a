//! PostgreSQL, with a cluster of the test.

use crate::cluster::{programs, server};
use crate::scenario;
use crate::server::{SECRET, Server, USER};
use bench::metadata::{Remote, Service};
use std::path::Path;
use std::process::{Command, Output};

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
fn postgres_behaves_like_files() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("PGUSER={USER}\nPGPASSWORD={SECRET}\n"));
    let remote = remote(&server, &credentials);
    scenario::behaves_like_files(&remote);
    scenario::counts_errors(&remote, "no such row", 1);
    let schemas = || psql(&server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'senesce'").stdout;
    assert_eq!(schemas(), b"0\n");
    // An existing schema of another owner is kept.
    assert!(psql(&server, "CREATE SCHEMA senesce").status.success());
    scenario::is_empty(&remote);
    assert_eq!(schemas(), b"1\n");
}

#[test]
fn run_ends_without_its_postgres_server() {
    let Some(server) = server() else { return };
    // All settings from variables, the password from a password file.
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
fn authentication_error_hides_the_password() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("PGUSER={USER}\nPGPASSWORD=not-the-password\n"));
    let why = senesce_stores::open(&remote(&server, &credentials)).err().unwrap().0;
    assert!(why.contains("authentication failed") && !why.contains("not-the-password"), "{why}");
}
