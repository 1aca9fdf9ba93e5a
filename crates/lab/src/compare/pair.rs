//! An aged file system beside its unaged copy, in numbers: read back from the store, so that what is printed is
//! what is kept.

use super::{MODELLED_DISK, SUBJECTS};
use crate::Error;
use crate::manifest::{Home, Manifest};
use crate::scanned::HDD_MODEL;
use crate::tree::{INNER_NODE_OCCUPANCY, KEY_ORDER, LEAF_OCCUPANCY, WRITE_AMPLIFICATION};
use results::{Interval, Measurement, RunId, Store, median_interval};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Name of the aged file system in its work directory.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Profile, or kind of workload, it was aged with.
    pub profile: String,
    /// Nominal size in bytes.
    pub size_bytes: u64,
    /// Release of the kernel that both sides were measured on.
    pub kernel: String,
    /// The aged side.
    pub aged: Side,
    /// The unaged side.
    pub unaged: Side,
    /// Median of aged over unaged scan cost as measured on this machine, by repetition. `None` where the sides
    /// do not lie on the same disk: an aged device, whose unaged copy is an image.
    pub aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    pub aging_ratio_interval: Option<Interval>,
    /// Model of the disk whose time the modelled costs are.
    pub modelled_disk: String,
    /// Median of aged over unaged scan cost in modelled time: what [`Pair::modelled_disk`] takes for the same requests.
    pub modelled_aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    pub modelled_aging_ratio_interval: Option<Interval>,
    /// Aged over unaged scan cost on a modelled 7200 rpm disk that is sent the same requests. Not a measurement
    /// of this machine.
    pub modelled_hdd_aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    pub modelled_hdd_aging_ratio_interval: Option<Interval>,
    /// Aged over unaged scan cost on the modelled disk from extent maps alone: data only, no metadata.
    pub extent_map_hdd_aging_ratio: Option<f64>,
}

/// One side of a comparison: medians of its repetitions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    /// Kind of file system.
    pub fs: String,
    /// What it lies on: `image`, `device`, `dir`, or the name of a modelled disk's model.
    pub disk: String,
    /// How far it was aged when this was measured: for an aging as a whole, which is measured once, 0.
    pub round: u64,
    /// Seconds per GiB of the cold scan in modelled time: what [`Pair::modelled_disk`] takes for the same requests, in
    /// the order of their issue.
    pub modelled_s_per_gib: Option<f64>,
    /// The same by the clock of the modelled disk that it lies on, which chooses among those that wait.
    pub disk_clock_s_per_gib: Option<f64>,
    /// Seconds per GiB of the cold scan, as measured.
    pub scan_s_per_gib: Option<f64>,
    /// Seconds of processor time of the scan.
    pub scan_cpu_s: Option<f64>,
    /// Read requests that reached the device.
    pub scan_requests: Option<f64>,
    /// Bytes that were read from the device.
    pub scan_read_bytes: Option<f64>,
    /// Seconds per GiB that a modelled 7200 rpm disk takes for these requests.
    pub modelled_hdd_s_per_gib: Option<f64>,
    /// Dynamic layout score of the scan.
    pub dynamic_layout_score: Option<f64>,
    /// The same without requests for metadata.
    pub dynamic_layout_score_data: Option<f64>,
    /// Layout score of all files.
    pub layout_score: Option<f64>,
    /// Scan layout score.
    pub scan_layout_score: Option<f64>,
    /// Degree of fragmentation of all files.
    pub degree_of_fragmentation: Option<f64>,
    /// Seconds per GiB of the modelled disk from extent maps alone.
    pub extent_map_hdd_s_per_gib: Option<f64>,
    /// Files.
    pub files: Option<f64>,
    /// Extents of all files.
    pub extents: Option<f64>,
    /// Free extents.
    pub free_extents: Option<f64>,
    /// Their sum in bytes.
    pub free_bytes: Option<f64>,
    /// Their mean length in bytes.
    pub free_mean_bytes: Option<f64>,
    /// The longest in bytes.
    pub free_largest_bytes: Option<f64>,
    /// Of a file system that is a tree, the share of leaves that follow the leaf before them, in the order of keys, on the disk.
    pub key_order_layout_score: Option<f64>,
    /// Likewise, how full leaves are in the mean.
    pub leaf_occupancy: Option<f64>,
    /// How full inner nodes are.
    pub inner_node_occupancy: Option<f64>,
    /// Bytes written for each byte of keys and values that was given since it was made.
    pub tree_write_amplification: Option<f64>,
    /// Size of the new file that was written.
    pub new_file_bytes: Option<f64>,
    /// Extents that it broke into.
    pub new_file_fragments: Option<f64>,
}

impl Pair {
    /// Reads a comparison back.
    pub fn load(store: &Store, run: RunId) -> Result<Pair, Error> {
        let manifest: Manifest = store
            .document(run, "", "manifest")?
            .ok_or_else(|| Error::Refused(format!("run {} in the store is not a comparison", run.0)))?;
        let modelled_disk = store.document(run, "", MODELLED_DISK)?;
        let numbers = compared_numbers(store, run)?;
        let kernel = store.runs()?.into_iter().find(|of| of.id == run).map(|of| of.machine.kernel);
        let kernel = kernel.unwrap_or_default();
        let made = &manifest.made;
        let [aged, unaged] = SUBJECTS.map(|subject| Side {
            fs: made.fs.clone(),
            disk: disk_of(&made.home, subject).to_owned(),
            ..Side::of(&numbers, subject)
        });
        let ratio = |measure| ratio(&numbers, measure);
        let same_disk = !matches!(manifest.made.home, Home::Device(_));
        let (measured, modelled, hdd, mapped) = (
            ratio("scan_s_per_gib").filter(|_| same_disk),
            ratio("modelled_s_per_gib"),
            ratio("modelled_hdd_s_per_gib"),
            ratio("extent_map_hdd_s_per_gib"),
        );
        Ok(Pair {
            name: manifest.name.clone(),
            fs: manifest.made.fs.clone(),
            profile: manifest.source().to_owned(),
            size_bytes: manifest.made.size_bytes,
            kernel,
            aged,
            unaged,
            // Comparisons of earlier versions knew no other.
            modelled_disk: modelled_disk.unwrap_or_else(|| HDD_MODEL.to_owned()),
            aging_ratio: measured.map(|i| i.median),
            aging_ratio_interval: measured,
            modelled_aging_ratio: modelled.map(|i| i.median),
            modelled_aging_ratio_interval: modelled,
            modelled_hdd_aging_ratio: hdd.map(|i| i.median),
            modelled_hdd_aging_ratio_interval: hdd,
            extent_map_hdd_aging_ratio: mapped.map(|i| i.median),
        })
    }
}

impl Side {
    fn of(numbers: &[Measurement], subject: &str) -> Side {
        let median = |measure: &str| interval(numbers, subject, measure).map(|i| i.median);
        Side {
            scan_s_per_gib: median("scan_s_per_gib"),
            scan_cpu_s: median("scan_cpu_s"),
            scan_requests: median("scan_requests"),
            scan_read_bytes: median("scan_read_bytes"),
            modelled_s_per_gib: median("modelled_s_per_gib"),
            disk_clock_s_per_gib: median("disk_clock_s_per_gib"),
            modelled_hdd_s_per_gib: median("modelled_hdd_s_per_gib"),
            dynamic_layout_score: median("dynamic_layout_score"),
            dynamic_layout_score_data: median("dynamic_layout_score_data"),
            layout_score: median("layout_score"),
            scan_layout_score: median("scan_layout_score"),
            degree_of_fragmentation: median("degree_of_fragmentation"),
            extent_map_hdd_s_per_gib: median("extent_map_hdd_s_per_gib"),
            files: median("files"),
            extents: median("extents"),
            free_extents: median("free_extents"),
            free_bytes: median("free_bytes"),
            free_mean_bytes: median("free_mean_bytes"),
            free_largest_bytes: median("free_largest_bytes"),
            key_order_layout_score: median(KEY_ORDER),
            leaf_occupancy: median(LEAF_OCCUPANCY),
            inner_node_occupancy: median(INNER_NODE_OCCUPANCY),
            tree_write_amplification: median(WRITE_AMPLIFICATION),
            new_file_bytes: median(NEW_FILE_BYTES),
            new_file_fragments: median(NEW_FILE_FRAGMENTS),
            ..Side::default()
        }
    }
}

/// The size of the new file that was written.
pub(super) const NEW_FILE_BYTES: &str = "new_file_bytes";

/// The extents that it broke into.
pub(super) const NEW_FILE_FRAGMENTS: &str = "new_file_fragments";

/// The numbers of a comparison, without those that cannot be compared.
pub fn compared_numbers(store: &Store, run: RunId) -> Result<Vec<Measurement>, Error> {
    Ok(comparable(store.measurements(run)?))
}

/// Leaves out the fragments of new files that differ in size, or are empty: earlier versions gave each side the file that suited it.
fn comparable(mut numbers: Vec<Measurement>) -> Vec<Measurement> {
    let size = |subject| interval(&numbers, subject, NEW_FILE_BYTES).map(|size| size.median);
    let [aged, unaged] = SUBJECTS.map(size);
    if aged != unaged || aged.is_none_or(|size| size == 0.0) {
        numbers.retain(|number| !number.measure.starts_with("new_file_"));
    }
    numbers
}

/// What a side lies on. The copy of what is on a device goes to an image.
fn disk_of<'a>(home: &'a Home, subject: &str) -> &'a str {
    match home {
        Home::Image(_) => "image",
        Home::Device(_) if subject == SUBJECTS[0] => "device",
        Home::Device(_) => "image",
        Home::Dir(_) => "dir",
        // Of a model in a file its name, not where the file is.
        Home::Modelled { model, .. } => {
            Path::new(model).file_stem().and_then(|name| name.to_str()).unwrap_or(model)
        }
    }
}

/// Median and interval of a measure of one side.
pub fn interval(numbers: &[Measurement], subject: &str, measure: &str) -> Option<Interval> {
    let of = |m: &&Measurement| m.subject == subject && m.measure == measure;
    median_interval(&numbers.iter().filter(of).map(|m| m.value).collect::<Vec<_>>())
}

/// Median and interval of aged over unaged, each repetition a pair.
pub fn ratio(numbers: &[Measurement], measure: &str) -> Option<Interval> {
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
    use results::number;

    #[test]
    fn new_files_of_different_sizes_are_not_compared() {
        let kept = |sizes: [Option<f64>; 2]| {
            let mut numbers = vec![number(SUBJECTS[0], "files", "files", 1, 7.0)];
            for (subject, size) in SUBJECTS.into_iter().zip(sizes) {
                let of_size = |size| {
                    [
                        number(subject, NEW_FILE_BYTES, "B", 1, size),
                        number(subject, NEW_FILE_FRAGMENTS, "extents", 1, 1.0),
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
