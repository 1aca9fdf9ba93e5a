//! `senesce probe transfer-size`.

use super::subject;
use crate::args;
use crate::messages::note;
use crate::output::{self, rate};
use crate::progress::Progress;
use ::probe::{TransferPlan, TransferPoint, TransferSize};
use anyhow::Result;
use disk::model::ModelClock;
use disk::modelled::{self, ModelledDisk};
use disk::{Model, Request, Session};
use results::Watch as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Called for each measured point.
type OnPoint<'a> = dyn FnMut(&TransferPoint) + 'a;

/// Measures with the clock of a model that receives the reads.
fn on_model(path: &Path, plan: &TransferPlan, model: &Model, on_point: &mut OnPoint) -> Result<TransferSize> {
    let size_bytes = subject::size_bytes(path)?;
    let mut clock = ModelClock::new(model.device(size_bytes));
    let mut tell = |read: Option<&Request>| {
        read.map(|read| clock.issue(read));
        Duration::from_nanos(clock.now_ns())
    };
    Ok(::probe::transfer_size(path, plan, &mut tell, on_point)?)
}

/// Measures with the clock of a modelled disk, which is served during the measurement.
fn on_modelled(store: &Path, plan: &TransferPlan, on_point: &mut OnPoint) -> Result<TransferSize> {
    let disk = ModelledDisk::attach(&Session::begin()?, store)?;
    let measured = ::probe::transfer_size_of_modelled(&disk, plan, on_point);
    disk.detach()?;
    Ok(measured?)
}

pub fn run(args: &args::TransferSize) -> Result<()> {
    let mut plan = TransferPlan { reads: args.reads, time: args.time, ..TransferPlan::standard(args.seed) };
    if !args.sizes.is_empty() {
        plan.sizes_bytes.clone_from(&args.sizes);
    }
    let mut progress = Progress::new();
    progress.phase("random reads", Some(plan.sizes_bytes.len() as u64));
    let mut done = 0;
    let mut on_point = |_: &TransferPoint| {
        done += 1;
        progress.at(done);
    };
    let (clock, measured) = if let Some(name) = &args.disk {
        let model = Model::find(name)?;
        (model.name().to_owned(), on_model(&args.path, &plan, &model, &mut on_point)?)
    } else if modelled::is_store(&args.path) {
        let model = modelled::model_of(&args.path)?;
        (model.name().to_owned(), on_modelled(&args.path, &plan, &mut on_point)?)
    } else {
        let begun = Instant::now();
        (
            "wall".to_owned(),
            ::probe::transfer_size(&args.path, &plan, &mut |_| begun.elapsed(), &mut on_point)?,
        )
    };
    drop(progress);
    if let Some(allocated) = measured.allocated_bytes.filter(|bytes| *bytes < measured.disk_bytes) {
        let holes = input::bytes(measured.disk_bytes - allocated);
        note(&format!("{holes} of this image are holes; reads of them do not reach the disk and look fast"));
    }
    if args.json {
        let mut document = serde_json::to_value(&measured)?;
        document["clock"] = clock.into();
        return output::json(&document);
    }
    const MIB: f64 = (1u64 << 20) as f64;
    output::table(
        &["read size", "reads", &format!("MiB/s, {clock} time")],
        measured.points.iter().map(|point| {
            let mib_per_s = point.bytes_per_s.map(|bytes| bytes / MIB);
            vec![input::bytes(point.read_bytes), point.reads.to_string(), rate(mib_per_s)]
        }),
    )?;
    let size = |bytes: Option<u64>| bytes.map_or("–".to_owned(), input::bytes);
    output::line(&format!(
        "best {} MiB/s; natural transfer size {} (50 %), {} (90 %)",
        rate(measured.best_bytes_per_s.map(|bytes| bytes / MIB)),
        size(measured.natural_50_bytes),
        size(measured.natural_90_bytes)
    ))
}
