//! Disks without a file system: bandwidth as a function of the read size (Conway et al. 2017, Figure 1), on modelled disks that are served
//! like any other, measured by their own clocks. A round is a read size.

use super::outcome::ONLY;
use super::spec::Scale;
use crate::Error;
use crate::series::Identity;
use disk::Session;
use disk::model::Model;
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use probe::{TransferPlan, TransferPoint, TransferSize};
use results::measures::{self, Measure};
use results::{Measurement, Store, Watch};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for the reads of a size, by the disk's clock; long enough never to matter.
const TIME: Duration = Duration::from_secs(24 * 3600);

/// A disk without a file system to measure.
pub(super) struct Alone<'a> {
    pub scale: &'a Scale,
    pub store: &'a Store,
    pub session: &'a Arc<Session>,
    pub identity: &'a Identity,
    /// The full command line, for the record.
    pub command: &'a str,
    /// Directory for the stores of the disks.
    pub images: &'a Path,
    pub watch: &'a mut dyn Watch,
}

impl Alone<'_> {
    /// Measures the disk that the experiment calls `disk`, unless the store holds all its rounds.
    pub fn measure(&mut self, disk: &str, model: &Model, seed: u64) -> Result<(), Error> {
        let (scale, name) = (self.scale, model.name());
        if self.identity.has_all(self.store, &scale.rounds)? {
            return Ok(());
        }
        self.watch.phase(&format!("{name}: reads of {} sizes", scale.rounds.len()), None);
        let dir = self.images.join("disk");
        ModelledDisk::create(&dir, &DiskSettings::new(scale.size_bytes, disk, Clock::Model))?;
        let disk = ModelledDisk::attach(self.session, &dir)?;
        let plan =
            TransferPlan { sizes_bytes: scale.rounds.clone(), seed, reads: scale.transfer_reads, time: TIME };
        let measured = probe::transfer_size_of_modelled(&disk, &plan, &mut |_| ())?;
        disk.detach()?;
        for point in &measured.points {
            let numbers = numbers(name, &measured, point);
            self.identity.record(self.store, point.read_bytes, (self.command, seed), &numbers)?;
        }
        Ok(())
    }
}

/// The measurements with reads of one size on the disk with that name.
fn numbers(name: &str, measured: &TransferSize, point: &TransferPoint) -> Vec<Measurement> {
    let one = |measure: Measure, value| measure.on(name).measurement(ONLY, 1, value);
    let mut numbers = Vec::new();
    if let (Some(bandwidth), Some(best)) = (point.bytes_per_s, measured.best_bytes_per_s) {
        numbers.push(one(measures::BANDWIDTH_BYTES_PER_S, bandwidth));
        numbers.push(one(measures::SHARE_OF_BEST_BANDWIDTH, bandwidth / best));
    }
    // These are properties of the disk, and the same for every size.
    for (measure, bytes) in [
        (measures::NATURAL_50_BYTES, measured.natural_50_bytes),
        (measures::NATURAL_90_BYTES, measured.natural_90_bytes),
    ] {
        numbers.extend(bytes.map(|bytes| one(measure, bytes as f64)));
    }
    numbers
}
