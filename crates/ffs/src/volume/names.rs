//! Names: directories and their entries, renames and hard links.

use super::{DIRECTORY_CHUNK, ENTRY_BYTES, Volume};
use crate::allocator::{Allocator, NoSpace};
use crate::layout::Layout;
use std::collections::HashMap;
use trace::{DirId, FileId, ROOT};

/// Additional names of files.
#[derive(Clone, Default)]
pub(super) struct Links {
    /// From the name to the slot of the file and the directory of the name.
    names: HashMap<u64, (u32, u32)>,
}

impl Links {
    /// Removes a name, if it exists.
    fn remove(&mut self, name: u64) -> Option<(u32, u32)> {
        // Most file systems of a trace have no links, and need no hash lookup.
        if self.names.is_empty() { None } else { self.names.remove(&name) }
    }

    /// Whether this is an additional name.
    pub fn has(&self, name: u64) -> bool {
        !self.names.is_empty() && self.names.contains_key(&name)
    }

    pub fn heap_bytes(&self) -> usize {
        self.names.capacity() * (size_of::<(u64, (u32, u32))>() + 1)
    }
}

/// The result of an operation: it may fail for lack of space, or be impossible.
type Outcome = Result<Result<(), NoSpace>, &'static str>;

impl<A: Allocator> Volume<A> {
    /// The slot of the file with this name.
    pub(super) fn find(&self, file: FileId) -> Option<u32> {
        let first = self.files.find(file.0);
        first.or_else(|| self.links.names.get(&file.0).map(|&(slot, _)| slot))
    }

    pub(super) fn slot(&self, file: FileId) -> Result<u32, &'static str> {
        self.find(file).ok_or("no such file")
    }

    pub(super) fn directory(&self, dir: DirId) -> Result<u32, &'static str> {
        self.directories.find_in_order(u64::from(dir.0)).ok_or("no such directory")
    }

    pub(super) fn mkdir(&mut self, dir: DirId, parent: DirId) -> Outcome {
        let above = self.directory(parent)?;
        if self.directory(dir).is_ok() {
            return Err("the directory already exists");
        }
        let near = self.directories.get(above).inode;
        let Some(inode) = self.allocator.allocate_inode(Some(near), true) else { return Ok(Err(NoSpace)) };
        if let Err(full) = self.enter(above) {
            self.allocator.free_inode(inode, true);
            return Ok(Err(full));
        }
        let today = self.today();
        self.directories.add(u64::from(dir.0), 0, inode, today).expect("the directory is new");
        Ok(Ok(()))
    }

    pub(super) fn rmdir(&mut self, dir: DirId, parent: DirId) -> Result<(), &'static str> {
        let slot = self.directory(dir)?;
        if dir == ROOT || self.directories.get(slot).owner > 0 {
            return Err("it is the root or not empty");
        }
        let inode = self.directories.get(slot).inode;
        self.change_directory(slot, |allocator, layout| allocator.truncate(layout, 0))
            .expect("truncating a file to 0 bytes needs no space");
        self.allocator.free_inode(inode, true);
        self.directories.remove(slot);
        self.leave(parent);
        Ok(())
    }

    /// Adds an entry to a directory, which grows if it never had as many.
    pub(super) fn enter(&mut self, directory: u32) -> Result<(), NoSpace> {
        let record = self.directories.get(directory);
        let (entries, size) = (record.owner + 1, record.size());
        if u64::from(entries) * ENTRY_BYTES > size {
            let grow =
                |allocator: &mut A, layout: &mut Layout| allocator.write(layout, size, DIRECTORY_CHUNK);
            self.change_directory(directory, grow)?;
        }
        self.directories.get_mut(directory).owner = entries;
        Ok(())
    }

    fn leave(&mut self, dir: DirId) {
        if let Ok(slot) = self.directory(dir) {
            let record = self.directories.get_mut(slot);
            record.owner = record.owner.saturating_sub(1);
        }
    }

    fn change_directory(
        &mut self,
        slot: u32,
        act: impl FnOnce(&mut A, &mut Layout) -> Result<(), NoSpace>,
    ) -> Result<(), NoSpace> {
        let near = self.near(self.directories.get(slot).inode);
        self.directories.read(slot, near, &mut self.scratch);
        let acted = act(&mut self.allocator, &mut self.scratch);
        self.directories.keep(slot, near, &self.scratch);
        acted
    }

    pub(super) fn link(&mut self, file: FileId, to_file: FileId, to_parent: DirId) -> Outcome {
        let slot = self.slot(file)?;
        let directory = self.directory(to_parent)?;
        if self.find(to_file).is_some() {
            return Err("the file already exists");
        }
        if let Err(full) = self.enter(directory) {
            return Ok(Err(full));
        }
        self.links.names.insert(to_file.0, (slot, to_parent.0));
        Ok(Ok(()))
    }

    pub(super) fn rename(&mut self, file: FileId, parent: DirId, to: FileId, to_parent: DirId) -> Outcome {
        let slot = self.slot(file)?;
        let directory = self.directory(to_parent)?;
        if file != to && self.find(to) == Some(slot) {
            return Err("both are hard links to one file");
        }
        // Adds the new entry first, so that lack of space changes nothing.
        if let Err(full) = self.enter(directory) {
            return Ok(Err(full));
        }
        self.leave(parent);
        if file != to && self.find(to).is_some() {
            self.delete(to, to_parent)?;
        }
        if self.links.remove(file.0).is_some() {
            self.links.names.insert(to.0, (slot, to_parent.0));
            return Ok(Ok(()));
        }
        if file != to {
            self.files.rename(slot, to.0);
        }
        self.files.get_mut(slot).owner = to_parent.0;
        Ok(Ok(()))
    }

    pub(super) fn delete(&mut self, file: FileId, parent: DirId) -> Result<(), &'static str> {
        if !self.links.names.is_empty() {
            return self.unlink(file, parent);
        }
        let slot = self.files.unname(file.0).ok_or("no such file")?;
        self.leave(parent);
        self.forget(slot);
        Ok(())
    }

    /// The same for files with several names.
    fn unlink(&mut self, file: FileId, parent: DirId) -> Result<(), &'static str> {
        let slot = self.slot(file)?;
        self.leave(parent);
        if self.links.remove(file.0).is_some() {
            return Ok(());
        }
        let other = self.links.names.iter().find(|&(_, &(of, _))| of == slot);
        if let Some((name, directory)) = other.map(|(&name, &(_, directory))| (name, directory)) {
            self.links.remove(name);
            self.files.rename(slot, name);
            self.files.get_mut(slot).owner = directory;
            return Ok(());
        }
        self.files.unname(file.0);
        self.forget(slot);
        Ok(())
    }

    /// Frees the space of a file without a name.
    fn forget(&mut self, slot: u32) {
        self.window.forget(slot);
        let inode = self.files.get(slot).inode;
        let near = self.near(inode);
        self.files.read(slot, near, &mut self.scratch);
        self.allocator.truncate(&mut self.scratch, 0).expect("truncating a file to 0 bytes needs no space");
        self.allocator.free_inode(inode, false);
        self.files.remove_unnamed(slot);
    }
}
