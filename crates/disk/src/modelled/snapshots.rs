//! Snapshots of a modelled disk: maps that keep their chunks from changing. Snapshots and rollbacks copy no data.

use super::flash;
use super::map::{ChunkMap, HOLE, read_snapshot, write_snapshot};
use super::store::{CHUNK_BYTES, Store, parts};
use crate::error::{Error, IoContext};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Extension of snapshot files.
const EXTENSION: &str = "map";

/// A snapshot, as shown by `senesce disk list`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// Creation time in seconds since 1970.
    pub taken_unix_s: u64,
    /// Bytes of the disk that were in use.
    pub used_bytes: u64,
}

impl Store {
    /// Takes a snapshot under a new name.
    pub fn snapshot(&mut self, name: &str) -> Result<(), Error> {
        let path = path_of(&self.dir, name)?;
        if path.exists() {
            let why = format!("snapshot {name} already exists; choose another name");
            return Err(Error::Store { dir: self.dir.clone(), why });
        }
        self.flush();
        self.chunks.sync().context("flushing", &self.dir)?;
        let flash = flash::of_snapshot(&path);
        // The map comes last, because it makes the snapshot one.
        let written = flash::write(&flash, self.flash.as_ref())
            .and_then(|()| self.save_flash())
            .and_then(|()| write_snapshot(&path, self.map.entries()));
        if written.is_err() {
            let _ = std::fs::remove_file(&flash);
        }
        written?;
        self.chunks.share(self.map.entries());
        Ok(())
    }

    /// Deletes a snapshot. Chunks that only it used are free.
    pub fn delete_snapshot(&mut self, name: &str) -> Result<(), Error> {
        let entries = read(&self.dir, name, parts(&self.settings))?;
        let path = path_of(&self.dir, name)?;
        std::fs::remove_file(&path).context("removing", &path)?;
        if self.flash.is_some() {
            let flash = flash::of_snapshot(&path);
            std::fs::remove_file(&flash).context("removing", &flash)?;
        }
        self.chunks.release(entries);
        Ok(())
    }

    /// Rolls the disk back to a snapshot. The snapshot stays.
    pub fn rollback(&mut self, name: &str) -> Result<(), Error> {
        let entries = read(&self.dir, name, parts(&self.settings))?;
        let flash = flash::of_snapshot(&path_of(&self.dir, name)?);
        let flash = flash::read(&flash, &self.model()?, self.settings.size_bytes)?;
        self.flush();
        let new = ChunkMap::create(&self.dir.join("map"), entries)?;
        let old = std::mem::replace(&mut self.map, new);
        self.chunks.share(self.map.entries());
        self.chunks.release(old.entries().iter().copied());
        self.replace_flash(flash);
        self.save_flash()
    }
}

/// Reads the map of a snapshot of the store in `dir`, whose disk has `parts` parts.
pub(super) fn read(dir: &Path, name: &str, parts: usize) -> Result<Vec<u32>, Error> {
    let path = path_of(dir, name)?;
    if !path.exists() {
        let names: Vec<_> = list_snapshots(dir)?.into_iter().map(|snapshot| snapshot.name).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let why = format!("it has no snapshot {name}; existing snapshots: {names}");
        return Err(Error::Store { dir: dir.to_owned(), why });
    }
    read_snapshot(&path, parts)
}

/// The snapshots of the store in `dir`, sorted by name.
pub fn list_snapshots(dir: &Path) -> Result<Vec<Snapshot>, Error> {
    let parts = parts(&super::DiskSettings::read(dir)?);
    let mut snapshots = Vec::new();
    for path in paths(dir)? {
        let used = read_snapshot(&path, parts)?.into_iter().filter(|chunk| *chunk != HOLE).count();
        let taken = std::fs::metadata(&path).and_then(|data| data.modified()).context("checking", &path)?;
        snapshots.push(Snapshot {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            taken_unix_s: taken.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            used_bytes: (used * CHUNK_BYTES) as u64,
        });
    }
    Ok(snapshots)
}

/// Reads the maps of all snapshots of a disk of `parts` parts.
pub(super) fn read_all(dir: &Path, parts: usize) -> Result<Vec<Vec<u32>>, Error> {
    paths(dir)?.iter().map(|path| read_snapshot(path, parts)).collect()
}

fn paths(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let dir = dir.join("snapshots");
    let entries = std::fs::read_dir(&dir).context("reading", &dir)?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.context("reading", &dir)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

pub(super) fn path_of(dir: &Path, name: &str) -> Result<PathBuf, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || name.len() > 100 || !name.chars().all(plain) {
        let why = format!("{name:?} is not a valid snapshot name; use at most 100 letters, digits, - and _");
        return Err(Error::Store { dir: dir.to_owned(), why });
    }
    Ok(dir.join("snapshots").join(name).with_extension(EXTENSION))
}
