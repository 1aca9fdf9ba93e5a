//! One cold scan of a tree, with all that can be told of it.

use crate::Error;
use crate::store::{Measurement, number};
use disk::Request;
use fs::Target;
use probe::{Census, Reader, Recorder, Scan};

/// Ring buffer of each processor for block requests, in KiB.
const TRACE_BUFFER_KB: u32 = 16 * 1024;

/// The model whose cost is told of every scan.
pub const HDD_MODEL: &str = "hdd-7200";

/// What a cold scan told.
pub struct ColdScan {
    /// What was dropped from memory before, and what could not be.
    pub chilled: Vec<String>,
    /// What was read, and how long it took.
    pub scan: Scan,
    /// The requests that reached the device, where they could be traced.
    pub requests: Option<Vec<Request>>,
    block_bytes: u64,
}

/// Makes `target` cold and reads it; `traced` where block requests can be traced.
pub fn take(
    target: &mut dyn Target,
    reader: Reader,
    census: &Census,
    traced: bool,
) -> Result<ColdScan, Error> {
    let chilled = target.chill()?;
    let recorder = match target.device() {
        Some((_, devno)) if traced => Some(Recorder::start(devno, TRACE_BUFFER_KB)?),
        _ => None,
    };
    let scan = probe::scan(target.root(), reader, census)?;
    let requests = recorder.map(Recorder::stop).transpose()?;
    Ok(ColdScan { chilled, scan, requests, block_bytes: target.block_bytes() })
}

impl ColdScan {
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
        if let Some(requests) = &self.requests {
            let layout = probe::dynamic_layout(requests, self.block_bytes);
            numbers.extend(layout.score.map(|s| one("dynamic_layout_score", "share", s)));
            numbers.extend(layout.data_only_score.map(|s| one("dynamic_layout_score_data", "share", s)));
            numbers.push(one("scan_requests", "requests", layout.requests as f64));
            numbers.push(one("scan_read_bytes", "B", layout.bytes as f64));
        }
        numbers
    }
}

/// Seconds for `bytes` as seconds for a GiB.
pub fn per_gib(seconds: f64, bytes: u64) -> f64 {
    seconds / (bytes as f64 / (1u64 << 30) as f64)
}
