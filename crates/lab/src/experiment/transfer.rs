//! Disks alone: bandwidth against read size (Conway et al. 2017, Figure 1), on modelled disks that are served as any other,
//! by their own clocks. A round is a size of reads.

use super::outcome::ONLY;
use super::run::RunSpec;
use super::spec::Scale;
use crate::series::{At, Identity, ON};
use crate::store::{NewRun, Store, number};
use crate::{Error, Watch};
use disk::Session;
use disk::model::Model;
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
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

/// Measures one disk, which the experiment calls `disk`, unless all of it is in the store.
pub(super) fn measure(
    spec: &RunSpec,
    scale: &Scale,
    (disk, model): (&str, &Model),
    seed: u64,
    store: &Store,
    session: &Arc<Session>,
    images: &Path,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let identity = identity(spec, scale, model.name(), seed);
    let found = scale.rounds.iter().map(|size| identity.find(store, At::Round(*size)));
    if found.collect::<Result<Vec<_>, _>>()?.iter().all(Option::is_some) {
        return Ok(());
    }
    watch.phase(&format!("{}: reads of {} sizes", model.name(), scale.rounds.len()), None);
    let dir = images.join("disk");
    ModelledDisk::create(&dir, &DiskSettings::new(scale.size_bytes, disk, Clock::Model))?;
    let disk = ModelledDisk::attach(session, &dir)?;
    let plan =
        TransferPlan { sizes_bytes: scale.rounds.clone(), seed, reads: scale.transfer_reads, time: TIME };
    let mut clock = || Duration::from_nanos(disk.clock_ns().unwrap_or(0));
    let measured = probe::transfer_size(disk.file(), &plan, &mut clock, &mut |_| ());
    disk.detach()?;
    let measured = measured?;
    for point in &measured.points {
        let run = store.begin(&NewRun {
            kind: "checkpoint",
            name: &identity.name,
            command: &spec.command,
            seed: Some(seed),
            parameters: identity.at(At::Round(point.read_bytes)),
        })?;
        let name = model.name();
        if let (Some(bandwidth), Some(best)) = (point.bytes_per_s, measured.best_bytes_per_s) {
            store.record_all(
                run,
                &[
                    number(ONLY, &format!("{BANDWIDTH}{ON}{name}"), "B/s", 1, bandwidth),
                    number(ONLY, &format!("{SHARE_OF_BEST}{ON}{name}"), "share", 1, bandwidth / best),
                ],
            )?;
        }
        store.end(run, "done", None)?;
    }
    Ok(())
}
