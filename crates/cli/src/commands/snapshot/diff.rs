//! `senesce snapshot diff`.

use super::{load, print_warnings, texts};
use crate::output;
use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use snapshot::{Change, ChangeKind, Kind, Snapshot, check_pair, diff};
use std::path::Path;

/// Totals of one kind of change.
#[derive(Clone, Copy, Default, Serialize)]
struct Count {
    files: u64,
    dirs: u64,
    others: u64,
    /// Bytes of the files: the new size, or the old size of deleted files.
    bytes: u64,
}

pub fn run(older: &Path, newer: &Path, list: bool, json: bool) -> Result<()> {
    let ((a, warnings_a), (b, warnings_b)) = (load(older)?, load(newer)?);
    let pair = check_pair(&a, &b)
        .with_context(|| format!("snapshots {} and {}", older.display(), newer.display()))?;
    let changes = diff(&a, &b);
    let mut counts = [(); ChangeKind::ALL.len()].map(|()| Count::default());
    for change in &changes {
        let count = &mut counts[change.kind as usize];
        let entry = match (change.after, change.before) {
            (Some(after), _) => &b.entries()[after as usize],
            (None, before) => &a.entries()[before.unwrap_or_default() as usize],
        };
        match entry.kind {
            Kind::File => {
                count.files += 1;
                count.bytes = count.bytes.saturating_add(entry.size);
            }
            Kind::Dir => count.dirs += 1,
            _ => count.others += 1,
        }
    }
    if json {
        let mut document: Map<String, Value> = Map::new();
        for (kind, count) in ChangeKind::ALL.iter().zip(counts) {
            document.insert(kind.name().to_owned(), json!(count));
        }
        document.insert("changes".to_owned(), json!(changes.len()));
        document.insert("doubts".to_owned(), json!(texts(&[warnings_a, warnings_b, pair].concat())));
        if list {
            let changes: Vec<Value> = changes.iter().map(|change| listed(change, &a, &b)).collect();
            document.insert("list".to_owned(), json!(changes));
        }
        return output::json(&document);
    }
    print_warnings(older, &warnings_a);
    print_warnings(newer, &warnings_b);
    print_warnings(newer, &pair);
    if list {
        for change in &changes {
            output::line(&line(change, &a, &b))?;
        }
        return Ok(());
    }
    output::table(
        &["", "files", "directories", "others", "bytes"],
        ChangeKind::ALL.iter().zip(counts).map(|(kind, count)| {
            let numbers = [count.files, count.dirs, count.others].map(|n| n.to_string());
            [vec![kind.name().to_owned()], numbers.to_vec(), vec![input::bytes(count.bytes)]].concat()
        }),
    )
}

/// The paths before and after a change.
fn paths(change: &Change, a: &Snapshot, b: &Snapshot) -> (Option<String>, Option<String>) {
    // Escapes paths that are not UTF-8 or contain control characters, so that each change is one line.
    let text = |path: Vec<u8>| match String::from_utf8(path) {
        Ok(path) if !path.contains(|c: char| c.is_control() || c == '\\') => path,
        Ok(path) => path.into_bytes().escape_ascii().to_string(),
        Err(error) => error.into_bytes().escape_ascii().to_string(),
    };
    (change.before.map(|index| text(a.path(index))), change.after.map(|index| text(b.path(index))))
}

fn listed(change: &Change, a: &Snapshot, b: &Snapshot) -> Value {
    let (before, after) = paths(change, a, b);
    let (entry_a, entry_b) = (
        change.before.map(|index| &a.entries()[index as usize]),
        change.after.map(|index| &b.entries()[index as usize]),
    );
    json!({
        "what": change.kind.name(),
        "kind": entry_b.or(entry_a).map(|entry| entry.kind.name()),
        "before": before,
        "after": after,
        "size_before": entry_a.map(|entry| entry.size),
        "size_after": entry_b.map(|entry| entry.size),
    })
}

fn line(change: &Change, a: &Snapshot, b: &Snapshot) -> String {
    let kind = change.kind.name();
    match paths(change, a, b) {
        (before, _) if change.kind == ChangeKind::Unlinked => {
            format!("{kind:<9} {}", before.unwrap_or_default())
        }
        (Some(before), Some(after)) if before != after => format!("{kind:<9} {before} -> {after}"),
        (before, after) => format!("{kind:<9} {}", after.or(before).unwrap_or_default()),
    }
}
