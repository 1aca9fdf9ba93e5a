//! `senesce snapshot take`.

use super::{print_warnings, texts};
use crate::args::SnapshotTake;
use crate::output;
use anyhow::Result;
use snapshot::{Key, Stat};

pub fn run(args: &SnapshotTake) -> Result<()> {
    // Checks the output path before the walk, which may take long.
    if !args.force {
        snapshot::refuse_existing(&args.out)?;
    }
    let key = match (&args.key, &args.make_key) {
        (Some(path), _) => Some(Key::load(path)?),
        (None, Some(path)) => Some(Key::make(path)?),
        (None, None) => None,
    };
    // A directory walk mostly waits for the disk.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(2 * processors, usize::from);
    let snapshot = probe::snapshot(&args.path, results::TOOL, threads, key.as_ref())?;
    snapshot.save(&args.out, args.force)?;
    let stat = Stat::of(&snapshot);
    let warnings = snapshot::check(&snapshot)?;
    if args.json {
        let info = snapshot.info();
        return output::json(&serde_json::json!({
            "entries": snapshot.entries().len(),
            "files": stat.files,
            "dirs": stat.dirs,
            "bytes": stat.bytes,
            "extents": stat.extents,
            "vanished": info.vanished,
            "unmapped": info.unmapped,
            "other_fs": info.other_fs,
            "seconds": (info.ended_ns - info.begun_ns) as f64 / 1e9,
            "doubts": texts(&warnings),
        }));
    }
    print_warnings(&args.out, &warnings);
    output::line(&format!(
        "{}: {} files, {} directories, {} in {} extents",
        args.out.display(),
        stat.files,
        stat.dirs,
        input::bytes(stat.bytes),
        stat.extents
    ))?;
    match snapshot.info().other_fs {
        0 => Ok(()),
        count => output::line(&format!("{count} mount points (left out)")),
    }
}
