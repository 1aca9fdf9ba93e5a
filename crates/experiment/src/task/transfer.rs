//! Disks without a file system: bandwidth as a function of the read size (Conway et al. 2017, Figure 1), on modelled disks that are served
//! like any other, measured by their own clocks. A round is a read size.

use super::{Measuring, NamedDisk, Rounds, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use fs::FileSystem;
use probe::{TransferPlan, TransferPoint, TransferSize};
use results::measures::{self, Measure};
use results::{Machine, Measurement};
use run::Error;
use run::checkpoint::ONLY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// Time limit for the reads of a size, by the disk's clock; long enough never to matter.
const TIME: Duration = Duration::from_secs(24 * 3600);

/// Parameters of the reads in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Transfer {
    /// Number of reads of each size.
    reads: u64,
}

/// The name of the kind in an experiment file.
pub(super) const KIND: &str = "transfer-size";

inventory::submit!(TaskKind::new::<Transfer>(KIND, Vec::new));

impl Task for Transfer {
    fn check(&self, _cell: &Cell, _scale: &Scale) -> Result<(), Error> {
        match self.reads {
            0 => Err(Error::Refused("reads must be at least 1".to_owned())),
            _ => Ok(()),
        }
    }

    fn parameters(&self, scale: &Scale, disks: &[NamedDisk]) -> Result<Value, Error> {
        Ok(json!({
            "disk": disks[0].model,
            "reads": self.reads,
            "rounds": scale.rounds,
            "kernel": Machine::this().kernel,
        }))
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        at.record_all(|at| self.bandwidths(at))
    }

    fn method(&self, _scale: &Scale) -> (&'static str, String) {
        ("Reads", format!("{} at random positions for each size, timed by the clock of the disk", self.reads))
    }

    fn file_system(&self, _name: &str) -> Result<Option<&'static dyn FileSystem>, Error> {
        Ok(None)
    }

    fn is_without_fs(&self) -> bool {
        true
    }

    fn is_per_disk(&self) -> bool {
        true
    }
}

impl Transfer {
    fn bandwidths(&self, at: &mut Measuring) -> Result<Rounds, Error> {
        let (scale, disk) = (at.scale, &at.disks[0]);
        let name = disk.model.name();
        at.watch.phase(&format!("{name}: reads of {} sizes", scale.rounds.len()), None);
        let images = at.images()?;
        let dir = images.path().join("disk");
        ModelledDisk::create(&dir, &DiskSettings::new(scale.size_bytes, &disk.name, Clock::Model))?;
        let disk = ModelledDisk::attach(at.session, &dir)?;
        let (sizes_bytes, seed) = (scale.rounds.clone(), at.cell.seed);
        let plan = TransferPlan { sizes_bytes, seed, reads: self.reads, time: TIME };
        let measured = probe::transfer_size_of_modelled(&disk, &plan, &mut |_| ())?;
        disk.detach()?;
        let numbers = |point: &TransferPoint| (point.read_bytes, numbers(name, &measured, point));
        Ok(measured.points.iter().map(numbers).collect())
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
