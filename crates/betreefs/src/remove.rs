//! Removing names, and deleting inodes without a name.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use betree::Batch;

use crate::create::Changes;
use crate::error::{Result, fail};
use crate::fs::Fs;
use crate::inode::{At, Inode, Name, RecordLocation, State};
use crate::key;
use crate::record::{Entry, Place, Record, Time};

/// Files with up to this many blocks are deleted block by block; larger ones by range deletes.
const FEW_BLOCKS: u64 = 4;

/// The effect of losing a name on an inode.
pub(crate) struct Loss {
    pub inode: Arc<Inode>,
    record: Record,
    at: At,
    /// Whether the directory in which it was at home becomes displaced.
    pub displaces: bool,
}

impl Fs {
    /// Removes a name of an inode that is not a directory.
    ///
    /// # Errors
    /// `ENOENT`, `EISDIR`.
    pub fn unlink(&self, parent: u64, name: &[u8]) -> Result<()> {
        self.remove(parent, name, false)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, `ENOTEMPTY`.
    pub fn rmdir(&self, parent: u64, name: &[u8]) -> Result<()> {
        self.remove(parent, name, true)
    }

    fn remove(&self, parent: u64, name: &[u8], directory: bool) -> Result<()> {
        let tree = self.tree.read();
        let parent = self.directory(parent)?;
        let mut dir = parent.state.lock();
        let Some(inode) = self.child(&parent, name)? else { return fail(libc::ENOENT) };
        let mut state = inode.state.lock();
        match (directory, inode.is_dir()) {
            (false, true) => return fail(libc::EISDIR),
            (true, false) => return fail(libc::ENOTDIR),
            (true, true) if state.record.size > 0 => return fail(libc::ENOTEMPTY),
            _ => {}
        }
        let name = Name::new(&parent, name);
        if inode.left_without(&name, state.record.links).is_some() {
            drop((dir, state));
            self.warm(&inode);
            drop(tree);
            return self.remove_one_of_two(&inode, &name);
        }
        let now = Time::now();
        let mut batch = Batch::new();
        batch.delete(&name.key(self.epoch())?);
        let loss = self.lose(&inode, &name, &state, now, &mut batch)?;
        let mut changed = dir.record.clone();
        changed.size -= 1;
        changed.links -= u32::from(directory);
        changed.displaced |= loss.displaces;
        (changed.mtime, changed.ctime) = (now, now);
        self.put(&mut batch, &parent, &changed)?;
        self.write_batch(&batch)?;
        self.apply_written(&parent, &mut dir, changed);
        parent.version.fetch_add(1, Relaxed);
        self.lost(loss, &mut state);
        Ok(())
    }

    /// Removes one of the two names of a file, which moves home to the other.
    fn remove_one_of_two(&self, inode: &Arc<Inode>, name: &Name) -> Result<()> {
        // Takes the write lock, because the keys of the file change.
        let tree = self.tree.write();
        let links = inode.state.lock().record.links;
        let Some(left) = inode.left_without(name, links) else {
            // Another thread changed the file in the meantime.
            drop(tree);
            return self.remove(name.parent.ino, &name.name, false);
        };
        let now = Time::now();
        let mut batch = Batch::new();
        let mut changes = Changes::default();
        batch.delete(&name.key(self.epoch())?);
        changes.of(&name.parent, |dir| {
            dir.size -= 1;
            (dir.mtime, dir.ctime) = (now, now);
        });
        let moved = self.come_home(inode, &left, now, &mut changes, &mut batch)?;
        changes.put(self, &mut batch)?;
        self.write_batch(&batch)?;
        self.moved(moved);
        changes.apply_written(self);
        Ok(())
    }

    /// Adds the effects of removing a name of an inode to a batch, except for the name itself.
    pub(crate) fn lose(
        &self,
        inode: &Arc<Inode>,
        name: &Name,
        state: &State,
        now: Time,
        batch: &mut Batch,
    ) -> Result<Loss> {
        let mut record = state.record.clone();
        record.ctime = now;
        let at = inode.at.read().clone();
        let linked = matches!(at.spot, RecordLocation::Linked(_));
        let home = !matches!(at.place, Place::Away(_));
        let number = key::number(key::LINKED, inode.ino);
        record.links = if inode.is_dir() { 0 } else { record.links - 1 };
        let loss = |record, at, displaces| Loss { inode: Arc::clone(inode), record, at, displaces };
        if record.links > 0 {
            batch.insert(&number, &record.encode(&at.place));
            let spot = at.spot.renamed(Some(name), None);
            return Ok(loss(record, At { spot, place: at.place }, false));
        }
        if linked {
            batch.delete(&number);
        }
        if state.opens > 0 && !inode.is_dir() {
            let place = Place::Away(inode.prefix(self.epoch())?);
            batch.insert(&key::number(key::ORPHAN, inode.ino), &record.encode(&place));
            return Ok(loss(record, At { spot: RecordLocation::Orphan, place }, home));
        }
        self.delete_data(inode, &record, batch)?;
        let displaces = record.displaced && home;
        Ok(loss(record, At { spot: RecordLocation::Gone, place: at.place }, displaces))
    }

    /// Updates the inode in memory, after the batch of [`lose`](Self::lose) was written.
    pub(crate) fn lost(&self, loss: Loss, state: &mut State) {
        *loss.inode.at.write() = loss.at;
        self.apply_written(&loss.inode, state, loss.record);
    }

    /// Deletes all blocks of a file.
    fn delete_data(&self, inode: &Inode, record: &Record, batch: &mut Batch) -> Result<()> {
        if record.stored > 0 {
            let blocks = 0..record.size.div_ceil(self.block);
            self.delete_blocks(&inode.prefix(self.epoch())?, blocks, record.size, batch);
        }
        Ok(())
    }

    /// Deletes the blocks in `blocks` of a file of `size` bytes.
    pub(crate) fn delete_blocks(
        &self,
        prefix: &[u8],
        blocks: std::ops::Range<u64>,
        size: u64,
        batch: &mut Batch,
    ) {
        let within = size.min(blocks.end * self.block).saturating_sub(blocks.start * self.block);
        self.freed.fetch_add(within, Relaxed);
        if blocks.end.saturating_sub(blocks.start) <= FEW_BLOCKS {
            blocks.for_each(|block| {
                let bytes = size.saturating_sub(block * self.block).min(self.block);
                batch.delete_sized(&key::data(prefix, block), bytes as u32);
            });
        } else {
            batch.delete_range(&key::data(prefix, blocks.start), &key::data(prefix, blocks.end));
        }
    }

    /// Increments the open count of a file.
    ///
    /// # Errors
    /// `ESTALE` if the file was deleted.
    pub fn open_file(&self, ino: u64) -> Result<()> {
        let inode = self.inode(ino)?;
        let mut state = inode.state.lock();
        if inode.is_gone() {
            return fail(libc::ESTALE);
        }
        state.opens += 1;
        Ok(())
    }

    /// Decrements the open count of a file. A file without a name and an open handle is deleted.
    ///
    /// # Errors
    /// If writing fails; the next open of the file system deletes the file then.
    pub fn release(&self, ino: u64) -> Result<()> {
        let _tree = self.tree.read();
        let inode = self.inode(ino)?;
        let mut state = inode.state.lock();
        state.opens = state.opens.saturating_sub(1);
        if state.opens > 0 || !matches!(inode.at.read().spot, RecordLocation::Orphan) {
            return Ok(());
        }
        let mut batch = Batch::new();
        batch.delete(&key::number(key::ORPHAN, ino));
        self.delete_data(&inode, &state.record, &mut batch)?;
        self.write_batch(&batch)?;
        inode.at.write().spot = RecordLocation::Gone;
        Ok(())
    }

    /// Deletes files without a name. None of them can be open yet.
    pub(crate) fn delete_orphans(&self) -> Result<()> {
        let (from, to) = key::below(key::ORPHAN, &[]);
        for found in self.store.scan(&from, Some(&to)) {
            let (key, value) = found?;
            let (record, place) = Entry::decode_record(&value)?;
            let mut batch = Batch::new();
            batch.delete(&key);
            if let Place::Away(prefix) = place
                && record.stored > 0
            {
                let blocks = 0..record.size.div_ceil(self.block);
                self.delete_blocks(&prefix, blocks, record.size, &mut batch);
            }
            self.write_batch(&batch)?;
        }
        Ok(())
    }
}
