//! Sequences of snapshots.

use std::path::{Path, PathBuf};

use snapshot::{Attribute, Info, Snapshot, check, check_pair};

use crate::Error;

/// Snapshots of one file system in order of time, loaded on demand.
pub trait Series: Send {
    /// The number of snapshots.
    fn count(&self) -> usize;

    /// The name of the snapshot at `place` (from 0), for messages.
    fn name(&self, place: usize) -> String;

    /// The snapshot at `place`.
    fn load(&self, place: usize) -> Result<Snapshot, Error>;
}

/// Snapshots in memory.
impl Series for Vec<Snapshot> {
    fn count(&self) -> usize {
        self.len()
    }

    fn name(&self, place: usize) -> String {
        format!("snapshot {place}")
    }

    fn load(&self, place: usize) -> Result<Snapshot, Error> {
        Ok(self[place].clone())
    }
}

/// Snapshots in files.
impl Series for Vec<PathBuf> {
    fn count(&self) -> usize {
        self.len()
    }

    fn name(&self, place: usize) -> String {
        self[place].display().to_string()
    }

    fn load(&self, place: usize) -> Result<Snapshot, Error> {
        Ok(Snapshot::load(&self[place])?)
    }
}

/// Suffix of the files that record the free space of a snapshot.
pub const FREE_SPACE_SUFFIX: &str = ".free.json";

/// Expands a list of files. A directory stands for its files, except hidden ones and those that end in
/// [`FREE_SPACE_SUFFIX`], in order of the times at which the snapshots were begun.
pub fn snapshot_files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in named {
        match path.is_dir() {
            true => files.extend(in_directory(path)?),
            false => files.push(path.clone()),
        }
    }
    match files.is_empty() {
        true => Err(Error::Snapshots("no snapshots; name at least one".to_owned())),
        false => Ok(files),
    }
}

fn in_directory(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let refused = |why: &dyn std::fmt::Display| Error::Snapshots(format!("{}: {why}", dir.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|error| refused(&error))? {
        let entry = entry.map_err(|error| refused(&error))?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.starts_with(b".") && !name.ends_with(FREE_SPACE_SUFFIX.as_bytes()) {
            found.push((Info::load(&entry.path())?.begun_ns, entry.path()));
        }
    }
    if found.is_empty() {
        return Err(refused(&"it contains no snapshots"));
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Checks that a workload can be derived from a series, and returns missing or doubtful information. Reads
/// all snapshots.
pub fn check_series(series: &dyn Series) -> Result<Vec<String>, Error> {
    let (mut before, mut warnings) = (None, Vec::new());
    for place in 0..series.count() {
        let loaded = load(series, place, before.as_ref())?;
        warnings.extend(loaded.warnings);
        before = Some(loaded.snapshot);
    }
    Ok(warnings)
}

/// A snapshot that passed the checks.
pub(super) struct Loaded {
    pub snapshot: Snapshot,
    /// Missing or doubtful information, each with the name of the snapshot.
    pub warnings: Vec<String>,
}

/// Loads a snapshot; rejects an unusable one, and one that does not follow `before`, the snapshot before it.
pub(super) fn load(series: &dyn Series, place: usize, before: Option<&Snapshot>) -> Result<Loaded, Error> {
    let snapshot = series.load(place)?;
    let name = series.name(place);
    let refused = |why: String| Error::Snapshots(format!("{name}: {why}"));
    if snapshot.info().lacks.contains(&Attribute::Size) {
        return Err(refused("it does not record file sizes; leave it out".to_owned()));
    }
    let mut warnings = check(&snapshot).map_err(|why| refused(why.to_string()))?;
    if let Some(before) = before {
        let pair = |why: String| refused(format!("it does not follow {}: {why}", series.name(place - 1)));
        warnings.extend(check_pair(before, &snapshot).map_err(|why| pair(why.to_string()))?);
        if snapshot.info().begun_ns == before.info().begun_ns {
            return Err(pair("both were taken at the same time; give each once".to_owned()));
        }
    }
    let warnings = warnings.into_iter().map(|warning| format!("{name}: {warning}")).collect();
    Ok(Loaded { snapshot, warnings })
}
