//! `senesce probe transfer-size`.

use crate::args::TransferSize;
use crate::output::{self, number};
use crate::progress::Progress;
use ::probe::TransferPlan;
use anyhow::Result;
use lab::Watch as _;
use std::time::Instant;

pub fn run(args: &TransferSize) -> Result<()> {
    let mut plan = TransferPlan { reads: args.reads, time: args.time, ..TransferPlan::usual(args.seed) };
    if !args.sizes.is_empty() {
        plan.sizes_bytes.clone_from(&args.sizes);
    }
    let mut progress = Progress::new();
    progress.phase("random reads", Some(plan.sizes_bytes.len() as u64));
    let mut done = 0;
    let begun = Instant::now();
    let measured = ::probe::transfer_size(&args.path, &plan, &mut || begun.elapsed(), &mut |_| {
        done += 1;
        progress.at(done);
    })?;
    drop(progress);
    if let Some(allocated) = measured.allocated_bytes.filter(|bytes| *bytes < measured.disk_bytes) {
        let holes = lab::bytes(measured.disk_bytes - allocated);
        eprintln!("{holes} of this image are holes: reading them reaches no disk and looks fast");
    }
    if args.json {
        return output::json(&measured);
    }
    const MIB: f64 = (1u64 << 20) as f64;
    output::table(
        &["read size", "reads", "MiB/s"],
        measured.points.iter().map(|point| {
            let rate = point.bytes_per_s.map(|rate| rate / MIB);
            vec![lab::bytes(point.read_bytes), point.reads.to_string(), number(rate)]
        }),
    )?;
    let size = |bytes: Option<u64>| bytes.map_or("–".to_owned(), lab::bytes);
    output::line(&format!(
        "best {} MiB/s; natural transfer size {} (50 %), {} (90 %)",
        number(measured.best_bytes_per_s.map(|rate| rate / MIB)),
        size(measured.natural_50_bytes),
        size(measured.natural_90_bytes)
    ))
}
