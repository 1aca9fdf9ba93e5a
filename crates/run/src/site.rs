//! Lets workloads act on file systems, and reports their progress.

use crate::Error;
use fs::Target;
use ranks::Alone;
use results::Watch;
use workload::{Driver, Observer, ResumePoint, Site};

/// Reports the progress of a workload, and saves where it can continue.
pub(crate) struct Bridge<'a> {
    pub watch: &'a mut dyn Watch,
    pub save: &'a mut dyn FnMut(&ResumePoint) -> Result<(), Error>,
}

impl Observer for Bridge<'_> {
    fn phase(&mut self, name: &str, total: Option<u64>) {
        self.watch.phase(name, total);
    }

    fn at(&mut self, done: u64) {
        self.watch.at(done);
    }

    fn say(&mut self, line: &str) {
        self.watch.say(line);
    }

    fn save(&mut self, point: &ResumePoint) -> Result<(), workload::Error> {
        (self.save)(point).map_err(|error| workload::Error::Save(Box::new(error)))
    }
}

/// Brings a file system, which is thrown away after a kill, to the end of `round`.
pub fn advance(
    driver: &mut dyn Driver,
    target: &dyn Target,
    round: u64,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let observer = &mut Bridge { watch, save: &mut |_| Ok(()) };
    Ok(driver.advance(&mut Site { target, shared_dir: None, group: &mut Alone, observer }, round)?)
}
