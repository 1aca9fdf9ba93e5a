//! `senesce snapshot import`.

use super::{load, print_warnings, texts};
use crate::args::{ListedBy, SnapshotImport};
use crate::output;
use anyhow::{Context as _, Result, anyhow};
use snapshot::Stat;
use snapshot::import::{Import, ListingFormat};
use std::path::Path;
use std::time::UNIX_EPOCH;

pub fn run(args: &SnapshotImport) -> Result<()> {
    if !args.force {
        snapshot::refuse_existing(&args.out)?;
    }
    let base = args.base.as_deref().map(load).transpose()?.map(|(snapshot, _)| snapshot);
    let at_ns = match args.at {
        Some(seconds) => seconds.checked_mul(1_000_000_000).context("--at is beyond the year 2262")?,
        None => modified_ns(&args.file)?,
    };
    let format = match args.from {
        ListedBy::Find => ListingFormat::Find,
        ListedBy::Rsync => ListingFormat::Rsync,
        ListedBy::ZfsDiff => ListingFormat::ZfsDiff,
        ListedBy::Btrfs => ListingFormat::Btrfs,
    };
    let import =
        Import { format, tool: results::TOOL, at_ns, base: base.as_ref(), below: args.below.as_deref() };
    let snapshot = import.read(&args.file)?;
    snapshot.save(&args.out, args.force)?;
    let (stat, warnings) = (Stat::of(&snapshot), snapshot::check(&snapshot)?);
    if args.json {
        return output::json(&serde_json::json!({
            "entries": snapshot.entries().len(),
            "files": stat.files,
            "dirs": stat.dirs,
            "bytes": stat.bytes,
            "doubts": texts(&warnings),
        }));
    }
    print_warnings(&args.out, &warnings);
    output::line(&format!(
        "{}: {} files, {} directories, {}",
        args.out.display(),
        stat.files,
        stat.dirs,
        input::bytes(stat.bytes)
    ))
}

/// The modification time of a listing in nanoseconds since 1970.
fn modified_ns(path: &Path) -> Result<i64> {
    let time = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    let time = time.with_context(|| format!("reading {}", path.display()))?;
    let since = time.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_nanos()).ok());
    since.ok_or_else(|| anyhow!("{} has an invalid modification time; give --at", path.display()))
}
