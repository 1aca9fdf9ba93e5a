//! `senesce snapshot stat`.

use super::{load, print_warnings, texts};
use crate::output;
use anyhow::Result;
use serde_json::json;
use snapshot::Stat;
use snapshot::time::utc;
use std::path::Path;

pub fn run(file: &Path, json: bool) -> Result<()> {
    let (snapshot, warnings) = load(file)?;
    let (info, stat) = (snapshot.info(), Stat::of(&snapshot));
    if json {
        let mut document = serde_json::to_value(&stat)?;
        let lacks: Vec<&str> = info.lacks.iter().map(|attribute| attribute.name()).collect();
        document["info"] = json!({
            "tool": info.tool,
            "fs": info.fs,
            "fs_id": info.fs_id,
            "capacity_bytes": info.capacity_bytes,
            "used_bytes": info.used_bytes,
            "begun": utc(info.begun_ns),
            "ended": utc(info.ended_ns),
            "vanished": info.vanished,
            "unmapped": info.unmapped,
            "other_fs": info.other_fs,
            "lacks": lacks,
            "key_id": info.key_id,
        });
        document["doubts"] = json!(texts(&warnings));
        return output::json(&document);
    }
    print_warnings(file, &warnings);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"));
    let counts = format!(
        "{} files, {} directories, {} symbolic links, {} special files, {} hard links",
        stat.files, stat.dirs, stat.symlinks, stat.specials, stat.further_names
    );
    let fields = [
        ("taken by", info.tool.clone()),
        ("file system", format!("{} {}", info.fs, or_dash(&info.fs_id))),
        ("begun", utc(info.begun_ns)),
        ("ended", utc(info.ended_ns)),
        (
            "names",
            info.key_id.as_ref().map_or_else(|| "as they are".to_owned(), |id| format!("hashes, key {id}")),
        ),
        ("holds", counts),
        ("bytes", format!("{} in {} on disk", input::bytes(stat.bytes), input::bytes(stat.allocated_bytes))),
        ("fullness", share(stat.fullness)),
        ("extents", format!("{} of {} files", stat.extents, stat.files_with_extents)),
        (
            "layout score",
            format!("{} of {} blocks of {} B", share(stat.layout_score), stat.blocks, stat.block_bytes),
        ),
        ("vanished", info.vanished.to_string()),
    ];
    output::table(&["", ""], fields.map(|(name, value)| vec![name.to_owned(), value]))?;
    output::line("")?;
    output::table(
        &["size, at most", "files", "bytes", "extents", "layout score"],
        stat.by_size.iter().map(|class| {
            let upper = input::bytes(class.upper_bytes);
            let numbers = [class.files.to_string(), input::bytes(class.bytes), class.extents.to_string()];
            [vec![upper], numbers.to_vec(), vec![share(class.layout_score)]].concat()
        }),
    )?;
    output::line("")?;
    output::table(
        &["modified, less than", "files", "bytes"],
        stat.by_age.iter().map(|class| {
            vec![format!("{} ago", span(class.upper_s)), class.files.to_string(), input::bytes(class.bytes)]
        }),
    )?;
    output::line("")?;
    output::table(
        &["depth", "files", "directories"],
        stat.by_depth
            .iter()
            .map(|at| [u64::from(at.depth), at.files, at.dirs].map(|n| n.to_string()).to_vec()),
    )
}

/// Formats a number of seconds with a suitable unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{:.1} min", seconds as f64 / 60.0),
        3600..86_400 => format!("{:.1} h", seconds as f64 / 3600.0),
        _ => format!("{:.1} d", seconds as f64 / 86_400.0),
    }
}
