//! Planning without a file system.

use super::outcome::{Aged, aged};
use super::{AgeSpec, resume};
use crate::Error;
use crate::feed::Feed;
use results::Watch;
use serde::Serialize;
use trace::{Source as _, TraceDigest};

/// The result of planning.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    /// What the aging would reach.
    #[serde(flatten)]
    pub aged: Aged,
    /// Operations planned per second, excluding their digest.
    pub planned_operations_per_s: f64,
    /// Peak memory use of this process, in bytes.
    pub peak_rss_bytes: u64,
}

/// Plans the whole aging. Creates nothing except the trace, if one is requested.
pub fn plan_only(spec: &AgeSpec, watch: &mut dyn Watch) -> Result<Planned, Error> {
    let start = std::time::Instant::now();
    let planner = workload::begin(&spec.conditions)?;
    let laying_out = start.elapsed();
    let plan = planner.plan().clone();
    crate::messages::plan(&plan, &spec.conditions, watch);
    let mut digest = TraceDigest::new();
    let mut writer = resume::trace_writer(spec)?;
    let mut feed = Feed::new(planner, &mut digest, writer.as_mut());
    watch.phase("planning", feed.remaining());
    feed.allow(u64::MAX);
    let mut batch = Vec::new();
    loop {
        feed.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        watch.at(feed.passed);
        if disk::interrupted() {
            return Err(Error::Interrupted("nothing was created".to_owned()));
        }
    }
    let (passed, planning) = (feed.passed, feed.planning + laying_out);
    let reached = feed.planner.stats();
    drop(feed);
    let mut aged = aged(&spec.name, &spec.volume.fs, &spec.conditions, &plan, reached);
    aged.trace_sha256 = digest.finish();
    writer.map(trace::TraceWriter::finish).transpose()?;
    Ok(Planned {
        aged,
        planned_operations_per_s: passed as f64 / planning.as_secs_f64(),
        peak_rss_bytes: peak_rss_bytes(),
    })
}

/// `VmHWM` of this process; 0 if the kernel does not report it.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}
