//! Python with pandas, to check that other programs can read our files.

use std::path::Path;
use std::process::Command;

/// Debian's pandas requires Debian's Python, which may not be the first on the PATH.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// The output of a Python script that may use pandas with PyArrow and gets `file` as argument; skips without
/// these.
///
/// # Panics
/// If the script fails.
pub fn pandas(script: &str, file: &Path) -> Option<String> {
    let run = |python: &str, script: &str| Command::new(python).arg("-c").arg(script).arg(file).output();
    let has_pandas =
        |python: &&str| run(python, "import pandas, pyarrow").is_ok_and(|out| out.status.success());
    let Some(python) = PYTHONS.into_iter().find(has_pandas) else {
        crate::skip("pandas", "no python3 has it with PyArrow; scripts/setup installs it");
        return None;
    };
    let out = run(python, script).expect("the Python has just run");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}
