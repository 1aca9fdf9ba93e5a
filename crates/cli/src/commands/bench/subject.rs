//! Finds the subject of a benchmark: an aged file system, a directory, an image or a modelled disk.

use crate::args::BenchSubject;
use crate::commands::{aged, compare};
use crate::output::rate;
use anyhow::{Result, bail};
use disk::modelled::is_store;
use results::{Interval, STORE_FILE};
use run::{Manifest, Subject};
use std::path::Path;

/// Finds the subject that --on names.
pub fn find(args: &BenchSubject) -> Result<Subject> {
    let path = &args.on;
    if path.is_dir() && !is_store(path) {
        return directory(path, args);
    }
    if !path.exists() || is_aged(path)? {
        let (work, name) = aged::locate(args.work.as_deref(), path)?;
        return Ok(Subject::Aged { work, name });
    }
    Ok(Subject::Alone { path: path.clone(), work: args.work.clone() })
}

/// A work directory stands for its aged file system; the benchmark runs in any other directory itself.
fn directory(path: &Path, args: &BenchSubject) -> Result<Subject> {
    if !path.join(STORE_FILE).is_file() {
        return Ok(Subject::Alone { path: path.to_owned(), work: args.work.clone() });
    }
    match &compare::complete(path)?[..] {
        [aged] => Ok(Subject::Aged { work: path.to_owned(), name: aged.name.clone() }),
        several => {
            let work = path.display();
            let names: Vec<&str> = several.iter().map(|aged| aged.name.as_str()).collect();
            bail!(
                "{work} contains several aged file systems: give --work {work} --on with one of {}",
                names.join(", ")
            )
        }
    }
}

/// Whether the manifest of an aged file system is next to the image at `path`.
fn is_aged(path: &Path) -> Result<bool> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let (Some(work), Some(name)) = (parent, path.file_stem().and_then(|name| name.to_str())) else {
        return Ok(false);
    };
    Ok(Manifest::path(work, name).is_file())
}

/// Formats a median with its confidence interval, if known.
pub fn interval(interval: Option<Interval>) -> String {
    let median = rate(interval.map(|interval| interval.median));
    match interval.and_then(|interval| interval.low.zip(interval.high)) {
        Some((low, high)) => format!("{median} ({} to {})", rate(Some(low)), rate(Some(high))),
        None => median,
    }
}
