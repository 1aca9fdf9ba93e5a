//! Snapshots one behind the other.

use snapshot::{Fact, ROOT, Snapshot};

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

/// Loads a snapshot, and refuses one that cannot be worked with or does not follow `before`, which is at the place before it.
pub(super) fn load(series: &dyn Series, place: usize, before: Option<&Snapshot>) -> Result<Snapshot, Error> {
    let snapshot = series.load(place)?;
    let info = snapshot.info();
    let name = || series.name(place);
    if info.lacks.contains(&Fact::Size) {
        return Err(Error::Snapshots(format!("{} does not say how large files are", name())));
    }
    if info.ended_ns < info.begun_ns {
        return Err(Error::Snapshots(format!(
            "{} ended before it began: the clock was set while it was taken; leave it out",
            name()
        )));
    }
    if let Some(before) = before {
        follows(before, &snapshot).map_err(|why| {
            Error::Snapshots(format!("{} cannot follow {}: {why}", name(), series.name(place - 1)))
        })?;
    }
    Ok(snapshot)
}

/// Says why `after` cannot come behind `before`, if it cannot.
fn follows(before: &Snapshot, after: &Snapshot) -> Result<(), String> {
    let (first, second) = (before.info(), after.info());
    if second.begun_ns < first.ended_ns || second.begun_ns == first.begun_ns {
        return Err("it was not taken later; give them in order of time, each once".to_owned());
    }
    if first.fs_id.is_some() && second.fs_id.is_some() && first.fs_id != second.fs_id
        || first.fs != second.fs
        || before.entries()[ROOT as usize].inode != after.entries()[ROOT as usize].inode
    {
        return Err("it is of another file system or directory; give snapshots of one".to_owned());
    }
    if first.key_id != second.key_id {
        return Err("its names are hashed with another key, or only one has hashed names".to_owned());
    }
    Ok(())
}
