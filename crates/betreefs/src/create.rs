//! Looking names up and making them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use betree::Batch;

use crate::attr::Attr;
use crate::error::{Result, fail};
use crate::fs::{Caller, Fs};
use crate::inode::{At, Inode, Name, Spot};
use crate::key::{self, NAME_MAX};
use crate::record::{Entry, Place, Record, Time, Xattrs};

/// The most names of a file.
const LINK_MAX: u32 = 65_000;
/// The longest target of a symbolic link, as the kernel has it.
const TARGET_MAX: usize = 4095;

/// What is to be made.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// Type and permissions, the umask taken off.
    pub mode: u32,
    /// Device number of a device, as the kernel packs it.
    pub rdev: u32,
    /// Target of a symbolic link.
    pub target: &'a [u8],
}

pub(crate) fn check_name(name: &[u8]) -> Result<()> {
    match name {
        [] | b"." | b".." => fail(libc::EINVAL),
        _ if name.len() > NAME_MAX => fail(libc::ENAMETOOLONG),
        _ if name.contains(&0) || name.contains(&b'/') => fail(libc::EINVAL),
        _ => Ok(()),
    }
}

impl Fs {
    /// What `name` in a directory is.
    ///
    /// # Errors
    /// `ENOENT` if it is not there, `ENOTDIR` if the parent is no directory.
    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Attr> {
        if name.len() > NAME_MAX {
            return fail(libc::ENAMETOOLONG);
        }
        let _tree = self.tree.read();
        let parent = self.directory(parent)?;
        match self.child(&parent, name)? {
            Some(inode) => Ok(self.known(&inode)),
            None => fail(libc::ENOENT),
        }
    }

    /// Makes a file, directory, symbolic link, device, pipe or socket.
    ///
    /// # Errors
    /// `EEXIST` if the name is there, `ENOSPC`, `ENAMETOOLONG`, `EINVAL` for names that cannot be.
    pub fn make(&self, caller: Caller, parent: u64, name: &[u8], new: New<'_>) -> Result<Attr> {
        check_name(name)?;
        if new.target.len() > TARGET_MAX {
            return fail(libc::ENAMETOOLONG);
        }
        let _tree = self.tree.read();
        let parent = self.directory(parent)?;
        let mut dir = parent.state.lock();
        let prefix = parent.prefix(self.epoch())?;
        let key = key::meta(&prefix, name);
        if self.store.get(&key)?.is_some() {
            return fail(libc::EEXIST);
        }
        let is_dir = new.mode & libc::S_IFMT == libc::S_IFDIR;
        if is_dir && dir.record.links >= LINK_MAX {
            return fail(libc::EMLINK);
        }
        let ino = self.new_number()?;
        let now = Time::now();
        let inherits = dir.record.mode & libc::S_ISGID != 0;
        let record = Record {
            ino,
            mode: new.mode | if is_dir && inherits { libc::S_ISGID } else { 0 },
            uid: caller.uid,
            gid: if inherits { dir.record.gid } else { caller.gid },
            links: if is_dir { 2 } else { 1 },
            rdev: new.rdev,
            size: 0,
            stored: 0,
            atime: now,
            mtime: now,
            ctime: now,
            birth: now,
            displaced: false,
            target: new.target.into(),
            xattrs: Xattrs::new(),
        };
        let place = self.place_in(&prefix, dir.record.displaced, name, ino, is_dir);
        let mut changed = dir.record.clone();
        changed.size += 1;
        changed.links += u32::from(is_dir);
        (changed.mtime, changed.ctime) = (now, now);
        let mut batch = Batch::new();
        batch.insert(&key, &record.encode(&place));
        self.put(&mut batch, &parent, &changed)?;
        self.grow(&batch)?;
        self.settle(&parent, &mut dir, changed);
        parent.version.fetch_add(1, Relaxed);
        let inode = Inode::new(record, Spot::Name(Name::new(&parent, name)), place);
        inode.changed.store(true, Relaxed);
        self.table.add(&inode);
        Ok(self.known(&inode))
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// `EPERM` for directories, `EEXIST`, `EMLINK`, `ENOSPC`, `ENAMETOOLONG`.
    pub fn link(&self, ino: u64, parent: u64, name: &[u8]) -> Result<Attr> {
        check_name(name)?;
        // For writing, because the file's record goes to another key.
        let _tree = self.tree.write();
        let parent = self.directory(parent)?;
        let inode = self.inode(ino)?;
        if inode.is_dir() {
            return fail(libc::EPERM);
        }
        let epoch = self.epoch();
        let name = Name::new(&parent, name);
        let key = name.key(epoch)?;
        if self.store.get(&key)?.is_some() {
            return fail(libc::EEXIST);
        }
        let mut state = inode.state.lock();
        if state.record.links >= LINK_MAX {
            return fail(libc::EMLINK);
        }
        let now = Time::now();
        let mut record = state.record.clone();
        record.links += 1;
        record.ctime = now;
        let mut batch = Batch::new();
        let redirect = Entry::redirect(inode.kind, ino);
        let at = inode.at.read().clone();
        let mut displaced = None;
        let (spot, place) = match at.spot {
            Spot::Name(first) => {
                batch.insert(&first.key(epoch)?, &redirect);
                if inode.is_home() {
                    displaced = Some(Arc::clone(&first.parent));
                }
                (Spot::Linked(vec![first]), Place::Away(inode.prefix(epoch)?))
            }
            linked @ Spot::Linked(_) => (linked, at.place),
            // Without a name it cannot be linked: nobody has the right to name it (`AT_EMPTY_PATH`) here.
            Spot::Orphan | Spot::Gone | Spot::Root => return fail(libc::ENOENT),
        };
        batch.insert(&key, &redirect);
        batch.insert(&key::number(key::LINKED, ino), &record.encode(&place));
        let mut changes = Changes::default();
        changes.of(&parent, |dir| {
            dir.size += 1;
            (dir.mtime, dir.ctime) = (now, now);
        });
        if let Some(home) = &displaced {
            changes.of(home, |dir| dir.displaced = true);
        }
        changes.put(self, &mut batch)?;
        self.grow(&batch)?;
        // The directory that it was in is told, too.
        self.settle(&inode, &mut state, record);
        *inode.at.write() = At { spot: spot.renamed(None, Some(&name)), place };
        drop(state);
        changes.settle(self);
        Ok(self.known(&inode))
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// `EINVAL` if it is none.
    pub fn read_link(&self, ino: u64) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        if inode.kind != libc::S_IFLNK {
            return fail(libc::EINVAL);
        }
        let state = inode.state.lock();
        Ok(state.record.target.to_vec())
    }

    /// Makes an inode known once more.
    pub(crate) fn known(&self, inode: &Arc<Inode>) -> Attr {
        self.table.hold(inode);
        self.attr_of(&inode.state.lock().record)
    }
}

/// Changes of the records of directories, for operations on several, which may be the same. `Fs::tree` is held for writing.
#[derive(Default)]
pub(crate) struct Changes(Vec<(Arc<Inode>, Record)>);

impl Changes {
    pub fn of(&mut self, inode: &Arc<Inode>, change: impl FnOnce(&mut Record)) {
        let i = self.0.iter().position(|(other, _)| other.ino == inode.ino).unwrap_or_else(|| {
            let record = inode.state.lock().record.clone();
            self.0.push((Arc::clone(inode), record));
            self.0.len() - 1
        });
        change(&mut self.0[i].1);
    }

    /// Whether a directory is displaced, or will be.
    pub fn displaced(&self, inode: &Inode) -> bool {
        let found = self.0.iter().find(|(other, _)| other.ino == inode.ino);
        found.map_or_else(|| inode.state.lock().record.displaced, |(_, record)| record.displaced)
    }

    /// Adds them to a batch.
    pub fn put(&self, fs: &Fs, batch: &mut Batch) -> Result<()> {
        self.0.iter().try_for_each(|(inode, record)| fs.put(batch, inode, record))
    }

    /// They were written.
    pub fn settle(self, fs: &Fs) {
        for (inode, record) in self.0 {
            fs.settle(&inode, &mut inode.state.lock(), record);
            inode.version.fetch_add(1, Relaxed);
        }
    }
}
