//! MongoDB, with a server that implements its protocol and stores documents in the same storage engine.

use crate::scenario;
use crate::server::{SECRET, Server, USER, spawn};
use bench::metadata::{Backend, ObjectLocation};
use mongodb::bson::doc;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The installation of `scripts/setup features`, or one in the search path.
fn program() -> Option<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let installed = home.join(".local/share/senesce/mongodb/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(installed).chain(std::env::split_paths(&path));
    let found = dirs.map(|dir| dir.join("secantusd-py")).find(|program| program.is_file());
    if found.is_none() {
        testing::skip(
            "mongodb",
            "no secantusd-py, a server that speaks as MongoDB does; `scripts/setup features` installs it",
        );
    }
    found
}

/// A server that requires a password; the user must be created while it does not require one.
fn server() -> Option<Server> {
    let program = program()?;
    let mut server = Server::start(
        |_| (),
        move |port, dir| {
            let mut command = Command::new(&program);
            command.args([
                "--standalone",
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--storage-path",
            ]);
            command.arg(dir.join("data")).current_dir(dir);
            if dir.join("locked").exists() {
                command.arg("--auth");
            }
            spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
        },
        |_| true,
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let uri = format!("mongodb://127.0.0.1:{}", server.port);
        let admin = mongodb::Client::with_uri_str(uri).await.unwrap().database("admin");
        let user = doc! { "createUser": USER, "pwd": SECRET, "roles": ["root"] };
        admin.run_command(user).await.unwrap();
    });
    std::fs::write(server.dir.path().join("locked"), "").unwrap();
    server.end();
    server.restart();
    Some(server)
}

fn uri(server: &Server, secret: &str) -> String {
    // Escaped for a URI.
    let secret = secret.replace('/', "%2F").replace('+', "%2B");
    format!("mongodb://{USER}:{secret}@127.0.0.1:{}/bench?authSource=admin", server.port)
}

fn database(credentials: &Path) -> Backend {
    let location = ObjectLocation { credentials: Some(credentials.to_owned()), ..ObjectLocation::default() };
    Backend::new("mongodb", location).unwrap()
}

#[test]
fn mongodb_behaves_like_files() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("MONGODB_URI={}\n", uri(&server, SECRET)));
    let database = database(&credentials);
    scenario::behaves_like_files(&database);
    scenario::counts_errors(&database, "no such document", 1);
}

#[test]
fn run_ends_without_its_mongodb_server() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("MONGODB_URI={}\n", uri(&server, SECRET)));
    scenario::ends_without_its_server(server, &database(&credentials));
}

#[test]
fn authentication_error_hides_the_password() {
    let Some(server) = server() else { return };
    let credentials = server.credentials(&format!("MONGODB_URI={}\n", uri(&server, "not-the-password")));
    let mut interface = database(&credentials).open().unwrap();
    let why = interface.prepare().unwrap_err().0;
    assert!(why.contains("uthentication") && !why.contains("not-the-password"), "{why}");
    // No client repeats the invalid part of a URI with a password.
    let credentials = server.credentials("MONGODB_URI=mongodb://u:geheim@@127.0.0.1:1/x?y\n");
    let why = database(&credentials).open().err().unwrap().0;
    assert!(why.contains("MONGODB_URI") && !why.contains("geheim"), "{why}");
}
