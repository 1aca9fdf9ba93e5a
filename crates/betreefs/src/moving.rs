//! Moving inodes between names and their keys: see `FORMAT.md`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use betree::Batch;

use crate::create::Changes;
use crate::error::Result;
use crate::fs::Fs;
use crate::inode::{At, Inode, Name, RecordLocation};
use crate::key;
use crate::record::{Entry, Place, Record, Time};

/// An inode that moves to another name.
pub(crate) struct Moved {
    inode: Arc<Inode>,
    record: Record,
    at: At,
    /// Whether keys of its data or its entries changed.
    copied: bool,
}

impl Fs {
    /// Adds to a batch: a file with two names loses one and moves home to the other.
    pub(crate) fn come_home(
        &self,
        inode: &Arc<Inode>,
        left: &Name,
        now: Time,
        changes: &mut Changes,
        batch: &mut Batch,
    ) -> Result<Moved> {
        let mut record = inode.state.lock().record.clone();
        record.links -= 1;
        record.ctime = now;
        self.relocate(inode, record, left, true, changes, batch)
    }

    /// Adds to a batch: one of several names of a file changes; its data stays.
    pub(crate) fn redirect(
        &self,
        inode: &Arc<Inode>,
        record: Record,
        (from, to): (&Name, &Name),
        batch: &mut Batch,
    ) -> Result<Moved> {
        let At { spot, place } = inode.at.read().clone();
        batch.insert(&to.key(self.epoch())?, &Entry::redirect(inode.kind, inode.ino));
        batch.insert(&key::number(key::LINKED, inode.ino), &record.encode(&place));
        let at = At { spot: spot.renamed(Some(from), Some(to)), place };
        Ok(Moved { inode: Arc::clone(inode), record, at, copied: false })
    }

    /// Adds to a batch: an inode gets `to` as its only name, by a copy to its new home if `may_copy` is set and it is small, else as a zone.
    /// Except for copied keys, the batch leaves the old name untouched.
    pub(crate) fn relocate(
        &self,
        inode: &Arc<Inode>,
        record: Record,
        to: &Name,
        may_copy: bool,
        changes: &mut Changes,
        batch: &mut Batch,
    ) -> Result<Moved> {
        let epoch = self.epoch();
        let at = inode.at.read().clone();
        let old = inode.prefix(epoch)?;
        let parent = to.parent.prefix(epoch)?;
        // If its keys are already at this home, no other inode uses them.
        let there = |place: &Place| place.prefix(&parent, &to.name, inode.ino) == old;
        let mut place = [Place::Home, Place::Tagged].into_iter().find(there).unwrap_or_else(|| {
            let displaced = changes.displaced(&to.parent);
            self.place_in(&parent, displaced, &to.name, inode.ino, inode.is_dir())
        });
        let new = place.prefix(&parent, &to.name, inode.ino);
        let mut copied = false;
        if new != old {
            copied = may_copy && !record.displaced && self.copy(&record, &old, &new, batch)?;
            if !copied {
                place = Place::Away(Arc::clone(&old));
                if let RecordLocation::Name(from) = &at.spot
                    && !matches!(at.place, Place::Away(_))
                {
                    changes.of(&from.parent, |dir| dir.displaced = true);
                }
            }
        }
        if let RecordLocation::Linked(_) = at.spot {
            batch.delete(&key::number(key::LINKED, inode.ino));
        }
        batch.insert(&to.key(epoch)?, &record.encode(&place));
        Ok(Moved {
            inode: Arc::clone(inode),
            record,
            at: At { spot: RecordLocation::Name(to.clone()), place },
            copied,
        })
    }

    /// Updates the inode in memory, after the batch was written.
    pub(crate) fn moved(&self, moved: Moved) {
        *moved.inode.at.write() = moved.at;
        // Also if no key was copied: an empty directory has a prefix too.
        if moved.copied && moved.inode.is_dir() {
            self.next_epoch();
        } else if moved.copied {
            moved.inode.version.fetch_add(1, Relaxed);
        }
        self.apply_written(&moved.inode, &mut moved.inode.state.lock(), moved.record);
    }

    /// Adds to a batch: all keys below prefix `old` move to prefix `new`. Returns false, without changing the batch, if they are too many,
    /// space is short or an entry is displaced.
    fn copy(&self, record: &Record, old: &[u8], new: &[u8], batch: &mut Batch) -> Result<bool> {
        let kinds = kinds(record);
        if kinds.is_empty() {
            return Ok(true);
        }
        let most = self.copied_at_most(record).saturating_sub(batch.bytes() as u64);
        if self.bytes(record) > most {
            return Ok(false);
        }
        let longer = new.len().saturating_sub(old.len());
        let key_max = self.store.params().max_key_bytes();
        let mut copies = Vec::new();
        let found = self.each_below(kinds, old, most, |kind, key, value| {
            let displaced = kind == key::META
                && matches!(Entry::decode(value)?, Entry::Record(record, _) if record.displaced);
            if displaced || key.len() + longer > key_max {
                return Ok(false);
            }
            let mut moved = Vec::with_capacity(key.len() + longer);
            moved.push(kind);
            moved.extend_from_slice(new);
            moved.extend_from_slice(&key[1 + old.len()..]);
            copies.push((moved, value.to_vec()));
            Ok(true)
        })?;
        let Some(bytes) = found else { return Ok(false) };
        // A move must not take the space that deletes need on a full disk.
        if self.store.free_bytes() < self.reserve + bytes {
            return Ok(false);
        }
        if record.is_file() {
            self.delete_blocks(old, 0..record.size.div_ceil(self.block), record.size, batch);
        } else {
            for kind in kinds {
                let (from, to) = key::below(*kind, old);
                batch.delete_range(&from, &to);
            }
        }
        copies.iter().for_each(|(key, value)| {
            batch.insert(key, value);
        });
        Ok(true)
    }

    /// Reads the keys that a move may copy into the cache, so that the move does not block others on disk reads. The caller holds `tree` for reading.
    pub(crate) fn warm(&self, inode: &Inode) {
        let record = inode.state.lock().record.clone();
        let most = self.copied_at_most(&record);
        if record.displaced || self.bytes(&record) > most {
            return;
        }
        let Ok(prefix) = inode.prefix(self.epoch()) else { return };
        // An error here occurs again in the move itself.
        let _ = self.each_below(kinds(&record), &prefix, most, |_, _, _| Ok(true));
    }

    /// Visits the keys of these kinds below a prefix until `each` returns false or their size exceeds the limit; returns their total bytes
    /// if all were visited.
    fn each_below(
        &self,
        kinds: &[u8],
        prefix: &[u8],
        most: u64,
        mut each: impl FnMut(u8, &[u8], &[u8]) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let mut bytes = 0;
        for kind in kinds {
            let (from, to) = key::below(*kind, prefix);
            let mut scan = self.store.scan(&from, Some(&to));
            while let Some((key, value)) = scan.next_entry()? {
                bytes += (key.len() + value.len()) as u64;
                if bytes > most || !each(*kind, key, value)? {
                    return Ok(None);
                }
            }
        }
        Ok(Some(bytes))
    }

    fn copied_at_most(&self, record: &Record) -> u64 {
        if record.is_file() { self.leaf } else { self.zone }
    }

    /// An upper bound of the stored bytes of a file; unknown for a directory. The blocks of a sparse file are scattered; only their number counts.
    fn bytes(&self, record: &Record) -> u64 {
        if record.is_file() { record.stored.saturating_mul(self.block).min(record.size) } else { 0 }
    }
}

/// The kinds of the keys that contain the prefix of an inode.
fn kinds(record: &Record) -> &'static [u8] {
    match record.kind() {
        libc::S_IFDIR if record.size > 0 => &[key::META, key::DATA],
        libc::S_IFREG if record.stored > 0 => &[key::DATA],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use betree::{MemoryStorage, Options};

    use super::*;
    use crate::fs::{Caller, ROOT};
    use crate::rename::Rename;
    use crate::{NewInode, check, mkfs};

    struct Mounted(Arc<MemoryStorage>, Fs);

    impl Mounted {
        fn new() -> Self {
            let disk = Arc::new(MemoryStorage::new(16 << 20));
            mkfs(disk.clone(), (0, 0), "").unwrap();
            Self(
                disk.clone(),
                Fs::open(
                    disk,
                    Options { cache_bytes: 8 << 20, contiguous_leaves: true, ..Options::default() },
                )
                .unwrap(),
            )
        }

        fn file(&self, name: &str, bytes: u64) -> u64 {
            let new = NewInode { mode: libc::S_IFREG | 0o644, rdev: 0, target: &[] };
            let ino = self.1.create(Caller::default(), ROOT, name.as_bytes(), new).unwrap().ino;
            self.1.write(ino, 0, &vec![ino as u8; bytes as usize], false).unwrap();
            ino
        }

        fn link(&self, ino: u64, name: &str) {
            self.1.link(ino, ROOT, name.as_bytes()).unwrap();
        }

        fn unlink(&self, name: &str) {
            self.1.unlink(ROOT, name.as_bytes()).unwrap();
        }

        /// The names of the files whose data is below the root, in key order.
        fn data_order(&self) -> Vec<String> {
            let (from, to) = key::below(key::DATA, &[]);
            let mut names: Vec<String> = Vec::new();
            for found in self.1.store.scan(&from, Some(&to)) {
                let (key, _) = found.unwrap();
                let name = key[1..].split(|byte| *byte == 0).next().unwrap();
                names.push(String::from_utf8(name.to_vec()).unwrap());
            }
            names.dedup();
            names
        }

        /// The number of records stored under inode numbers.
        fn numbered_records(&self) -> usize {
            let (from, to) = key::below(key::LINKED, &[]);
            self.1.store.scan(&from, Some(&to)).count()
        }

        fn end(self) {
            self.1.close().unwrap();
            assert_eq!(check(self.0).unwrap().problems, Vec::<String>::new());
        }
    }

    #[test]
    fn linked_and_unlinked_files_are_in_name_order() {
        let mounted = Mounted::new();
        for i in 0..20 {
            // As git writes its objects: the order of the first names is arbitrary.
            let ino = mounted.file(&format!("tmp_{}", i * 7 % 20), 40_000);
            mounted.link(ino, &format!("{i:02}"));
            mounted.unlink(&format!("tmp_{}", i * 7 % 20));
        }
        assert_eq!(mounted.data_order(), (0..20).map(|i| format!("{i:02}")).collect::<Vec<_>>());
        assert_eq!(mounted.numbered_records(), 0);
        mounted.end();
    }

    #[test]
    fn file_that_keeps_its_first_name_stays_in_place() {
        let mounted = Mounted::new();
        let ino = mounted.file("a", 100_000);
        let old = mounted.1.inode(ino).unwrap().prefix(mounted.1.epoch()).unwrap();
        mounted.link(ino, "b");
        mounted.unlink("b");
        let inode = mounted.1.inode(ino).unwrap();
        assert!(inode.is_home() && inode.prefix(mounted.1.epoch()).unwrap() == old);
        assert_eq!((mounted.data_order(), mounted.numbered_records()), (vec!["a".to_owned()], 0));
        mounted.end();
    }

    #[test]
    fn last_of_three_names_is_home() {
        for left in ["a", "b", "c"] {
            let mounted = Mounted::new();
            let ino = mounted.file("a", 30_000);
            mounted.link(ino, "b");
            mounted.link(ino, "c");
            for name in ["a", "b", "c"].into_iter().filter(|name| *name != left) {
                assert_eq!((mounted.data_order(), mounted.numbered_records()), (vec!["a".to_owned()], 1));
                mounted.unlink(name);
            }
            assert_eq!((mounted.data_order(), mounted.numbered_records()), (vec![left.to_owned()], 0));
            mounted.end();
        }
    }

    #[test]
    fn renaming_or_replacing_a_link_moves_the_file_home() {
        let mounted = Mounted::new();
        let ino = mounted.file("a", 30_000);
        mounted.link(ino, "b");
        mounted.1.rename((ROOT, b"b"), (ROOT, b"c"), Rename::Replace).unwrap();
        mounted.file("d", 30_000);
        mounted.1.rename((ROOT, b"d"), (ROOT, b"a"), Rename::Replace).unwrap();
        assert_eq!(
            (mounted.data_order(), mounted.numbered_records()),
            (vec!["a".to_owned(), "c".to_owned()], 0)
        );
        mounted.end();
    }

    #[test]
    fn file_larger_than_a_leaf_moves_home_by_record_only() {
        let mounted = Mounted::new();
        let leaf = mounted.1.leaf;
        for (name, bytes) in [("large", leaf + 1), ("small", leaf / 2)] {
            let ino = mounted.file(&format!("tmp_{name}"), bytes);
            mounted.link(ino, name);
            mounted.unlink(&format!("tmp_{name}"));
            let (lock, new) = (format!("lock_{name}"), format!("new_{name}"));
            mounted.file(&lock, bytes);
            mounted.1.rename((ROOT, lock.as_bytes()), (ROOT, new.as_bytes()), Rename::Replace).unwrap();
        }
        assert_eq!(mounted.data_order(), ["lock_large", "new_small", "small", "tmp_large"]);
        assert_eq!(mounted.numbered_records(), 0);
        mounted.end();
    }

    #[test]
    fn full_disk_makes_no_copies() {
        let mounted = Mounted::new();
        let ino = mounted.file("a", 60_000);
        mounted.link(ino, "b");
        let filler = mounted.file("z", 0);
        let mut at = 0;
        while mounted.1.write(filler, at, &[1; 16 << 10], false).is_ok() {
            at += 16 << 10;
        }
        mounted.unlink("a");
        assert_eq!(
            (mounted.data_order(), mounted.numbered_records()),
            (vec!["a".to_owned(), "z".to_owned()], 0)
        );
        mounted.end();
    }
}
