//! `senesce probe warm-scan`.

use super::models::Models;
use crate::messages::note;
use crate::output::{self, number};
use crate::progress::Progress;
use ::probe::Scan;
use anyhow::{Result, bail};
use disk::{DeviceCounters, MemoryLimit, Session};
use fs::Target;
use results::Watch as _;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// The scans with one memory limit.
#[derive(Serialize)]
struct WarmScans {
    /// Memory limit of the reader, including its page cache.
    memory_bytes: u64,
    /// The first scan, from a cold cache, which fills the cache up to the limit.
    cold: LimitedScan,
    /// The following scans.
    warm: Vec<LimitedScan>,
}

/// One scan with a memory limit.
#[derive(Serialize)]
struct LimitedScan {
    #[serde(flatten)]
    scan: Scan,
    /// Bytes read from the device during the scan, because the cache did not hold them; `None` without a device.
    device_read_bytes: Option<u64>,
    /// For each requested device model.
    modelled_s_per_gib: BTreeMap<String, Option<f64>>,
}

pub fn run(open: &mut dyn Target, memory: &[u64], repeat: u64, models: &Models, json: bool) -> Result<()> {
    let session = Session::begin()?;
    let census = ::probe::census(open.root())?;
    if census.files == 0 {
        bail!("{} contains no files", open.root().display());
    }
    let traced = models.names().next().map(|_| ::probe::blocktrace::available());
    if let Some(Err(why)) = &traced {
        note(&format!("no modelled times: block requests cannot be recorded: {why}"));
    }
    let traced = traced.is_some_and(|available| available.is_ok());
    if let Some(uncounted) = fs::memory_limit_note(open.root()) {
        note(uncounted);
    }
    let device = open.device().map(|(_, number)| number);
    let disk_bytes = super::disk_bytes(open);
    let mut progress = Progress::new();
    progress.phase("scans", Some(memory.len() as u64 * (repeat + 1)));
    let mut done = 0;
    let mut limits = Vec::new();
    let mut dropped_caches = Vec::new();
    for &memory_bytes in memory {
        let limit = MemoryLimit::new(&session, memory_bytes)?;
        // Empties the cache, because the kernel charges cached pages to the process that read them first.
        dropped_caches = open.drop_caches()?;
        let mut one = || -> Result<LimitedScan> {
            if disk::interrupted() {
                bail!("interrupted after {done} scans");
            }
            let before = device.map(DeviceCounters::read).transpose()?;
            let scanned = run::scanned::again(open, &census, &limit, traced)?;
            let after = device.map(DeviceCounters::read).transpose()?;
            done += 1;
            progress.at(done);
            let device_read_bytes = after.zip(before).map(|(after, before)| after.since(before).read_bytes);
            let modelled_s_per_gib = models.costs(&scanned, disk_bytes);
            Ok(LimitedScan { scan: scanned.scan, device_read_bytes, modelled_s_per_gib })
        };
        let cold = one()?;
        let warm = (0..repeat).map(|_| one()).collect::<Result<_>>()?;
        limits.push(WarmScans { memory_bytes, cold, warm });
        limit.remove()?;
    }
    drop(progress);
    if json {
        return output::json(&json!({"census": census, "cold": dropped_caches, "limits": limits}));
    }
    for line in dropped_caches {
        note(&line);
    }
    let mut titles: Vec<String> =
        ["memory", "scan", "wall s", "s/GiB", "read from the device"].map(str::to_owned).to_vec();
    titles.extend(models.names().map(|name| format!("s/GiB, modelled {name}")));
    let row = |limit: &WarmScans, name: &str, one: &LimitedScan| {
        let read = one.device_read_bytes.map_or("–".to_owned(), input::bytes);
        let (wall, cost) = (number(Some(one.scan.wall_s)), number(one.scan.s_per_gib));
        let mut row = vec![input::bytes(limit.memory_bytes), name.to_owned(), wall, cost, read];
        row.extend(models.names().map(|name| number(one.modelled_s_per_gib[name])));
        row
    };
    output::table(
        &titles.iter().map(String::as_str).collect::<Vec<_>>(),
        limits.iter().flat_map(|limit| {
            let warm = limit.warm.iter().map(move |scan| row(limit, "warm", scan));
            std::iter::once(row(limit, "cold", &limit.cold)).chain(warm)
        }),
    )
}
