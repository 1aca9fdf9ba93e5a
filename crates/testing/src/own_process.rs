//! Runs tests that change process-wide state, such as limits, or need their own run directory, in a separate
//! process.

use std::any::type_name;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Marks the process that runs the body of a test.
const OWN: &str = "SENESCE_TEST_OWN_PROCESS";

/// Runs the body of a test in a separate process, whose environment sets its own run directory
/// (`SENESCE_RUN_DIR`). Must be called with a closure by the test function itself, which is started again by
/// its name:
///
/// ```ignore
/// #[test]
/// fn limits_are_kept() {
///     testing::in_own_process(|| assert!(true));
/// }
/// ```
///
/// # Panics
/// If the test fails in that process.
pub fn in_own_process<F: FnOnce()>(body: F) {
    if std::env::var_os(OWN).is_some() {
        return body();
    }
    // `binary::module::test::{{closure}}`.
    let path = type_name::<F>().trim_end_matches("::{{closure}}");
    let test = path.split_once("::").map_or(path, |(_, test)| test);
    // Short, because servers create sockets in it, whose paths are limited to 108 bytes.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("senesce-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir(&dir).unwrap_or_else(|error| panic!("creating {}: {error}", dir.display()));
    let mut command = Command::new(std::env::current_exe().expect("the program's path is known"));
    command.args([test, "--exact", "--include-ignored", "--nocapture"]).env(OWN, test);
    let output = command.env("SENESCE_RUN_DIR", &dir).output().expect("the test can be started again");
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("test result: ok. 1 passed"), "{test} failed");
    // Do not remove the contents of file systems that are still mounted there.
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("/proc is mounted");
    assert!(
        !mounts.contains(&format!("{}/", dir.display())),
        "{test} left something mounted in {}",
        dir.display()
    );
    std::fs::remove_dir_all(&dir).unwrap_or_else(|error| panic!("removing {}: {error}", dir.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_runs_in_separate_process() {
        in_own_process(|| {
            let dir = std::env::var_os("SENESCE_RUN_DIR").expect("the run directory is set");
            assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0);
            assert_eq!(std::env::var(OWN).unwrap(), "own_process::tests::body_runs_in_separate_process");
        });
    }
}
