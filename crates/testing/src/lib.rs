//! Shared helpers for tests: skipping a test that cannot run here, and waiting for an event; and for benchmarks: their tables.
//!
//! A skip prints one line, `skipped: <what>: <why>`, which `.ci/run` collects. With `SENESCE_REQUIRE=1` it
//! fails instead, unless `allowed-skips.txt` names `what` with a reason.

mod own_process;
mod pandas;
mod port;
mod table;

use std::fmt::Display;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use own_process::in_own_process;
pub use pandas::pandas;
pub use port::Port;
pub use table::{Table, median, verdict};
use tempfile::TempDir;

/// Requirements that may be missing even with `SENESCE_REQUIRE=1`.
const ALLOWED: &str = include_str!("../allowed-skips.txt");

/// Time limit of [`wait_until`], which ends a test that hangs before its runner kills it (after 180 s), so that it cleans up.
const LIMIT: Duration = Duration::from_secs(150);
/// Polling interval of [`wait_until`].
const INTERVAL: Duration = Duration::from_millis(5);

/// Reports that a test cannot run here without `what`: a tool, a file system, a privilege. The test must then
/// return.
///
/// # Panics
/// With `SENESCE_REQUIRE=1`, unless `allowed-skips.txt` names `what`.
pub fn skip(what: &str, why: impl Display) {
    let required = std::env::var_os("SENESCE_REQUIRE").is_some_and(|value| value == "1");
    assert!(!required || may_be_missing(what), "{what} is required here (SENESCE_REQUIRE=1): {why}");
    println!("skipped: {what}: {why}");
}

fn may_be_missing(what: &str) -> bool {
    let lines = ALLOWED.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).any(|(name, _)| name == what)
}

/// Whether a program is on the PATH or in the system administration directories; reports a skip if not.
pub fn has_tool(tool: &str) -> bool {
    let found = find(tool).is_some();
    if !found {
        skip(tool, "not on the PATH; scripts/setup installs it");
    }
    found
}

/// A temporary directory for a test, in memory if possible, because writing to a disk would take most of the
/// time.
///
/// # Panics
/// If the directory cannot be created.
pub fn dir_in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary directory can be created")
}

/// Whether the test runs as root; reports a skip if not.
///
/// # Panics
/// Without `/proc`.
pub fn is_root() -> bool {
    let root = std::fs::metadata("/proc/self").expect("/proc is mounted").uid() == 0;
    if !root {
        skip("root", "loop devices and mounts need root");
    }
    root
}

fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|dir| dir.join(tool)).find(|file| file.is_file())
}

/// Polls until `done` returns true.
///
/// # Panics
/// After five minutes; the message contains `what`.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    wait_for(what, || done().then_some(()));
}

/// Polls until `ready` returns a value.
///
/// # Panics
/// After five minutes; the message contains `what`.
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(begun.elapsed() < LIMIT, "waited {} s in vain for {what}", LIMIT.as_secs());
        std::thread::sleep(INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_skips_have_name_and_reason() {
        for line in ALLOWED.lines().filter(|line| !line.starts_with('#')) {
            let (name, reason) = line.split_once(": ").expect(line);
            assert!(may_be_missing(name) && reason.len() > 10, "{line}");
        }
        assert!(!may_be_missing("fio") && !may_be_missing("mkfs.ext4") && !may_be_missing(""));
    }

    #[test]
    fn tools_are_found_by_name() {
        assert!(find("sh").is_some());
        assert!(find("no-such-tool-at-all").is_none());
    }

    #[test]
    fn waiting_ends_with_event() {
        let mut left = 3;
        let value = wait_for("the third look", || {
            left -= 1;
            (left == 0).then_some("here")
        });
        assert_eq!(value, "here");
    }
}
