//! The results of a comparison of an aged file system with its unaged copy, read back from the store, so that the output shows exactly the
//! stored data.

use super::condition::Condition;
use super::replicates::without_seed;
use super::{MODELLED_DISK, SUBJECTS};
use crate::Error;
use crate::manifest::Manifest;
use crate::scanned::HDD_MODEL;
use fs::Location;
use results::measures::{self, Measure};
use results::{Measurement, Run, RunId, Store, median_interval};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of one comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Name of the aged file system in its work directory.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Profile or kind of workload used for aging.
    pub profile: String,
    /// Nominal size in bytes.
    pub size_bytes: u64,
    /// Kernel release of both measurements.
    pub kernel: String,
    /// The random seed of the aging.
    pub seed: u64,
    /// What the result depends on, except for the random seed.
    pub condition: Condition,
    /// The run in the store.
    pub run: RunId,
    /// The aged side.
    pub aged: Side,
    /// The unaged side.
    pub unaged: Side,
    /// Aged over unaged scan cost measured on this machine. `None` if the sides are not on the same disk, as with an aged device, whose unaged
    /// copy is an image.
    pub aging_ratio: Option<f64>,
    /// Model of the disk for modelled time.
    pub modelled_disk: String,
    /// Aged over unaged scan cost in modelled time: the time of [`Pair::modelled_disk`] for the same requests.
    pub modelled_aging_ratio: Option<f64>,
    /// Aged over unaged scan cost on a modelled 7200 rpm disk that receives the same requests. Not a measurement of this machine.
    pub modelled_hdd_aging_ratio: Option<f64>,
    /// Aged over unaged scan cost on the modelled disk, computed from extent maps alone: data only, no metadata.
    pub extent_map_hdd_aging_ratio: Option<f64>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    /// Kind of file system.
    pub fs: String,
    /// The medium: `image`, `device`, `dir`, or the name of the model of a modelled disk.
    pub disk: String,
    /// Rounds of aging before this measurement; 0 if an aging is measured once at its end.
    pub round: u64,
    /// The measures of [`measures::compared`] by name: medians of the repetitions, `None` if not measured.
    #[serde(flatten)]
    pub values: BTreeMap<String, Option<f64>>,
}

impl Pair {
    /// Reads a comparison back.
    pub fn load(store: &Store, run: &Run) -> Result<Pair, Error> {
        let Identity { manifest, modelled_disk, condition } = Identity::load(store, run)?
            .ok_or_else(|| Error::Refused(format!("run {} in the store is not a comparison", run.id.0)))?;
        let numbers = compared_numbers(store, run.id)?;
        let volume = &manifest.volume;
        let [aged, unaged] = SUBJECTS.map(|subject| Side {
            fs: volume.fs.clone(),
            disk: disk_of(&volume.location, subject).to_owned(),
            ..Side::of(&numbers, subject)
        });
        let mut pair = Pair {
            name: manifest.name.clone(),
            fs: volume.fs.clone(),
            profile: manifest.source().to_owned(),
            size_bytes: volume.size_bytes,
            kernel: run.machine.kernel.clone(),
            seed: manifest.seed().unwrap_or(0),
            condition,
            run: run.id,
            aged,
            unaged,
            aging_ratio: None,
            modelled_disk,
            modelled_aging_ratio: None,
            modelled_hdd_aging_ratio: None,
            extent_map_hdd_aging_ratio: None,
        };
        pair.aging_ratio = pair.ratio(&measures::SCAN_S_PER_GIB);
        pair.modelled_aging_ratio = pair.ratio(&measures::MODELLED_S_PER_GIB);
        pair.modelled_hdd_aging_ratio = pair.ratio(&measures::MODELLED_HDD_S_PER_GIB);
        pair.extent_map_hdd_aging_ratio = pair.ratio(&measures::EXTENT_MAP_HDD_S_PER_GIB);
        Ok(pair)
    }

    /// The name that all agings have that differ in their seeds alone.
    pub fn name_without_seed(&self) -> String {
        without_seed(&self.name, self.seed)
    }

    /// The value of a measure of the aged side over that of the unaged side. `None` if one is missing, if the unaged one is zero, and for times
    /// measured on different disks.
    pub fn ratio(&self, measure: &Measure) -> Option<f64> {
        let same_disk = self.aged.disk == self.unaged.disk;
        if *measure == measures::SCAN_S_PER_GIB && !same_disk {
            return None;
        }
        ratio([&self.aged, &self.unaged].map(|side| side.value(measure)))
    }
}

impl Side {
    fn of(numbers: &[Measurement], subject: &str) -> Side {
        let value = |measure: &Measure| (measure.name.to_owned(), median(numbers, subject, measure.name));
        let values = measures::compared().map(value);
        Side { values: values.collect(), ..Side::default() }
    }

    /// The median of a measure.
    pub fn value(&self, measure: &Measure) -> Option<f64> {
        self.values.get(measure.name).copied().flatten()
    }
}

/// What a comparison is of, without its measurements.
pub(crate) struct Identity {
    /// The aged file system.
    pub manifest: Manifest,
    /// Model of the disk for modelled time.
    pub modelled_disk: String,
    /// What the result depends on.
    pub condition: Condition,
}

impl Identity {
    /// Reads it from the store. `None` if the run is no comparison.
    pub fn load(store: &Store, run: &Run) -> Result<Option<Identity>, Error> {
        let Some(manifest) = store.document::<Manifest>(run.id, "", "manifest")? else { return Ok(None) };
        // Earlier versions used no other model.
        let modelled_disk =
            store.document(run.id, "", MODELLED_DISK)?.unwrap_or_else(|| HDD_MODEL.to_owned());
        let condition = Condition::of(run, &manifest, &modelled_disk);
        Ok(Some(Identity { manifest, modelled_disk, condition }))
    }

    /// The random seed of the aging.
    pub fn seed(&self) -> u64 {
        self.manifest.seed().unwrap_or(0)
    }

    /// The name that all agings have that differ in their seeds alone.
    pub fn name(&self) -> String {
        without_seed(&self.manifest.name, self.seed())
    }
}

/// The measures of a new file.
const NEW_FILE: [Measure; 3] =
    [measures::NEW_FILE_BYTES, measures::NEW_FILE_FRAGMENTS, measures::NEW_FILE_WRITE_S];

/// The measurements of a comparison, without those that are not comparable.
pub fn compared_numbers(store: &Store, run: RunId) -> Result<Vec<Measurement>, Error> {
    Ok(comparable(store.measurements(run)?))
}

/// Removes the measures of new files that differ in size or are empty: earlier versions chose a size for each side.
fn comparable(mut numbers: Vec<Measurement>) -> Vec<Measurement> {
    let size = |subject| median(&numbers, subject, measures::NEW_FILE_BYTES.name);
    let [aged, unaged] = SUBJECTS.map(size);
    if aged != unaged || aged.is_none_or(|size| size == 0.0) {
        numbers.retain(|number| !NEW_FILE.iter().any(|measure| measure.name == number.measure));
    }
    numbers
}

/// The medium of a side. The unaged copy of a device is an image.
fn disk_of<'a>(location: &'a Location, subject: &str) -> &'a str {
    match location {
        Location::Device(_) if subject != SUBJECTS[0] => "image",
        other => other.medium(),
    }
}

/// The median of the repetitions of a measure of one side: they are of one file system, so that they count as one value.
pub(crate) fn median(numbers: &[Measurement], subject: &str, measure: &str) -> Option<f64> {
    let of = |m: &&Measurement| m.subject == subject && m.measure == measure;
    median_interval(&numbers.iter().filter(of).map(|m| m.value).collect::<Vec<_>>()).map(|found| found.median)
}

/// The ratio of the aged to the unaged value. `None` if one is missing or the unaged one is zero.
pub(crate) fn ratio([aged, unaged]: [Option<f64>; 2]) -> Option<f64> {
    aged.zip(unaged).filter(|(_, unaged)| *unaged != 0.0).map(|(aged, unaged)| aged / unaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_of_different_sizes_are_not_compared() {
        let kept = |sizes: [Option<f64>; 2]| {
            let mut numbers = vec![measures::FILES.once(SUBJECTS[0], 7.0)];
            for (subject, size) in SUBJECTS.into_iter().zip(sizes) {
                let of_size = |size| {
                    [
                        measures::NEW_FILE_BYTES.once(subject, size),
                        measures::NEW_FILE_FRAGMENTS.once(subject, 1.0),
                    ]
                };
                numbers.extend(size.into_iter().flat_map(of_size));
            }
            comparable(numbers).len()
        };
        assert_eq!(kept([Some(4096.0), Some(4096.0)]), 5);
        for sizes in [[Some(0.0), Some(71680.0)], [Some(0.0), Some(0.0)], [Some(4096.0), None], [None, None]]
        {
            assert_eq!(kept(sizes), 1, "{sizes:?}");
        }
    }
}
