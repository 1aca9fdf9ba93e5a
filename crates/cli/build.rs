//! Passes the commit to the program, if it is built from a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = git(&["describe", "--always", "--abbrev=12", "--exclude=*"]).unwrap_or_default();
    println!("cargo::rustc-env=SENESCE_COMMIT={commit}");
    println!("cargo::rustc-env=SENESCE_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    // The log of a working tree gets a line with every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists());
    if let Some(log) = log {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
