//! `senesce probe`.

mod subject;
mod transfer_size;
mod warm_scan;
mod write_amplification;

use crate::args::{ProbeKind, Subject};
use crate::output::{self, number};
use crate::progress::Progress;
use ::probe::Recorder;
use anyhow::{Result, bail};
use disk::log::{LogInfo, LogWriter};
use fs::Target;
use lab::Watch as _;
use serde_json::json;
use std::path::Path;

/// Ring buffer of each processor for block requests, in KiB.
const TRACE_BUFFER_KB: u32 = 16 * 1024;

pub fn run(kind: &ProbeKind) -> Result<()> {
    match kind {
        ProbeKind::Scan { subject, reader, repeat, save_log } => {
            let reader = super::compare::reader(*reader);
            with(subject, |open| scan(open, reader, *repeat, save_log.as_deref(), subject.json))
        }
        ProbeKind::Layout { subject } => with(subject, |open| layout(open, subject.json)),
        ProbeKind::FreeSpace { subject } => with(subject, |open| free_space(open, subject.json)),
        ProbeKind::NewFile { subject, size } => {
            with_writes(subject, |open| new_file(open, *size, subject.json))
        }
        ProbeKind::TransferSize(args) => transfer_size::run(args),
        ProbeKind::WriteAmplification { path, json, command } => {
            write_amplification::run(path, command, *json)
        }
        ProbeKind::WarmScan { subject, memory, repeat } => {
            with(subject, |open| warm_scan::run(open, memory, *repeat, subject.json))
        }
    }
}

fn with(subject: &Subject, measure: impl FnOnce(&mut dyn Target) -> Result<()>) -> Result<()> {
    measured(subject::open(&subject.path, false)?, measure)
}

fn with_writes(subject: &Subject, measure: impl FnOnce(&mut dyn Target) -> Result<()>) -> Result<()> {
    measured(subject::open(&subject.path, true)?, measure)
}

/// Measures, and closes, whether the measuring went well or not.
fn measured(mut open: Box<dyn Target>, measure: impl FnOnce(&mut dyn Target) -> Result<()>) -> Result<()> {
    let measured = measure(open.as_mut());
    let closed = open.close();
    measured.and(Ok(closed?))
}

fn scan(
    open: &mut dyn Target,
    reader: ::probe::Reader,
    repeat: u64,
    save_log: Option<&Path>,
    json: bool,
) -> Result<()> {
    let hdd = disk::Model::find(lab::HDD_MODEL)?;
    let mut progress = Progress::new();
    let census = ::probe::census(open.root())?;
    if census.files == 0 {
        bail!("{} holds no files to read", open.root().display());
    }
    let traced = ::probe::blocktrace::available();
    if let (Some(log), Err(why)) = (save_log, &traced) {
        bail!("{} cannot be written, as requests cannot be recorded: {why}", log.display());
    }
    let mut last_requests = None;
    let mut scans = Vec::new();
    let mut cold = Vec::new();
    progress.phase("cold scans", Some(repeat));
    for n in 0..repeat {
        cold = open.chill()?;
        let device = open.device();
        let recorder = match (&device, &traced) {
            (Some((_, devno)), Ok(())) => Some(Recorder::start(*devno, TRACE_BUFFER_KB)?),
            _ => None,
        };
        let scan = ::probe::scan(open.root(), reader, &census)?;
        let requests = recorder.map(Recorder::stop).transpose()?;
        let dynamic = requests.as_ref().map(|requests| ::probe::dynamic_layout(requests, open.block_bytes()));
        let disk_bytes = device.as_ref().and_then(|(path, _)| device_bytes(path));
        let modelled = requests.as_ref().zip(disk_bytes).map(|(requests, disk_bytes)| {
            let gib = census.allocated_bytes as f64 / (1u64 << 30) as f64;
            disk::model::price(&hdd, disk_bytes, requests).total_s() / gib
        });
        last_requests = requests;
        scans.push(json!({
            "scan": scan, "dynamic_layout": dynamic, "modelled_hdd_s_per_gib": modelled, "disk_bytes": disk_bytes,
        }));
        progress.at(n + 1);
        if disk::interrupted() {
            bail!("interrupted after {} of {repeat} scans", n + 1);
        }
    }
    drop(progress);
    if let Some(log) = save_log {
        let Some((requests, (device, _))) = last_requests.zip(open.device()) else {
            bail!("{} lies on no block device, so there are no requests to keep", open.root().display());
        };
        let size_bytes = device_bytes(&device).unwrap_or_default();
        let info = LogInfo { model: device.display().to_string(), size_bytes, tool: lab::TOOL.to_owned() };
        let mut writer = LogWriter::create(log, &info)?;
        writer.write(&requests)?;
        writer.finish()?;
    }
    if json {
        return output::json(&json!({"census": census, "cold": cold, "scans": scans}));
    }
    if let Err(why) = traced {
        eprintln!("no dynamic layout score: {why}");
    }
    for line in cold {
        eprintln!("{line}");
    }
    let field = |scan: &serde_json::Value, path: &str| number(scan.pointer(path).and_then(|v| v.as_f64()));
    output::table(
        &["wall s", "CPU s", "s/GiB", "requests", "dynamic layout score", "modelled 7200 rpm s/GiB"],
        scans.iter().map(|scan| {
            [
                "/scan/wall_s",
                "/scan/cpu_s",
                "/scan/s_per_gib",
                "/dynamic_layout/requests",
                "/dynamic_layout/score",
                "/modelled_hdd_s_per_gib",
            ]
            .map(|path| field(scan, path))
            .to_vec()
        }),
    )
}

/// Size of a block device in bytes.
fn device_bytes(device: &Path) -> Option<u64> {
    use std::io::Seek as _;
    std::fs::File::open(device).ok()?.seek(std::io::SeekFrom::End(0)).ok()
}

fn layout(open: &mut dyn Target, json: bool) -> Result<()> {
    let mut layout = ::probe::static_layout(open.root(), open.block_bytes(), open.max_extent_bytes())?;
    layout.scan_extents.clear();
    if json {
        return output::json(&layout);
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
    output::table(
        &["size up to", "files", "layout score", "degree of fragmentation"],
        layout.by_size.iter().map(|c| {
            let size = lab::bytes(c.upper_bytes);
            vec![size, c.files.to_string(), number(c.layout_score), number(c.degree_of_fragmentation)]
        }),
    )
}

fn free_space(open: &mut dyn Target, json: bool) -> Result<()> {
    let Some(extents) = open.free_extents()? else {
        bail!("{} does not tell where its free extents lie", open.root().display());
    };
    let free = ::probe::free_space(&extents);
    if json {
        return output::json(&free);
    }
    output::table(
        &["free extents", "bytes", "mean", "largest"],
        [vec![
            free.extents.to_string(),
            lab::bytes(free.total_bytes),
            lab::bytes(free.mean_bytes as u64),
            lab::bytes(free.largest_bytes),
        ]],
    )?;
    output::table(
        &["from", "extents", "bytes"],
        free.histogram
            .iter()
            .map(|bin| vec![lab::bytes(bin.lower_bytes), bin.extents.to_string(), lab::bytes(bin.bytes)]),
    )
}

fn new_file(open: &mut dyn Target, size: Option<u64>, json: bool) -> Result<()> {
    let free = disk::free_bytes(open.root())?;
    let new = ::probe::new_file(open.root(), size.unwrap_or_else(|| ::probe::new_file_bytes(free)))?;
    if json {
        return output::json(&new);
    }
    output::line(&format!(
        "{} in {} extents, written in {:.2} s",
        lab::bytes(new.bytes),
        new.fragments,
        new.write_s
    ))
}
