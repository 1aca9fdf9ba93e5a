//! Renaming: see "Moving" in the book.

use std::sync::Arc;

use betree::Batch;

use crate::create::{Changes, check_name};
use crate::error::{Result, fail};
use crate::fs::Fs;
use crate::inode::{At, Inode, Spot, home};
use crate::key;
use crate::record::{Entry, Place, Record, Time};

/// How a name is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// What has the new name goes.
    Replace,
    /// Nothing may have the new name.
    NoReplace,
    /// The two change places.
    Exchange,
}

/// A name that an inode has, or gets.
struct Name<'a> {
    dir: &'a Arc<Inode>,
    name: &'a [u8],
}

impl Name<'_> {
    fn key(&self, epoch: u64) -> Result<Vec<u8>> {
        Ok(key::meta(&self.dir.prefix(epoch)?, self.name))
    }
}

/// An inode that comes to another name.
struct Moved {
    inode: Arc<Inode>,
    record: Record,
    at: At,
    /// Whether keys of what is below it have changed.
    copied: bool,
}

impl Fs {
    /// Changes a name.
    ///
    /// # Errors
    /// `ENOENT`, `EEXIST`, `ENOTEMPTY`, `EISDIR`, `ENOTDIR`, `EINVAL` if a directory would come to be in itself, `ENOSPC`.
    pub fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8]), how: Rename) -> Result<()> {
        check_name(from.1)?;
        check_name(to.1)?;
        self.warm(from);
        let _tree = self.tree.write();
        let (from_dir, to_dir) = (self.directory(from.0)?, self.directory(to.0)?);
        let from = Name { dir: &from_dir, name: from.1 };
        let to = Name { dir: &to_dir, name: to.1 };
        let Some(inode) = self.child(from.dir, from.name)? else { return fail(libc::ENOENT) };
        let other = self.child(to.dir, to.name)?;
        if is_in(to.dir, &inode) {
            return fail(libc::EINVAL);
        }
        match (other, how) {
            (Some(_), Rename::NoReplace) => fail(libc::EEXIST),
            (None, Rename::Exchange) => fail(libc::ENOENT),
            // Two names of one file, or the same name.
            (Some(other), _) if other.ino == inode.ino => Ok(()),
            (Some(other), Rename::Exchange) if is_in(from.dir, &other) => fail(libc::EINVAL),
            (Some(other), Rename::Exchange) => self.exchange(&from, &to, &inode, &other),
            (other, _) => self.move_over(&from, &to, inode, other),
        }
    }

    fn move_over(
        &self,
        from: &Name<'_>,
        to: &Name<'_>,
        inode: Arc<Inode>,
        other: Option<Arc<Inode>>,
    ) -> Result<()> {
        let (now, epoch) = (Time::now(), self.epoch());
        let mut batch = Batch::new();
        let mut changes = Changes::default();
        let mut loss = None;
        if let Some(other) = &other {
            let state = other.state.lock();
            match (inode.is_dir(), other.is_dir()) {
                (true, false) => return fail(libc::ENOTDIR),
                (false, true) => return fail(libc::EISDIR),
                (true, true) if state.record.size > 0 => return fail(libc::ENOTEMPTY),
                _ => {}
            }
            let lost = self.lose(other, &state, now, &mut batch)?;
            changes.of(to.dir, |dir| {
                dir.size -= 1;
                dir.links -= u32::from(other.is_dir());
                dir.displaced |= lost.displaces;
            });
            loss = Some(lost);
        }
        let dirs = u32::from(inode.is_dir());
        changes.of(from.dir, |dir| {
            dir.size -= 1;
            dir.links -= dirs;
            (dir.mtime, dir.ctime) = (now, now);
        });
        changes.of(to.dir, |dir| {
            dir.size += 1;
            dir.links += dirs;
            (dir.mtime, dir.ctime) = (now, now);
        });
        batch.delete(&from.key(epoch)?);
        let moved = self.relocate(&inode, to, now, true, &mut changes, &mut batch)?;
        changes.put(self, &mut batch)?;
        self.write_batch(&batch)?;
        if let (Some(loss), Some(other)) = (loss, &other) {
            self.lost(loss, &mut other.state.lock());
        }
        self.moved(moved);
        changes.settle(self);
        Ok(())
    }

    fn exchange(&self, from: &Name<'_>, to: &Name<'_>, a: &Arc<Inode>, b: &Arc<Inode>) -> Result<()> {
        let now = Time::now();
        let mut batch = Batch::new();
        let mut changes = Changes::default();
        changes.of(from.dir, |dir| {
            dir.links = dir.links - u32::from(a.is_dir()) + u32::from(b.is_dir());
            (dir.mtime, dir.ctime) = (now, now);
        });
        changes.of(to.dir, |dir| {
            dir.links = dir.links - u32::from(b.is_dir()) + u32::from(a.is_dir());
            (dir.mtime, dir.ctime) = (now, now);
        });
        let first = self.relocate(a, to, now, false, &mut changes, &mut batch)?;
        let second = self.relocate(b, from, now, false, &mut changes, &mut batch)?;
        changes.put(self, &mut batch)?;
        self.write_batch(&batch)?;
        self.moved(first);
        self.moved(second);
        changes.settle(self);
        Ok(())
    }

    /// Adds to a batch what gives an inode another name: by copying it home if it `may` be and is small, else as a zone. What it had at
    /// its old name is not touched but for what is copied.
    fn relocate(
        &self,
        inode: &Arc<Inode>,
        to: &Name<'_>,
        now: Time,
        may_copy: bool,
        changes: &mut Changes,
        batch: &mut Batch,
    ) -> Result<Moved> {
        let epoch = self.epoch();
        let mut record = inode.state.lock().record.clone();
        record.ctime = now;
        let at = inode.at.read().clone();
        let Spot::Name { parent: old_dir, .. } = &at.spot else {
            batch.insert(&to.key(epoch)?, &Entry::redirect(inode.kind, inode.ino));
            batch.insert(&key::number(key::LINKED, inode.ino), &record.encode(&at.place));
            return Ok(Moved { inode: Arc::clone(inode), record, at, copied: false });
        };
        let old = inode.prefix(epoch)?;
        let parent = to.dir.prefix(epoch)?;
        let displaced = changes.displaced(to.dir);
        let mut place = self.place_in(&parent, displaced, to.name, inode.ino, inode.is_dir());
        let mut copied = false;
        let new = match &place {
            Place::Away(far) => far.to_vec(),
            Place::Tagged => home(&parent, to.name, inode.ino),
            Place::Home => home(&parent, to.name, 0),
        };
        if *new != *old {
            copied = may_copy && !record.displaced && self.copy(&record, &old, &new, batch)?;
            if !copied {
                place = Place::Away(Arc::clone(&old));
                if inode.is_home() {
                    changes.of(old_dir, |dir| dir.displaced = true);
                }
            }
        }
        batch.insert(&to.key(epoch)?, &record.encode(&place));
        let spot = Spot::Name { parent: Arc::clone(to.dir), name: to.name.into() };
        Ok(Moved { inode: Arc::clone(inode), record, at: At { spot, place }, copied })
    }

    fn moved(&self, moved: Moved) {
        *moved.inode.at.write() = moved.at;
        // Also where nothing was copied, for an empty directory has a prefix too.
        if moved.copied {
            self.next_epoch();
        }
        self.settle(&moved.inode, &mut moved.inode.state.lock(), moved.record);
    }

    /// Adds to a batch what copies all below one prefix to another and deletes it there; or nothing, and says so, if it is too much or something in
    /// it is displaced.
    fn copy(&self, record: &Record, old: &[u8], new: &[u8], batch: &mut Batch) -> Result<bool> {
        let kinds: &[u8] = match record.kind() {
            libc::S_IFDIR if record.size > 0 => &[key::META, key::DATA],
            libc::S_IFREG if record.stored > 0 => &[key::DATA],
            _ => return Ok(true),
        };
        // Of a sparse file the blocks lie apart, but for their number it is the same.
        if record.is_file() && record.stored.saturating_mul(self.block).min(record.size) > self.zone {
            return Ok(false);
        }
        let longer = new.len().saturating_sub(old.len());
        let key_max = self.store.params().max_key_bytes();
        let mut bytes = 0;
        let mut copies = Vec::new();
        for kind in kinds {
            let (from, to) = key::below(*kind, old);
            let mut scan = self.store.scan(&from, Some(&to));
            while let Some((key, value)) = scan.next_entry()? {
                bytes += (key.len() + value.len()) as u64;
                let displaced = *kind == key::META
                    && matches!(Entry::decode(value)?, Entry::Record(record, _) if record.displaced);
                if bytes > self.zone || displaced || key.len() + longer > key_max {
                    return Ok(false);
                }
                let mut moved = Vec::with_capacity(key.len() + longer);
                moved.push(*kind);
                moved.extend_from_slice(new);
                moved.extend_from_slice(&key[1 + old.len()..]);
                copies.push((moved, value.to_vec()));
            }
        }
        for kind in kinds {
            let (from, to) = key::below(*kind, old);
            batch.delete_range(&from, &to);
        }
        copies.iter().for_each(|(key, value)| {
            batch.insert(key, value);
        });
        Ok(true)
    }

    /// Reads what a rename may have to copy, so that it need not read it from the disk while it keeps others waiting.
    fn warm(&self, from: (u64, &[u8])) {
        let prefix = {
            let _tree = self.tree.read();
            let Ok(dir) = self.directory(from.0) else { return };
            let Ok(Some(inode)) = self.child(&dir, from.1) else { return };
            let record = &inode.state.lock().record;
            let large = record.stored.saturating_mul(self.block) > self.zone;
            let empty = record.size == 0 || !(record.is_dir() || record.is_file());
            if record.displaced || large || empty {
                return;
            }
            let Ok(prefix) = inode.prefix(self.epoch()) else { return };
            prefix
        };
        for kind in [key::META, key::DATA] {
            let (from, to) = key::below(kind, &prefix);
            let mut scan = self.store.scan(&from, Some(&to));
            let mut bytes = 0;
            // What fails here fails again where it counts.
            while let Ok(Some((key, value))) = scan.next_entry() {
                bytes += (key.len() + value.len()) as u64;
                if bytes > self.zone {
                    return;
                }
            }
        }
    }
}

/// Whether a directory is `inode` or somewhere in it.
fn is_in(dir: &Arc<Inode>, inode: &Inode) -> bool {
    let mut at = Arc::clone(dir);
    loop {
        if at.ino == inode.ino {
            return true;
        }
        let parent = match &at.at.read().spot {
            Spot::Name { parent, .. } => Arc::clone(parent),
            _ => return false,
        };
        at = parent;
    }
}
