//! Runs a workload in a plain directory, for tests.

use crate::{Driver, Error, Observer, ResumePoint, Site, Start, Terms, Workload};
use fs::{DirTarget, Location, VolumeConfig};
use ranks::Alone;
use std::path::Path;

struct Nobody;

impl Observer for Nobody {
    fn phase(&mut self, _: &str, _: Option<u64>) {}
    fn at(&mut self, _: u64) {}
    fn say(&mut self, _: &str) {}
    fn save(&mut self, _: &ResumePoint) -> Result<(), Error> {
        Ok(())
    }
}

/// Brings the tree in `dir` to the end of `round`.
pub fn advance(driver: &mut dyn Driver, dir: &Path, round: u64) -> Result<(), Error> {
    let target = DirTarget::open_any(dir)?;
    let mut site = Site { target: &target, shared_dir: None, group: &mut Alone, observer: &mut Nobody };
    driver.advance(&mut site, round)
}

/// Starts a workload of up to 100 rounds.
pub fn start(workload: &dyn Workload, seed: u64) -> Box<dyn Driver> {
    let start = Start {
        seed,
        last_round: 100,
        volume: &VolumeConfig::new(Location::Dir(".".into()), "dir", 0),
        work: Path::new("."),
        session: &disk::Session::begin().unwrap(),
        terms: &Terms::default(),
        segments: &[],
        redo_to: 0,
        tool: "a test",
    };
    workload.start(&start).unwrap()
}
