//! The metadata benchmark: on files, with threads or processes as ranks, and with all latencies recorded.

mod files;
mod interfaces;
mod latencies;
mod processes;

use senesce_bench::metadata::*;

/// A directory in memory if available: on a busy disk, creating thousands of files would take minutes.
fn dir() -> tempfile::TempDir {
    let shm = std::path::Path::new("/dev/shm");
    if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap()
}

/// Records the outcomes that rank 0 reports.
#[derive(Default)]
struct Recorder(Vec<PhaseOutcome>);

impl PhaseObserver for Recorder {
    fn phase_started(&mut self, _: Phase, _: u32) {}

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.0.push(outcome.clone());
        Ok(())
    }
}
