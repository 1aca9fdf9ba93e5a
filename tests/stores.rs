//! Tests of the metadata benchmark on storage services.

use crate::common::{Lab, text};

const SMALL: &str = "--data-sets 2 --precreate 5 --iterations 3 --repeats 1";

#[test]
fn url_with_credentials_is_refused() {
    let lab = Lab::new();
    for (interface, url) in [
        ("s3", "s3://key:geheim@bucket/prefix"),
        ("postgres", "postgres://me:geheim@host/db"),
        ("postgres", "postgres://host/db?password=geheim"),
        ("mongodb", "mongodb://me:geheim@host/db"),
    ] {
        let line = format!("bench metadata --interface {interface} --url {url} --work work {SMALL}");
        lab.refused(&line, "--credentials");
        assert!(!text(&lab.try_run(&line).stderr).contains("geheim"));
    }
    lab.refused("bench metadata --interface null --url s3://bucket/", "--interface");
    lab.refused("bench metadata --interface postgres --root dir", "--root");
}

#[cfg(not(feature = "stores"))]
#[test]
fn missing_feature_is_reported_with_build_option() {
    let lab = Lab::new();
    for interface in ["s3", "object-store", "postgres", "mongodb"] {
        let line = format!("bench metadata --interface {interface} --url x://y --work work {SMALL}");
        lab.refused(&line, "--features stores");
    }
}

#[cfg(feature = "stores")]
mod built_in {
    use super::SMALL;
    use crate::common::{Lab, document, text};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Command, Output};

    const SECRET: &str = "gEheim-und-lang";

    /// Runs the benchmark with secrets in the environment and in a file, and checks that they appear nowhere.
    fn run(lab: &Lab, line: &str) -> Output {
        let file = lab.path().join("credentials");
        std::fs::write(&file, format!("AWS_SESSION_TOKEN={SECRET}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let line = format!("bench metadata {line} {SMALL} --credentials credentials --work work --json");
        let mut command: Command = lab.command(line.split_whitespace());
        let output = command
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
            .env("AWS_ALLOW_HTTP", "true")
            .envs([("PGHOST", "127.0.0.1"), ("PGPORT", "1"), ("PGUSER", "me"), ("PGPASSWORD", SECRET)])
            .env("MONGODB_URI", format!("mongodb://me:{SECRET}@127.0.0.1:1/db"))
            .output()
            .unwrap();
        std::fs::remove_file(&file).unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains(SECRET), "{line}: {said}");
        assert_eq!(holding(lab.path(), SECRET.as_bytes()), Vec::<String>::new(), "{line}");
        output
    }

    /// The files below a directory that contain these bytes.
    fn holding(dir: &Path, bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                found.extend(holding(&path, bytes));
            } else if std::fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes) {
                found.push(path.display().to_string());
            }
        }
        found
    }

    #[test]
    fn object_store_run_is_stored_without_secrets() {
        let lab = Lab::new();
        std::fs::create_dir(lab.path().join("objects")).unwrap();
        let url = format!("file://{}/objects", lab.path().display());
        for how in ["--ranks 2", "--ranks 2 --processes"] {
            let phases = "--phases precreate,benchmark";
            let output = run(&lab, &format!("--interface s3 --url {url} {how} {phases}"));
            assert!(output.status.success(), "{}", text(&output.stderr));
            let outcome = document("bench metadata", &output);
            assert_eq!(outcome["interface"], "object-store");
            assert_eq!(outcome["phases"][1]["objects"], 2 * 2 * 3);
            assert!(lab.path().join("senesce-metadata.json").exists());
            let output = run(&lab, &format!("--interface s3 --url {url} {how} --phases cleanup"));
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(std::fs::read_dir(lab.path().join("objects")).unwrap().count(), 0);
        }
    }

    #[test]
    fn unreachable_service_is_reported_without_secrets() {
        let lab = Lab::new();
        for (line, expected) in [
            ("--interface s3 --url s3://bucket/prefix", "onnection refused"),
            ("--interface postgres", "onnection refused"),
            ("--interface mongodb", "onnection refused"),
        ] {
            let begun = std::time::Instant::now();
            let output = run(&lab, line);
            let err = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{line}: {err}");
            assert!(err.contains(expected) && begun.elapsed().as_secs() < 60, "{line}: {err}");
        }
        lab.refused("bench metadata --interface s3 --url memory:/// --processes --ranks 2", "--processes");
    }
}
