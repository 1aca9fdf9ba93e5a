//! The results of a comparison of an aged file system with its unaged copy, read back from the store, so that the output shows exactly the
//! stored data.

use super::condition::Condition;
use super::{MODELLED_DISK, SUBJECTS};
use crate::Error;
use crate::manifest::Manifest;
use crate::scanned::HDD_MODEL;
use fs::Location;
use results::measures::{self, Measure};
use results::{Interval, Measurement, RunId, Store, median_interval};
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
    pub fn load(store: &Store, run: RunId) -> Result<Pair, Error> {
        let manifest: Manifest = store
            .document(run, "", "manifest")?
            .ok_or_else(|| Error::Refused(format!("run {} in the store is not a comparison", run.0)))?;
        let modelled_disk = modelled_disk(store, run)?;
        let numbers = compared_numbers(store, run)?;
        let of = store.run(run)?;
        let condition = Condition::of(&of, &manifest, &modelled_disk);
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
            kernel: of.machine.kernel,
            seed: manifest.seed().unwrap_or(0),
            condition,
            run,
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

    /// The value of a measure of the aged side over that of the unaged side. `None` if one is missing, if the unaged one is zero, and for times
    /// measured on different disks.
    pub fn ratio(&self, measure: &Measure) -> Option<f64> {
        let same_disk = self.aged.disk == self.unaged.disk;
        if *measure == measures::SCAN_S_PER_GIB && !same_disk {
            return None;
        }
        let [aged, unaged] = [&self.aged, &self.unaged].map(|side| side.value(measure));
        aged.zip(unaged).filter(|(_, unaged)| *unaged != 0.0).map(|(aged, unaged)| aged / unaged)
    }
}

impl Side {
    fn of(numbers: &[Measurement], subject: &str) -> Side {
        let median = |measure: &Measure| interval(numbers, subject, measure.name).map(|found| found.median);
        let values = measures::compared().map(|measure| (measure.name.to_owned(), median(measure)));
        Side { values: values.collect(), ..Side::default() }
    }

    /// The median of a measure.
    pub fn value(&self, measure: &Measure) -> Option<f64> {
        self.values.get(measure.name).copied().flatten()
    }
}

/// The name of the model for modelled time in a comparison.
fn modelled_disk(store: &Store, run: RunId) -> Result<String, Error> {
    let disk = store.document(run, "", MODELLED_DISK)?;
    // Earlier versions used no other model.
    Ok(disk.unwrap_or_else(|| HDD_MODEL.to_owned()))
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
    let size = |subject| interval(&numbers, subject, measures::NEW_FILE_BYTES.name).map(|size| size.median);
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

/// Median and interval of a measure of one side.
pub(crate) fn interval(numbers: &[Measurement], subject: &str, measure: &str) -> Option<Interval> {
    let of = |m: &&Measurement| m.subject == subject && m.measure == measure;
    median_interval(&numbers.iter().filter(of).map(|m| m.value).collect::<Vec<_>>())
}

/// Median and interval of aged over unaged, paired by repetition.
pub(crate) fn ratio(numbers: &[Measurement], measure: &str) -> Option<Interval> {
    let aged = numbers.iter().filter(|m| m.measure == measure && m.subject == SUBJECTS[0]);
    let ratios = aged.filter_map(|aged| {
        let other = |m: &&Measurement| {
            m.measure == measure && m.subject == SUBJECTS[1] && m.repetition == aged.repetition
        };
        numbers.iter().find(other).map(|unaged| aged.value / unaged.value)
    });
    median_interval(&ratios.collect::<Vec<_>>())
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
