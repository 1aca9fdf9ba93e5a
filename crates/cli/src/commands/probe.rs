//! `senesce probe`.

mod causes;
mod hot_files;
mod models;
mod rates;
mod scan;
mod sequential;
mod subject;
mod transfer_size;
mod virtual_time;
mod warm_scan;
mod write_amplification;

use super::vm_dispatch;
use crate::args::{ProbeKind, Subject};
use crate::output::{self, number};
use anyhow::{Context as _, Result, bail};
use fs::Target;
use models::Models;
use results::measures;

pub fn run(kind: &ProbeKind) -> Result<()> {
    if let Some(subject) = virtual_time::asked(kind) {
        return virtual_time::run(subject);
    }
    if let Some(dispatch) = vm_dispatch::for_probe(kind) {
        return vm_dispatch::run(&dispatch);
    }
    match kind {
        ProbeKind::Scan { subject, reader, repeat, disk, causes, save_log } => {
            let (reader, models) = (super::compare::reader(*reader), Models::find(disk)?);
            let plan = scan::Plan {
                reader,
                repeat: *repeat,
                models: &models,
                causes: *causes,
                save_log: save_log.as_deref(),
                json: subject.json,
            };
            with(subject, |open| {
                if *causes {
                    needs_maps(open)?;
                }
                scan::run(open, &plan)
            })
        }
        ProbeKind::Layout { subject, disk } => {
            let models = Models::find(disk)?;
            with(subject, |open| layout(open, &models, subject.json))
        }
        ProbeKind::FreeSpace { subject } => with(subject, |open| free_space(open, subject.json)),
        ProbeKind::NewFile { subject, size } => {
            with_writes(subject, |open| new_file(open, *size, subject.json))
        }
        ProbeKind::TransferSize(args) => transfer_size::run(args),
        ProbeKind::WriteAmplification { path, json, command } => {
            write_amplification::run(path, command, *json)
        }
        ProbeKind::WarmScan { subject, memory, repeat, disk } => {
            let models = Models::find(disk)?;
            with(subject, |open| warm_scan::run(open, memory, *repeat, &models, subject.json))
        }
        ProbeKind::Sequential(args) => sequential::run(args),
        ProbeKind::HotFiles(args) => hot_files::run(args),
    }
}

fn with(subject: &Subject, measure: impl FnOnce(&mut dyn Target) -> Result<()>) -> Result<()> {
    measured(subject::open(&subject.path, false)?, measure)
}

fn with_writes(subject: &Subject, measure: impl FnOnce(&mut dyn Target) -> Result<()>) -> Result<()> {
    measured(subject::open(&subject.path, true)?, measure)
}

/// Measures, and closes the target even if the measurement failed.
fn measured(mut open: Box<dyn Target>, measure: impl FnOnce(&mut dyn Target) -> Result<()>) -> Result<()> {
    let measured = measure(open.as_mut());
    let closed = open.close();
    measured.and(Ok(closed?))
}

/// Size of the underlying disk in bytes.
fn disk_bytes(open: &dyn Target) -> Option<u64> {
    open.device().and_then(|(device, _)| subject::size_bytes(&device).ok())
}

/// Rejects a file system that does not report file extents, before anything is measured.
fn needs_maps(open: &dyn Target) -> Result<()> {
    if !open.supports_fiemap() {
        bail!(
            "{} does not report file extents; `senesce betreefs stat` shows the layout of its tree",
            open.kind_name()
        );
    }
    Ok(())
}

fn layout(open: &mut dyn Target, models: &Models, json: bool) -> Result<()> {
    needs_maps(open)?;
    let mut layout = ::probe::static_layout(open.root(), open.block_bytes(), open.max_extent_bytes())?;
    let disk_bytes = disk_bytes(open);
    let cost = |model| run::scanned::extents_s_per_gib(&layout, model, disk_bytes?);
    let costs: Vec<(String, Option<f64>)> =
        models.iter().map(|model| (model.name().to_owned(), cost(model))).collect();
    layout.scan_extents.clear();
    if json {
        let mut document = serde_json::to_value(&layout)?;
        document[measures::MODELLED_S_PER_GIB.name] = costs
            .into_iter()
            .map(|(name, cost)| (name, cost.into()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        return output::json(&document);
    }
    output::table(
        &["files", "extents", "layout score", "degree of fragmentation", "scan layout score"],
        [vec![
            layout.files.to_string(),
            layout.extents.to_string(),
            number(layout.layout_score),
            number(layout.degree_of_fragmentation),
            number(layout.scan_layout_score),
        ]],
    )?;
    if !costs.is_empty() {
        let row = |(name, cost)| vec![name, number(cost)];
        output::table(&["modelled disk", "s/GiB of the extents, in scan order"], costs.into_iter().map(row))?;
    }
    output::table(
        &["size up to", "files", "layout score", "degree of fragmentation"],
        layout.by_size.iter().map(|c| {
            let size = input::bytes(c.upper_bytes);
            vec![size, c.files.to_string(), number(c.layout_score), number(c.degree_of_fragmentation)]
        }),
    )
}

fn free_space(open: &mut dyn Target, json: bool) -> Result<()> {
    let Some(extents) = open.free_extents()? else {
        bail!("{} does not report free extents", open.kind_name());
    };
    let free = ::probe::free_space(&extents);
    if json {
        return output::json(&free);
    }
    output::table(
        &["free extents", "bytes", "mean", "largest"],
        [vec![
            free.extents.to_string(),
            input::bytes(free.total_bytes),
            input::bytes(free.mean_bytes as u64),
            input::bytes(free.largest_bytes),
        ]],
    )?;
    output::table(
        &["from", "extents", "bytes"],
        free.histogram
            .iter()
            .map(|bin| vec![input::bytes(bin.lower_bytes), bin.extents.to_string(), input::bytes(bin.bytes)]),
    )
}

fn new_file(open: &mut dyn Target, size: Option<u64>, json: bool) -> Result<()> {
    needs_maps(open)?;
    let size = match size {
        Some(size) => size,
        None => {
            let free = disk::free_bytes(open.root())?;
            ::probe::new_file_bytes(free).with_context(|| {
                let free = input::bytes(free);
                format!("choosing the size of the new file: only {free} free; give --size")
            })?
        }
    };
    let new = ::probe::new_file(open.root(), size)?;
    if json {
        return output::json(&new);
    }
    output::line(&format!(
        "{} in {} extents, written in {:.2} s",
        input::bytes(new.bytes),
        new.fragments,
        new.write_s
    ))
}
