//! Disks alone: bandwidth against read size (Conway et al. 2017, Figure 1), on modelled disks that are served as any other,
//! by their own clocks. A round is a size of reads.

use super::outcome::ONLY;
use super::run::RunSpec;
use super::spec::Scale;
use crate::series::{At, Identity, ON};
use crate::store::{Store, number};
use crate::{Error, Watch};
use disk::model::Model;
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use disk::{Request, Session};
use probe::TransferPlan;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Effective bandwidth.
pub(super) const BANDWIDTH: &str = "bandwidth_bytes_per_s";

/// The same over the best of all read sizes.
pub(super) const SHARE_OF_BEST: &str = "share_of_best_bandwidth";

/// How long the reads of a size may take, by the disk's clock: as good as no limit.
const TIME: Duration = Duration::from_secs(24 * 3600);

/// What the sizes of a disk are known by.
pub(super) fn identity(spec: &RunSpec, scale: &Scale, disk: &str, seed: u64) -> Identity {
    let parameters = serde_json::json!({
        "figure": spec.experiment.figure,
        "scale": spec.scale,
        "disk": disk,
        "seed": seed,
        "size_bytes": scale.size_bytes,
        "reads": scale.transfer_reads,
        "rounds": scale.rounds,
    });
    Identity { name: disk.to_owned(), parameters }
}

/// Disks without file systems, to be measured.
pub(super) struct Alone<'a> {
    pub spec: &'a RunSpec,
    pub scale: &'a Scale,
    pub store: &'a Store,
    pub session: &'a Arc<Session>,
    /// Where stores of disks are made.
    pub images: &'a Path,
    pub watch: &'a mut dyn Watch,
}

impl Alone<'_> {
    /// Measures the disk that the experiment calls `disk`, unless all of it is in the store.
    pub fn measure(&mut self, disk: &str, model: &Model, seed: u64) -> Result<(), Error> {
        let (scale, name) = (self.scale, model.name());
        let identity = identity(self.spec, scale, name, seed);
        let found = scale.rounds.iter().map(|size| identity.find(self.store, At::Round(*size)));
        if found.collect::<Result<Vec<_>, _>>()?.iter().all(Option::is_some) {
            return Ok(());
        }
        self.watch.phase(&format!("{name}: reads of {} sizes", scale.rounds.len()), None);
        let dir = self.images.join("disk");
        ModelledDisk::create(&dir, &DiskSettings::new(scale.size_bytes, disk, Clock::Model))?;
        let disk = ModelledDisk::attach(self.session, &dir)?;
        let plan =
            TransferPlan { sizes_bytes: scale.rounds.clone(), seed, reads: scale.transfer_reads, time: TIME };
        let mut lost = None;
        let mut clock = |_: Option<&Request>| {
            let now = disk.clock_ns().map_err(|error| lost = Some(error));
            Duration::from_nanos(now.unwrap_or(0))
        };
        let measured = probe::transfer_size(disk.file(), &plan, &mut clock, &mut |_| ());
        lost.map_or(Ok(()), Err)?;
        let measured = measured?;
        disk.detach()?;
        for point in &measured.points {
            let at = At::Round(point.read_bytes);
            let run = identity.begin(self.store, at, &self.spec.command, seed)?;
            if let (Some(bandwidth), Some(best)) = (point.bytes_per_s, measured.best_bytes_per_s) {
                let one = |measure: &str, unit: &str, value| {
                    number(ONLY, &format!("{measure}{ON}{name}"), unit, 1, value)
                };
                let share = bandwidth / best;
                self.store.record_all(
                    run,
                    &[one(BANDWIDTH, "B/s", bandwidth), one(SHARE_OF_BEST, "share", share)],
                )?;
            }
            self.store.end(run, "done", None)?;
        }
        Ok(())
    }
}
