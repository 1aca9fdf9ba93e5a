//! Snapshots one behind the other.

use std::path::{Path, PathBuf};

use snapshot::{Fact, Info, Snapshot, check, check_pair};

use crate::Error;

/// Snapshots of one file system in order of time, loaded when they are needed.
pub trait Series: Send {
    /// How many there are.
    fn count(&self) -> usize;

    /// What the snapshot at `place`, the first being 0, is called in messages.
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

/// What is kept beside a snapshot of its free space ends so.
pub const FREE_SPACE: &str = ".free.json";

/// The files that are named. A directory stands for all that is in it but hidden files and those that end in [`FREE_SPACE`], in the order
/// in which they were begun.
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
        if !name.starts_with(b".") && !name.ends_with(FREE_SPACE.as_bytes()) {
            found.push((Info::load(&entry.path())?.begun_ns, entry.path()));
        }
    }
    if found.is_empty() {
        return Err(refused(&"it contains no snapshots"));
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Refuses a series that no workload can be made of, and says what its snapshots cannot tell, or only with doubt. Reads all of
/// them.
pub fn check_series(series: &dyn Series) -> Result<Vec<String>, Error> {
    let (mut before, mut doubts) = (None, Vec::new());
    for place in 0..series.count() {
        let loaded = load(series, place, before.as_ref())?;
        doubts.extend(loaded.doubts);
        before = Some(loaded.snapshot);
    }
    Ok(doubts)
}

/// A snapshot that can be worked with.
pub(super) struct Loaded {
    pub snapshot: Snapshot,
    /// What it cannot tell, or only with doubt, each with the name of the snapshot.
    pub doubts: Vec<String>,
}

/// Loads a snapshot, and refuses one that cannot be worked with or does not follow `before`, which is at the place before it.
pub(super) fn load(series: &dyn Series, place: usize, before: Option<&Snapshot>) -> Result<Loaded, Error> {
    let snapshot = series.load(place)?;
    let name = series.name(place);
    let refused = |why: String| Error::Snapshots(format!("{name}: {why}"));
    if snapshot.info().lacks.contains(&Fact::Size) {
        return Err(refused("it does not record file sizes; leave it out".to_owned()));
    }
    let mut doubts = check(&snapshot).map_err(|why| refused(why.to_string()))?;
    if let Some(before) = before {
        let pair = |why: String| refused(format!("it does not follow {}: {why}", series.name(place - 1)));
        doubts.extend(check_pair(before, &snapshot).map_err(|why| pair(why.to_string()))?);
        if snapshot.info().begun_ns == before.info().begun_ns {
            return Err(pair("both were taken at the same time; give each once".to_owned()));
        }
    }
    let doubts = doubts.into_iter().map(|doubt| format!("{name}: {doubt}")).collect();
    Ok(Loaded { snapshot, doubts })
}
