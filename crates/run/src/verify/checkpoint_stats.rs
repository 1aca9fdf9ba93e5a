//! The observations from a snapshot that are compared.

use crate::Error;
use probe::FreeSpace;
use snapshot::{Kind, Snapshot, Stat, check, check_pair};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use workload::snapshots::FREE_SPACE_SUFFIX;

/// The observations of a checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointStats {
    /// The kind of file system.
    pub fs: String,
    /// The statistics of the snapshot, with its layout score.
    pub stat: Stat,
    /// The sizes of all files, ascending.
    pub sizes: Vec<u64>,
    /// The free extents, if known.
    pub free: Option<FreeSpace>,
}

/// The observations from a snapshot.
pub fn of(snapshot: &Snapshot, free: Option<FreeSpace>) -> CheckpointStats {
    let mut linked = HashSet::new();
    let files = snapshot.entries().iter().filter(|entry| entry.kind == Kind::File);
    let once = files.filter(|entry| entry.links < 2 || linked.insert(entry.inode));
    let mut sizes: Vec<u64> = once.map(|entry| entry.size).collect();
    sizes.sort_unstable();
    CheckpointStats { fs: snapshot.info().fs.clone(), stat: Stat::of(snapshot), sizes, free }
}

/// The observations from snapshot files, which must be of one file system and in order of time. A file `NAME.free.json` next to a snapshot
/// holds the output of `probe free-space --json` of the same time.
pub fn of_files(paths: &[PathBuf]) -> Result<Vec<CheckpointStats>, Error> {
    let mut before: Option<Snapshot> = None;
    let mut seen = Vec::new();
    for path in paths {
        let refuse = |why: String| Error::Refused(format!("{}: {why}", path.display()));
        let snapshot = Snapshot::load(path)?;
        check(&snapshot).map_err(|why| refuse(why.to_string()))?;
        if let Some(before) = &before {
            check_pair(before, &snapshot)
                .map_err(|why| refuse(format!("after the previous snapshot: {why}")))?;
            if before.info().begun_ns == snapshot.info().begun_ns {
                return Err(refuse("it is the same as the previous snapshot; give each once".to_owned()));
            }
        }
        seen.push(of(&snapshot, free_beside(path)?));
        before = Some(snapshot);
    }
    Ok(seen)
}

/// The free space recorded when the snapshot at `path` was taken.
fn free_beside(path: &Path) -> Result<Option<FreeSpace>, Error> {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(FREE_SPACE_SUFFIX);
    let beside = path.with_file_name(name);
    let text = match input::read(&beside) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(Error::io("reading", &beside))?,
    };
    serde_json::from_slice(&text).map(Some).map_err(|why| {
        Error::Refused(format!(
            "{}: {why}; create it with `senesce probe free-space PATH --json`",
            beside.display()
        ))
    })
}
