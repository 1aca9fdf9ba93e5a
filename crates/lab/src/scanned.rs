//! One scan of a tree, with all that can be told of it: a cold one, or a warm one with little memory.

use crate::Error;
use crate::store::{Measurement, number};
use disk::model::{Model, price, price_extents};
use disk::modelled::ModelledDisk;
use disk::{MemoryLimit, Request};
use fs::Target;
use probe::{Census, DynamicLayout, Reader, Recorder, Scan, StaticLayout};

/// Ring buffer of each processor for block requests, in KiB.
const TRACE_BUFFER_KB: u32 = 16 * 1024;

/// The model whose cost is told of every scan.
pub const HDD_MODEL: &str = "hdd-7200";

/// What a scan told.
pub struct Scanned {
    /// What was dropped from memory before, and what could not be.
    pub chilled: Vec<String>,
    /// What was read, and how long it took.
    pub scan: Scan,
    /// The requests that reached the device, where they are known.
    pub requests: Option<Vec<Request>>,
    /// Whether a modelled disk logged them, which does not tell data from metadata.
    own_log: bool,
    /// Seconds that passed by the clock of a modelled disk meanwhile.
    disk_clock_s: Option<f64>,
    block_bytes: u64,
}

/// Makes `target` cold and reads it; `traced` where block requests can be traced. A modelled disk has a log of its own for
/// where they cannot.
pub fn cold(
    target: &mut dyn Target,
    reader: Reader,
    census: &Census,
    traced: bool,
) -> Result<Scanned, Error> {
    let chilled = target.chill()?;
    watched(target, traced, chilled, |target| Ok(probe::scan(target.root(), reader, census)?))
}

/// Makes `target` cold, reads it within `limit`, so that what fits stays in memory, and then once more, which is what is
/// told.
pub fn warm(
    target: &mut dyn Target,
    census: &Census,
    limit: &MemoryLimit,
    traced: bool,
) -> Result<Scanned, Error> {
    let chilled = target.chill()?;
    probe::scan_limited(target.root(), census, limit)?;
    Ok(Scanned { chilled, ..again(target, census, limit, traced)? })
}

/// Reads `target` within `limit`, with whatever is in memory.
pub fn again(
    target: &dyn Target,
    census: &Census,
    limit: &MemoryLimit,
    traced: bool,
) -> Result<Scanned, Error> {
    watched(target, traced, Vec::new(), |target| Ok(probe::scan_limited(target.root(), census, limit)?))
}

/// Scans, with an eye on the device.
fn watched(
    target: &dyn Target,
    traced: bool,
    chilled: Vec<String>,
    scan: impl FnOnce(&dyn Target) -> Result<Scan, Error>,
) -> Result<Scanned, Error> {
    let recorder = match target.device() {
        Some((_, devno)) if traced => Some(Recorder::start(devno, TRACE_BUFFER_KB)?),
        _ => None,
    };
    let own_log = recorder.is_none();
    let logged = target.modelled().filter(|_| own_log);
    logged.map(ModelledDisk::start_log).transpose()?;
    let begin_ns = target.modelled().map(ModelledDisk::clock_ns).transpose()?;
    let scan = scan(target)?;
    let log = logged.map(end_log).transpose()?;
    let end_ns = target.modelled().map(ModelledDisk::clock_ns).transpose()?;
    let traced = recorder.map(Recorder::stop).transpose()?;
    let disk_clock_s = end_ns.zip(begin_ns).map(|(end, begin)| (end - begin) as f64 / 1e9);
    let block_bytes = target.block_bytes();
    Ok(Scanned { chilled, scan, requests: traced.or(log), own_log, disk_clock_s, block_bytes })
}

/// The requests of a scan, all of them: with some missing it would look cheaper than it is.
fn end_log(disk: &ModelledDisk) -> Result<Vec<Request>, Error> {
    match disk.end_log()? {
        (requests, 0) => Ok(requests),
        (requests, lost) => Err(Error::Refused(format!(
            "the scan sent {} requests, {lost} more than the log of the modelled disk in {} holds; where the kernel traces \
             block requests (`senesce doctor` says how to get that) there is no such limit",
            requests.len() as u64 + lost,
            disk.dir().display()
        ))),
    }
}

impl Scanned {
    /// Where the requests went, if they are known.
    pub fn dynamic_layout(&self) -> Option<DynamicLayout> {
        let mut layout = probe::dynamic_layout(self.requests.as_ref()?, self.block_bytes);
        layout.data_only_score = layout.data_only_score.filter(|_| !self.own_log);
        Some(layout)
    }

    /// Seconds per GiB that a disk of this model and size takes for the same requests, in the order of their issue. Where
    /// this disk is a modelled one, its own clock may tell another time; see [`Self::disk_clock_s_per_gib`].
    pub fn modelled_s_per_gib(&self, model: &Model, disk_bytes: u64) -> Option<f64> {
        let requests = self.requests.as_ref()?;
        Some(per_gib(price(model, disk_bytes, requests).total_s(), self.scan.allocated_bytes))
    }

    /// The numbers, for the store.
    pub fn numbers(&self, subject: &str, repetition: u64) -> Vec<Measurement> {
        let one = |measure: &str, unit: &str, value: f64| number(subject, measure, unit, repetition, value);
        let scan = &self.scan;
        let mut numbers = vec![
            one("scan_wall_s", "s", scan.wall_s),
            one("scan_cpu_s", "s", scan.cpu_s),
            one("scan_allocated_bytes", "B", scan.allocated_bytes as f64),
        ];
        numbers.extend(scan.s_per_gib.map(|s| one("scan_s_per_gib", "s/GiB", s)));
        if let Some(layout) = self.dynamic_layout() {
            numbers.extend(layout.score.map(|s| one("dynamic_layout_score", "share", s)));
            numbers.extend(layout.data_only_score.map(|s| one("dynamic_layout_score_data", "share", s)));
            numbers.push(one("scan_requests", "requests", layout.requests as f64));
            numbers.push(one("scan_read_bytes", "B", layout.bytes as f64));
        }
        numbers
    }

    /// Seconds per GiB by the clock of the modelled disk below; none where there is none, or an ideal one, whose clock
    /// stands still. Which requests waited together there, for the drive to choose from, depends on how fast this machine
    /// is, so this time varies from run to run.
    pub fn disk_clock_s_per_gib(&self) -> Option<f64> {
        self.disk_clock_s.filter(|s| *s > 0.0).map(|s| per_gib(s, self.scan.allocated_bytes))
    }
}

/// Seconds per GiB that a disk of this model and size takes to read all files in scan order, going by their extents and
/// by nothing else; none where they have none.
pub fn extents_s_per_gib(layout: &StaticLayout, model: &Model, disk_bytes: u64) -> Option<f64> {
    let priced = price_extents(model, disk_bytes, &layout.scan_extents);
    let bytes = priced.reads.bytes;
    (bytes > 0).then(|| per_gib(priced.total_s(), bytes))
}

/// Seconds for `bytes` as seconds for a GiB.
pub fn per_gib(seconds: f64, bytes: u64) -> f64 {
    seconds / (bytes as f64 / (1u64 << 30) as f64)
}
