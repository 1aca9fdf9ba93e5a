//! For tests of the whole program: a run that waits at a step, so that a test kills or interrupts it exactly there.
//!
//! `SENESCE_TEST_STOP_AT="FILE PHASE"` makes `FILE` and waits when a phase begins or a line is printed that holds `PHASE`;
//! `"FILE PHASE@N"` does so when `N` of that phase is done. The run goes on when the test removes the file, and when it is
//! asked to end. Heartbeats go on meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The step that is waited at, once.
pub struct TestStop {
    file: PathBuf,
    phase: String,
    done: Option<u64>,
    is_phase: bool,
}

impl TestStop {
    /// What the environment asks for.
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

    /// A phase begins.
    pub fn begins(stop: &mut Option<TestStop>, phase: &str) {
        if let Some(one) = stop {
            one.is_phase = phase.contains(&one.phase);
        }
        TestStop::says(stop, phase);
    }

    /// A line was printed.
    pub fn says(stop: &mut Option<TestStop>, line: &str) {
        if let Some(one) = stop.take_if(|one| one.done.is_none() && line.contains(&one.phase)) {
            wait(&one.file);
        }
    }

    /// So much of a phase is done.
    pub fn at(stop: &mut Option<TestStop>, done: u64) {
        if let Some(one) = stop.take_if(|one| one.is_phase && one.done.is_some_and(|least| done >= least)) {
            wait(&one.file);
        }
    }
}

fn wait(file: &Path) {
    std::fs::write(file, "").expect("the test has named a file that can be made");
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
