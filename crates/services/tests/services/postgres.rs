//! PostgreSQL, with a cluster of the test.

use crate::cluster::{programs, server};
use crate::scenario;
use crate::server::{SECRET, Server, USER};
use bench::metadata::{Backend, ObjectLocation};
use std::path::Path;
use std::process::{Command, Output};

fn database(url: Option<String>, credentials: &Path) -> Backend {
    let location = ObjectLocation { root: None, url, credentials: Some(credentials.to_owned()) };
    Backend::new("postgres", location).unwrap()
}

fn url(server: &Server) -> Option<String> {
    Some(format!("postgres://127.0.0.1:{}/postgres", server.port))
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
    let database = database(url(&server), &credentials);
    scenario::behaves_like_files(&database);
    scenario::counts_errors(&database, "no such row", 1);
    let schemas = || psql(&server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'senesce'").stdout;
    assert_eq!(schemas(), b"0\n");
    // An existing schema of another owner is kept.
    assert!(psql(&server, "CREATE SCHEMA senesce").status.success());
    scenario::is_empty(&database);
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
    let database = database(None, &credentials);
    scenario::ends_without_its_server(server, &database);
}

#[test]
fn authentication_error_hides_the_password() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("PGUSER={USER}\nPGPASSWORD=not-the-password\n"));
    let why = database(url(&server), &credentials).open().err().unwrap().0;
    assert!(why.contains("authentication failed") && !why.contains("not-the-password"), "{why}");
}
