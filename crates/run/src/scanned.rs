//! A single scan of a tree with its measurements: a cold scan, or a warm one with limited memory.

use crate::Error;
use crate::io_capture::{self, Observation};
use disk::MemoryLimit;
use disk::model::{Model, price_extents};
use fs::Target;
use probe::{Cause, Causes, Census, DynamicLayout, FilePlaces, Reader, Scan, StaticLayout};
use results::Measurement;
use results::measures::{self, Measure};
use std::time::{Duration, Instant};

/// The model whose cost is reported for every scan.
pub const HDD_MODEL: &str = "hdd-7200";

/// The result of a scan.
pub struct Scanned {
    /// The caches dropped before, and those that could not be dropped.
    pub dropped_caches: Vec<String>,
    /// The amount of data and the time.
    pub scan: Scan,
    /// The I/O of the device.
    pub seen: Observation,
    block_bytes: u64,
}

/// Makes `target` cold, leaves it alone for a time, and reads it. `traced` states whether block requests can be traced; otherwise a modelled disk
/// uses its own log.
pub fn cold(
    target: &mut dyn Target,
    reader: Reader,
    census: &Census,
    quiet: Duration,
    traced: bool,
) -> Result<Scanned, Error> {
    let dropped_caches = target.drop_caches()?;
    wait(quiet);
    capture(target, traced, dropped_caches, |target| Ok(probe::scan(target.root(), reader, census)?))
}

/// Makes `target` cold, reads it within `limit`, so that the cache is filled as far as it fits, and reads it again. Returns the second
/// scan.
pub fn warm(
    target: &mut dyn Target,
    census: &Census,
    limit: &MemoryLimit,
    traced: bool,
) -> Result<Scanned, Error> {
    let dropped_caches = target.drop_caches()?;
    probe::scan_limited(target.root(), census, limit)?;
    Ok(Scanned { dropped_caches, ..again(target, census, limit, traced)? })
}

/// Reads `target` within `limit`, with the current cache.
pub fn again(
    target: &dyn Target,
    census: &Census,
    limit: &MemoryLimit,
    traced: bool,
) -> Result<Scanned, Error> {
    capture(target, traced, Vec::new(), |target| Ok(probe::scan_limited(target.root(), census, limit)?))
}

/// Waits until the time has passed, or a signal interrupts the run.
fn wait(quiet: Duration) {
    let end = Instant::now() + quiet;
    while Instant::now() < end && !disk::interrupted() {
        std::thread::sleep(Duration::from_millis(100).min(quiet));
    }
}

/// Scans and captures the I/O of the device.
fn capture(
    target: &dyn Target,
    traced: bool,
    dropped_caches: Vec<String>,
    scan: impl FnOnce(&dyn Target) -> Result<Scan, Error>,
) -> Result<Scanned, Error> {
    let (scan, seen) = io_capture::capture(target, traced, scan)?;
    Ok(Scanned { dropped_caches, scan, seen, block_bytes: target.block_bytes() })
}

impl Scanned {
    /// The layout of the requests, if they are known.
    pub fn dynamic_layout(&self) -> Option<DynamicLayout> {
        let mut layout = probe::dynamic_layout(self.seen.requests.as_ref()?, self.block_bytes);
        layout.data_only_score = layout.data_only_score.filter(|_| !self.seen.own_log);
        Some(layout)
    }

    /// Seconds per GiB that a disk of this model and size takes for the same requests, in the order of their issue. If the file system is
    /// on a modelled disk, the clock of that disk may give a different time; see [`Self::disk_clock_s_per_gib`].
    pub fn modelled_s_per_gib(&self, model: &Model, disk_bytes: u64) -> Option<f64> {
        Some(per_gib(self.seen.modelled_s(model, disk_bytes)?, self.scan.allocated_bytes))
    }

    /// Where the files of the scanned tree lie, for [`Scanned::causes`]; or why that is not known.
    pub fn places(&self, target: &dyn Target) -> Result<Result<FilePlaces, String>, Error> {
        let kind = target.kind_name();
        match &self.seen.requests {
            None => return Ok(Err("block requests cannot be recorded".to_owned())),
            Some(requests) if requests.is_empty() => {
                return Ok(Err("nothing was read from its disk".to_owned()));
            }
            Some(_) => {}
        }
        if !target.supports_fiemap() {
            return Ok(Err(format!("{kind} does not report file extents")));
        }
        match target.address_map()? {
            Some(addresses) => Ok(Ok(FilePlaces::of(target.root(), &addresses)?)),
            None => Ok(Err(format!("where this {kind} keeps its data on its device is not known"))),
        }
    }

    /// The cost of the same requests with one cause taken away at a time; `None` if they read no file that lies at `places`.
    pub fn causes(&self, places: &FilePlaces, model: &Model, disk_bytes: u64) -> Option<Causes> {
        self.seen.causes(places, model, disk_bytes)
    }

    /// The measurements of [`Scanned::causes`] for the store.
    pub(crate) fn numbers_of_causes(&self, subject: &str, causes: &Causes) -> Vec<Measurement> {
        let costs = costs_of(causes).into_iter();
        costs.map(|(measure, s)| measure.once(subject, per_gib(s, self.scan.allocated_bytes))).collect()
    }

    /// The measurements for the store.
    pub fn numbers(&self, subject: &str, repetition: u64) -> Vec<Measurement> {
        let one = |measure: Measure, value: f64| measure.measurement(subject, repetition, value);
        let scan = &self.scan;
        let mut numbers = vec![
            one(measures::SCAN_WALL_S, scan.wall_s),
            one(measures::SCAN_CPU_S, scan.cpu_s),
            one(measures::SCAN_ALLOCATED_BYTES, scan.allocated_bytes as f64),
        ];
        if scan.files > 0 {
            numbers.push(one(measures::MEAN_FILE_BYTES, scan.bytes as f64 / scan.files as f64));
        }
        numbers.extend(scan.s_per_gib.map(|s| one(measures::SCAN_S_PER_GIB, s)));
        if let Some(layout) = self.dynamic_layout() {
            numbers.extend(layout.score.map(|s| one(measures::DYNAMIC_LAYOUT_SCORE, s)));
            numbers.extend(layout.data_only_score.map(|s| one(measures::DYNAMIC_LAYOUT_SCORE_DATA, s)));
            numbers.push(one(measures::SCAN_REQUESTS, layout.requests as f64));
            numbers.push(one(measures::SCAN_READ_BYTES, layout.bytes as f64));
        }
        numbers
    }

    /// Seconds per GiB by the clock of the modelled disk below; `None` without a modelled disk or with an ideal one, whose clock does not
    /// advance. The set of requests that the drive chooses from depends on the speed of this machine, so this time varies from run to run.
    pub fn disk_clock_s_per_gib(&self) -> Option<f64> {
        self.seen.disk_clock_s.map(|s| per_gib(s, self.scan.allocated_bytes))
    }
}

/// Seconds per GiB that a disk of this model and size takes to read all files in scan order, computed from their extents alone; `None`
/// without extents.
pub fn extents_s_per_gib(layout: &StaticLayout, model: &Model, disk_bytes: u64) -> Option<f64> {
    let priced = price_extents(model, disk_bytes, &layout.scan_extents);
    let bytes = priced.reads.bytes;
    (bytes > 0).then(|| per_gib(priced.total_s(), bytes))
}

/// The measures of causes, in their order, with seconds.
pub fn costs_of(causes: &Causes) -> Vec<(Measure, f64)> {
    let measure = |cause| match cause {
        Cause::Pieces => measures::WITHOUT_PIECES_S_PER_GIB,
        Cause::Order => measures::WITHOUT_ORDER_S_PER_GIB,
        Cause::Metadata => measures::WITHOUT_METADATA_S_PER_GIB,
        Cause::Splitting => measures::WITHOUT_SPLITTING_S_PER_GIB,
        Cause::DieCollisions => measures::WITHOUT_DIE_COLLISIONS_S_PER_GIB,
        Cause::FlashOrder => measures::WITHOUT_FLASH_ORDER_S_PER_GIB,
    };
    let mut costs = vec![(measures::ALL_CAUSES_S_PER_GIB, causes.total_s)];
    costs.extend(causes.without.iter().map(|without| (measure(without.cause), without.total_s)));
    costs.push((measures::WITHOUT_CAUSES_S_PER_GIB, causes.least_s));
    costs
}

/// Converts seconds for `bytes` to seconds per GiB.
pub fn per_gib(seconds: f64, bytes: u64) -> f64 {
    seconds / (bytes as f64 / (1u64 << 30) as f64)
}
