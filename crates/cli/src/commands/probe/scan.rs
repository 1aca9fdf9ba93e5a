//! `senesce probe scan`.

use super::causes;
use super::models::Models;
use crate::messages::note;
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Result, bail};
use disk::log::{LogInfo, LogWriter};
use fs::Target;
use results::{Watch as _, measures};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// What to scan, and what to report.
pub struct Plan<'a> {
    pub reader: ::probe::Reader,
    pub repeat: u64,
    pub models: &'a Models,
    /// Whether the causes of the cost are told apart.
    pub causes: bool,
    pub save_log: Option<&'a Path>,
    pub json: bool,
}

pub fn run(open: &mut dyn Target, plan: &Plan) -> Result<()> {
    let &Plan { reader, repeat, models, causes, save_log, json } = plan;
    let mut progress = Progress::new();
    let census = ::probe::census(open.root())?;
    if census.files == 0 {
        bail!("{} contains no files", open.root().display());
    }
    let traced = ::probe::blocktrace::available();
    if let (Some(log), Err(why), None) = (save_log, &traced, open.modelled()) {
        bail!("cannot write {}: block requests cannot be recorded: {why}", log.display());
    }
    if let (true, Err(why), None) = (causes, &traced, open.modelled()) {
        bail!("cannot tell causes apart: block requests cannot be recorded: {why}");
    }
    let disk_bytes = super::disk_bytes(open);
    let mut last = None;
    let mut scans = Vec::new();
    progress.phase("cold scans", Some(repeat));
    for n in 0..repeat {
        let scanned = run::scanned::cold(open, reader, &census, Duration::ZERO, traced.is_ok())?;
        scans.push(json!({
            "scan": scanned.scan,
            "dynamic_layout": scanned.dynamic_layout(),
            (measures::DISK_CLOCK_S_PER_GIB.name): scanned.disk_clock_s_per_gib(),
            (measures::MODELLED_S_PER_GIB.name): models.costs(&scanned, disk_bytes),
            "disk_bytes": disk_bytes,
        }));
        last = Some(scanned);
        progress.at(n + 1);
        if disk::interrupted() {
            bail!("interrupted after {} of {repeat} scans", n + 1);
        }
    }
    drop(progress);
    let cold = last.as_ref().map(|scanned| scanned.dropped_caches.clone()).unwrap_or_default();
    let causes = match last.as_ref().filter(|_| causes) {
        Some(scanned) => Some(causes::of(scanned, open, models, disk_bytes)?),
        None => None,
    };
    if let Some(log) = save_log {
        let Some((requests, (device, _))) = last.and_then(|scanned| scanned.seen.requests).zip(open.device())
        else {
            bail!("{} is not on a block device: there are no requests to save", open.root().display());
        };
        let size_bytes = disk_bytes.unwrap_or_default();
        let info =
            LogInfo { model: device.display().to_string(), size_bytes, tool: results::TOOL.to_owned() };
        let mut writer = LogWriter::create(log, &info)?;
        writer.write(&requests)?;
        writer.finish()?;
    }
    if json {
        return output::json(&json!({"census": census, "cold": cold, "scans": scans, "causes": causes}));
    }
    if let Err(why) = traced {
        note(&format!("no block requests traced: {why}"));
    }
    for line in cold {
        note(&line);
    }
    let mut columns = vec![
        ("wall s".to_owned(), "/scan/wall_s".to_owned()),
        ("CPU s".to_owned(), "/scan/cpu_s".to_owned()),
        ("s/GiB".to_owned(), "/scan/s_per_gib".to_owned()),
        ("requests".to_owned(), "/dynamic_layout/requests".to_owned()),
        ("dynamic layout score".to_owned(), "/dynamic_layout/score".to_owned()),
    ];
    if open.modelled().is_some() {
        columns.push(("s/GiB, clock of this disk".to_owned(), "/disk_clock_s_per_gib".to_owned()));
    }
    for name in models.names() {
        columns.push((format!("s/GiB, modelled {name}"), format!("/modelled_s_per_gib/{name}")));
    }
    let titles: Vec<&str> = columns.iter().map(|(title, _)| title.as_str()).collect();
    let field = |scan: &serde_json::Value, path: &str| number(scan.pointer(path).and_then(|v| v.as_f64()));
    output::table(
        &titles,
        scans.iter().map(|scan| columns.iter().map(|(_, path)| field(scan, path)).collect()),
    )?;
    causes.map_or(Ok(()), |causes| causes::show(&causes))
}
