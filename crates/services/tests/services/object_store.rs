//! Object stores: a directory, memory, and an S3 server.

use crate::scenario;
use crate::server::{SECRET, Server, USER, spawn};
use bench::metadata::{Backend, ObjectLocation};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn location(url: &str, credentials: Option<&Path>) -> ObjectLocation {
    ObjectLocation { root: None, url: Some(url.to_owned()), credentials: credentials.map(Path::to_owned) }
}

fn store(url: &str, credentials: Option<&Path>) -> Backend {
    Backend::new("object-store", location(url, credentials)).unwrap()
}

/// The server that is built with the tests.
fn program() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let program = test.parent()?.parent()?.join("examples/s3-server");
    if !program.is_file() {
        testing::skip(
            "s3s-fs",
            "no examples/s3-server; `cargo build --release -p senesce-services --examples` builds it",
        );
        return None;
    }
    Some(program)
}

fn server() -> Option<Server> {
    let program = program()?;
    let bucket = |dir: &Path| std::fs::create_dir_all(dir.join("data/bucket")).unwrap();
    let command = move |port: u16, dir: &Path| {
        let mut command = Command::new(&program);
        command.arg(port.to_string()).arg(dir.join("data")).stdin(Stdio::piped());
        let mut child = spawn(&mut command);
        writeln!(child.stdin.take().unwrap(), "{USER}={SECRET}").unwrap();
        child
    };
    Some(Server::start(bucket, command, |_| true))
}

fn credentials(server: &Server, secret: &str) -> PathBuf {
    server.credentials(&format!(
        "AWS_ENDPOINT_URL=http://127.0.0.1:{}\nAWS_ALLOW_HTTP=true\nAWS_REGION=us-east-1\n\
         AWS_ACCESS_KEY_ID={USER}\nAWS_SECRET_ACCESS_KEY={secret}\n",
        server.port
    ))
}

#[test]
fn directory_behaves_like_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&format!("file://{}", dir.path().display()), None);
    scenario::behaves_like_files(&store);
    scenario::counts_errors(&store, "not found", 1);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn memory_behaves_like_files() {
    let store = store("memory:///some/prefix", None);
    scenario::behaves_like_files(&store);
    // Like S3, it does not report that an object to delete is missing.
    scenario::counts_errors(&store, "No data in memory", 0);
}

#[test]
fn s3_behaves_like_files() {
    let Some(server) = server() else { return };
    let credentials = credentials(&server, SECRET);
    for url in ["s3://bucket/some/prefix", "s3://bucket"] {
        let store = store(url, Some(&credentials));
        scenario::behaves_like_files(&store);
        // This server reports that an object to delete is missing; S3 itself does not.
        scenario::counts_errors(&store, "404", 1);
    }
}

#[test]
fn run_ends_without_its_s3_server() {
    let Some(server) = server() else { return };
    let credentials = credentials(&server, SECRET);
    scenario::ends_without_its_server(server, &store("s3://bucket/prefix", Some(&credentials)));
}

#[test]
fn authentication_error_hides_the_secret() {
    let Some(server) = server() else { return };
    let credentials = credentials(&server, "not-the-secret");
    let mut interface = store("s3://bucket/prefix", Some(&credentials)).open().unwrap();
    let why = interface.prepare().unwrap_err().0;
    assert!(why.contains("SignatureDoesNotMatch") && !why.contains("not-the-secret"), "{why}");
    assert!(!why.contains('\n'), "{why}");
}

#[test]
fn invalid_object_store_urls_are_refused() {
    for url in ["s3:///prefix", "ftp://host/", "file://host/dir", "bucket", ""] {
        let why = store(url, None).open().err().unwrap().0;
        assert!(why.contains("s3://BUCKET/PREFIX"), "{url}: {why}");
    }
    for url in ["s3://key:secret@bucket/prefix", "s3://bucket?secret=x"] {
        let why = Backend::new("s3", location(url, None)).unwrap_err().0;
        assert!(why.contains("environment") && !why.contains("secret"), "{why}");
    }
    let dir = tempfile::tempdir().unwrap();
    let missing = format!("file://{}/missing", dir.path().display());
    let why = store(&missing, None).open().err().unwrap().0;
    assert!(why.contains("missing") && why.contains("No such file"), "{why}");
}
