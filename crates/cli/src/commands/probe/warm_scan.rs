//! `senesce probe warm-scan`.

use crate::output::{self, number};
use crate::progress::Progress;
use ::probe::LimitedScan;
use anyhow::{Result, bail};
use disk::{MemoryLimit, Session};
use fs::Target;
use lab::Watch as _;
use serde_json::json;

pub fn run(open: &mut dyn Target, memory: &[u64], repeat: u64, json: bool) -> Result<()> {
    let session = Session::begin()?;
    let census = ::probe::census(open.root())?;
    if census.files == 0 {
        bail!("{} holds no files to read", open.root().display());
    }
    let device = open.device().map(|(_, number)| number);
    let mut progress = Progress::new();
    progress.phase("scans", Some(memory.len() as u64 * (repeat + 1)));
    let mut limits = Vec::new();
    let mut cold = Vec::new();
    for (index, memory_bytes) in memory.iter().enumerate() {
        let limit = MemoryLimit::new(&session, *memory_bytes)?;
        // What is in the cache already is charged to whoever read it first.
        cold = open.chill()?;
        let before = index as u64 * (repeat + 1);
        let mut seen = |done| progress.at(before + done);
        limits.push(::probe::warm_scans(open.root(), &census, &limit, device, repeat, &mut seen)?);
        limit.remove()?;
    }
    drop(progress);
    if json {
        return output::json(&json!({"census": census, "cold": cold, "limits": limits}));
    }
    for line in cold {
        eprintln!("{line}");
    }
    let read = |scan: &LimitedScan| scan.device_read_bytes.map_or("–".to_owned(), lab::bytes);
    output::table(
        &["memory", "scan", "wall s", "s/GiB", "read from the device"],
        limits.iter().flat_map(|limit| {
            let warm = limit.warm.iter().map(|scan| ("warm", scan));
            std::iter::once(("cold", &limit.cold)).chain(warm).map(|(name, one)| {
                let (wall, cost) = (number(Some(one.scan.wall_s)), number(one.scan.s_per_gib));
                vec![lab::bytes(limit.memory_bytes), name.to_owned(), wall, cost, read(one)]
            })
        }),
    )
}
