//! The metadata benchmark: on files, with ranks that are threads or processes, and with every latency kept.

mod files;
mod latencies;
mod processes;

use senesce_bench::metadata::*;

/// A directory in memory where there is one: thousands of files are made in it, which disks that others use take minutes for.
fn dir() -> tempfile::TempDir {
    let shm = std::path::Path::new("/dev/shm");
    if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap()
}

/// What rank 0 was told.
#[derive(Default)]
struct Told(Vec<PhaseOutcome>);

impl Watch for Told {
    fn begins(&mut self, _: Phase, _: u32) {}

    fn ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.0.push(outcome.clone());
        Ok(())
    }
}
