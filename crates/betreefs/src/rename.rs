//! Renaming: see `FORMAT.md`.

use std::sync::Arc;

use betree::Batch;

use crate::create::{Changes, check_name};
use crate::error::{Result, fail};
use crate::fs::Fs;
use crate::inode::{Inode, Name, RecordLocation};
use crate::moving::Moved;
use crate::record::Time;

/// The mode of a rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// Replace the target.
    Replace,
    /// Fail if the target exists.
    NoReplace,
    /// Exchange the two names.
    Exchange,
}

impl Fs {
    /// Renames an inode.
    ///
    /// # Errors
    /// `ENOENT`, `EEXIST`, `ENOTEMPTY`, `EISDIR`, `ENOTDIR`, `EINVAL` if a directory would become its own descendant, `ENOSPC`.
    pub fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8]), how: Rename) -> Result<()> {
        check_name(from.1)?;
        check_name(to.1)?;
        let found = {
            let _tree = self.tree.read();
            let found = self.child(&self.directory(from.0)?, from.1)?;
            found.inspect(|inode| self.warm(inode))
        };
        let _tree = self.tree.write();
        let from = Name::new(&self.directory(from.0)?, from.1);
        let to = Name::new(&self.directory(to.0)?, to.1);
        let inode = match found.filter(|inode| inode.has(&from)) {
            None => self.child(&from.parent, &from.name)?,
            found => found,
        };
        let Some(inode) = inode else { return fail(libc::ENOENT) };
        let other = self.child(&to.parent, &to.name)?;
        if is_in(&to.parent, &inode) {
            return fail(libc::EINVAL);
        }
        match (other, how) {
            (Some(_), Rename::NoReplace) => fail(libc::EEXIST),
            (None, Rename::Exchange) => fail(libc::ENOENT),
            // Two names of one file, or the same name: nothing to do.
            (Some(other), _) if other.ino == inode.ino => Ok(()),
            (Some(other), Rename::Exchange) if is_in(&from.parent, &other) => fail(libc::EINVAL),
            (Some(other), Rename::Exchange) => self.exchange(&from, &to, &inode, &other),
            (other, _) => self.move_over(&from, &to, inode, other),
        }
    }

    fn move_over(&self, from: &Name, to: &Name, inode: Arc<Inode>, other: Option<Arc<Inode>>) -> Result<()> {
        let (now, epoch) = (Time::now(), self.epoch());
        let mut batch = Batch::new();
        let mut changes = Changes::default();
        let mut loss = None;
        let mut left = None;
        if let Some(other) = &other {
            let state = other.state.lock();
            match (inode.is_dir(), other.is_dir()) {
                (true, false) => return fail(libc::ENOTDIR),
                (false, true) => return fail(libc::EISDIR),
                (true, true) if state.record.size > 0 => return fail(libc::ENOTEMPTY),
                _ => {}
            }
            left = other.left_without(to, state.record.links);
            if left.is_none() {
                loss = Some(self.lose(other, to, &state, now, &mut batch)?);
            }
            changes.of(&to.parent, |dir| {
                dir.size -= 1;
                dir.links -= u32::from(other.is_dir());
                dir.displaced |= loss.as_ref().is_some_and(|loss| loss.displaces);
            });
        }
        let dirs = u32::from(inode.is_dir());
        changes.of(&from.parent, |dir| {
            dir.size -= 1;
            dir.links -= dirs;
            (dir.mtime, dir.ctime) = (now, now);
        });
        changes.of(&to.parent, |dir| {
            dir.size += 1;
            dir.links += dirs;
            (dir.mtime, dir.ctime) = (now, now);
        });
        batch.delete(&from.key(epoch)?);
        let moved = self.change_name(&inode, (from, to), now, true, &mut changes, &mut batch)?;
        let home = match (&other, left) {
            (Some(other), Some(left)) => Some(self.come_home(other, &left, now, &mut changes, &mut batch)?),
            _ => None,
        };
        changes.put(self, &mut batch)?;
        self.write_batch(&batch)?;
        if let (Some(loss), Some(other)) = (loss, &other) {
            self.lost(loss, &mut other.state.lock());
        }
        self.moved(moved);
        home.into_iter().for_each(|moved| self.moved(moved));
        changes.apply_written(self);
        Ok(())
    }

    fn exchange(&self, from: &Name, to: &Name, a: &Arc<Inode>, b: &Arc<Inode>) -> Result<()> {
        let now = Time::now();
        let mut batch = Batch::new();
        let mut changes = Changes::default();
        changes.of(&from.parent, |dir| {
            dir.links = dir.links - u32::from(a.is_dir()) + u32::from(b.is_dir());
            (dir.mtime, dir.ctime) = (now, now);
        });
        changes.of(&to.parent, |dir| {
            dir.links = dir.links - u32::from(b.is_dir()) + u32::from(a.is_dir());
            (dir.mtime, dir.ctime) = (now, now);
        });
        let first = self.change_name(a, (from, to), now, false, &mut changes, &mut batch)?;
        let second = self.change_name(b, (to, from), now, false, &mut changes, &mut batch)?;
        changes.put(self, &mut batch)?;
        self.write_batch(&batch)?;
        self.moved(first);
        self.moved(second);
        changes.apply_written(self);
        Ok(())
    }

    /// Adds to a batch: an inode gets the new name. The caller removes the old one.
    fn change_name(
        &self,
        inode: &Arc<Inode>,
        (from, to): (&Name, &Name),
        now: Time,
        may_copy: bool,
        changes: &mut Changes,
        batch: &mut Batch,
    ) -> Result<Moved> {
        let mut record = inode.state.lock().record.clone();
        record.ctime = now;
        let linked = matches!(inode.at.read().spot, RecordLocation::Linked(_));
        if linked && record.links > 1 {
            self.redirect(inode, record, (from, to), batch)
        } else {
            self.relocate(inode, record, to, may_copy, changes, batch)
        }
    }
}

/// Whether a directory is `inode` or its descendant.
fn is_in(dir: &Arc<Inode>, inode: &Inode) -> bool {
    let mut at = Arc::clone(dir);
    loop {
        if at.ino == inode.ino {
            return true;
        }
        let parent = match &at.at.read().spot {
            RecordLocation::Name(name) => Arc::clone(&name.parent),
            _ => return false,
        };
        at = parent;
    }
}
