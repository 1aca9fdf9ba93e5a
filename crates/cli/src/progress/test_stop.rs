//! Stops a run at a given step, so that an integration test can kill or interrupt the run exactly there.
//!
//! With `SENESCE_TEST_STOP_AT="FILE PHASE"` the run creates `FILE` and waits when a phase begins, or a line is printed, whose text contains `PHASE`;
//! with `"FILE PHASE@N"` when `N` steps of that phase are done. The run continues when the test removes the file or interrupts the run. Heartbeats
//! continue during the wait.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The step at which the run waits, once.
pub struct TestStop {
    file: PathBuf,
    phase: String,
    done: Option<u64>,
    is_phase: bool,
}

impl TestStop {
    /// Parses `SENESCE_TEST_STOP_AT`.
    pub fn from_env() -> Option<TestStop> {
        TestStop::of(std::env::var("SENESCE_TEST_STOP_AT").ok()?)
    }

    fn of(text: String) -> Option<TestStop> {
        let (file, step) = text.split_once(' ')?;
        let (phase, done) = match step.rsplit_once('@') {
            Some((phase, done)) => (phase, Some(done.parse().ok()?)),
            None => (step, None),
        };
        Some(TestStop { file: file.into(), phase: phase.to_owned(), done, is_phase: false })
    }

    /// Called when a phase begins.
    pub fn begins(stop: &mut Option<TestStop>, phase: &str) {
        if let Some(one) = stop {
            one.is_phase = phase.contains(&one.phase);
        }
        TestStop::says(stop, phase);
    }

    /// Called when a line was printed.
    pub fn says(stop: &mut Option<TestStop>, line: &str) {
        if let Some(one) = stop.take_if(|one| one.done.is_none() && line.contains(&one.phase)) {
            wait(&one.file);
        }
    }

    /// Called when `done` steps of a phase are done.
    pub fn at(stop: &mut Option<TestStop>, done: u64) {
        if let Some(one) = stop.take_if(|one| one.is_phase && one.done.is_some_and(|least| done >= least)) {
            wait(&one.file);
        }
    }
}

fn wait(file: &Path) {
    std::fs::write(file, "").expect("file of SENESCE_TEST_STOP_AT is writable");
    while file.exists() && !disk::interrupted() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_stops_once_at_the_step() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stopped");
        let mut stop = TestStop::of(format!("{} aging@5", file.display()));
        TestStop::begins(&mut stop, "planning");
        TestStop::at(&mut stop, 7);
        TestStop::begins(&mut stop, "aging");
        TestStop::says(&mut stop, "not aging");
        TestStop::at(&mut stop, 4);
        assert!(stop.is_some() && !file.exists());
        std::thread::scope(|scope| {
            scope.spawn(|| TestStop::at(&mut stop, 6));
            while std::fs::remove_file(&file).is_err() {
                std::thread::yield_now();
            }
        });
        assert!(stop.is_none());
        assert!(TestStop::of("file".to_owned()).is_none());
    }
}
