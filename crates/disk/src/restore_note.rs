//! Restores disks after temporary writes. Before the first write, a note file next to the disk records how to restore it; the note is
//! synced, so the disk can be restored even if the process is killed.

use crate::block_device::BlockDevice;
use crate::error::{Error, IoContext};
use crate::file_lock::FileLock;
use crate::modelled::{Store, list_snapshots};
use crate::registry::{Entry, EntryGuard, Session};
use crate::restore::restore_all;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to restore a disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RestoreMethod {
    /// Rolls a modelled disk back to a snapshot and deletes the snapshot.
    Snapshot {
        /// The directory of its store.
        dir: PathBuf,
        /// The name of the snapshot.
        snapshot: String,
    },
    /// Writes the blocks of a saved image that differ on the device.
    Image {
        /// The device.
        device: PathBuf,
        /// The image.
        image: PathBuf,
    },
}

/// The note of a disk with temporary writes. It stays until [`RestoreNote::remove`], even if this value is dropped or the process ends.
#[derive(Debug)]
pub struct RestoreNote {
    path: PathBuf,
    recorded: Option<EntryGuard>,
    _lock: FileLock,
}

impl RestoreNote {
    /// Records at `path` that a disk is about to be written. The snapshot or image of `method` need not exist yet. It is an error if the disk
    /// already has a note: call [`restore_from_note`] first.
    pub fn create(session: &Arc<Session>, path: &Path, method: &RestoreMethod) -> Result<RestoreNote, Error> {
        let path = std::path::absolute(path).context("finding", path)?;
        let recorded = session.record(Entry::RestoreNote { note: path.clone() })?;
        let doing = "recording in";
        let file = File::create_new(&path).context(doing, &path)?;
        let mut lock = FileLock::take(file).context(doing, &path)?;
        let text = serde_json::to_vec(method).expect("plain data");
        let written = lock.file.write_all(&text).and_then(|()| lock.file.sync_all());
        if written.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        written.context(doing, &path)?;
        Ok(RestoreNote { path, recorded: Some(recorded), _lock: lock })
    }

    /// Removes the note, after the disk was restored.
    pub fn remove(mut self) -> Result<(), Error> {
        std::fs::remove_file(&self.path).context("removing", &self.path)?;
        self.recorded.take().expect("the entry is present until the note is removed").remove();
        Ok(())
    }
}

impl Drop for RestoreNote {
    fn drop(&mut self) {
        // `cleanup` or the next benchmark restores the disk.
        if let Some(recorded) = self.recorded.take() {
            recorded.keep();
        }
    }
}

/// Whether the disk with this note has temporary writes that are not undone.
pub fn needs_restore(note: &Path) -> bool {
    note.exists()
}

/// Restores a disk if its note exists and no living process holds it. Returns a description of the action.
pub fn restore_from_note(note: &Path) -> Result<Option<String>, Error> {
    let file = match input::open(note) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.context("opening", note)?,
    };
    let Ok(mut lock) = FileLock::try_take(file).context("locking", note)? else { return Ok(None) };
    let mut text = Vec::new();
    lock.file.read_to_end(&mut text).context("reading", note)?;
    let done = match parse(&text, note)? {
        // The note is empty: the process ended before it wrote to the disk.
        None => None,
        Some(method) => Some(method.restore()?),
    };
    std::fs::remove_file(note).context("removing", note)?;
    Ok(done)
}

fn parse(text: &[u8], note: &Path) -> Result<Option<RestoreMethod>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let method = serde_json::from_slice(text);
    method.map(Some).map_err(|e| Error::Journal { path: note.to_owned(), why: e.to_string() })
}

impl RestoreMethod {
    /// Restores the disk. Returns a description of the action.
    pub fn restore(&self) -> Result<String, Error> {
        match self {
            RestoreMethod::Snapshot { dir, snapshot } => {
                if list_snapshots(dir)?.iter().all(|found| found.name != *snapshot) {
                    return Ok(format!("{} was not written to", dir.display()));
                }
                let mut store = Store::open_at(dir, snapshot)?;
                store.delete_snapshot(snapshot)?;
                store.close()?;
                Ok(format!("rolled back {} to its state before a benchmark", dir.display()))
            }
            RestoreMethod::Image { device, image } => {
                if !BlockDevice::open(device)?.may_be_ours()? {
                    // Device names can change at a reboot.
                    let why = format!(
                        "it contains no file system of senesce, so the device name may have changed; it is \
                         not restored from {}; delete the record of the benchmark next to that image to skip \
                         this",
                        image.display()
                    );
                    return Err(Error::Device { device: device.clone(), why });
                }
                let bytes = restore_all(image, device)?;
                let (device, image) = (device.display(), image.display());
                Ok(format!("restored {device} to its state before a benchmark: {bytes} bytes from {image}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modelled::{Clock, DiskSettings};
    use crate::{Digest, cleanup};
    use proptest::prelude::*;

    /// Creates a store with data and a snapshot, then overwrites part of the data.
    fn store(dir: &Path) -> (RestoreMethod, Digest) {
        let store = dir.join("store");
        Store::create(&store, &DiskSettings::new(1 << 20, "ideal", Clock::Model)).unwrap();
        let mut open = Store::open(&store).unwrap();
        open.write(5000, &[7; 100_000]).unwrap();
        open.snapshot("before").unwrap();
        let digest = open.digest().unwrap();
        open.write(0, &[9; 300_000]).unwrap();
        assert_ne!(open.digest().unwrap(), digest);
        open.close().unwrap();
        (RestoreMethod::Snapshot { dir: store, snapshot: "before".to_owned() }, digest)
    }

    #[test]
    fn note_is_undone_once_and_not_while_locked() {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().join("a.benchmark");
        let (how, digest) = store(dir.path());
        let session = Session::begin().unwrap();
        let held = RestoreNote::create(&session, &note, &how).unwrap();
        assert!(needs_restore(&note));
        assert_eq!(restore_from_note(&note).unwrap(), None, "a living process has it");
        assert!(RestoreNote::create(&session, &note, &how).is_err());
        drop(held);
        assert!(restore_from_note(&note).unwrap().unwrap().contains("rolled"));
        assert_eq!((restore_from_note(&note).unwrap(), needs_restore(&note)), (None, false));
        let store = Store::open(&dir.path().join("store")).unwrap();
        assert_eq!(store.digest().unwrap(), digest);
        assert!(list_snapshots(&dir.path().join("store")).unwrap().is_empty(), "the snapshot has gone too");
        drop(session);
        drop(cleanup());
    }

    #[test]
    fn untouched_disk_is_not_restored() {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().join("a.benchmark");
        std::fs::write(&note, "").unwrap();
        assert_eq!((restore_from_note(&note).unwrap(), needs_restore(&note)), (None, false));
        let (_, _) = store(dir.path());
        let how =
            RestoreMethod::Snapshot { dir: dir.path().join("store"), snapshot: "never-taken".to_owned() };
        std::fs::write(&note, serde_json::to_vec(&how).unwrap()).unwrap();
        assert!(restore_from_note(&note).unwrap().unwrap().contains("was not written to"));
        assert_eq!(list_snapshots(&dir.path().join("store")).unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn arbitrary_note_is_an_error(text in prop::collection::vec(any::<u8>(), 1..100)) {
            let why = parse(&text, Path::new("/n")).unwrap_err().to_string();
            prop_assert!(why.contains("is not a record of a run"));
        }
    }
}
