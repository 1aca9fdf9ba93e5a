//! Looking up, creating and linking names.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use betree::Batch;

use crate::attr::Attr;
use crate::error::{Result, fail};
use crate::fs::{Caller, Fs};
use crate::inode::{At, Inode, Name, RecordLocation};
use crate::key::{self, NAME_MAX};
use crate::record::{Entry, Place, Record, Time, Xattrs};

/// The highest link count of a file.
const LINK_MAX: u32 = 65_000;
/// The longest target of a symbolic link, the same as the kernel's limit.
const TARGET_MAX: usize = 4095;

/// The inode to create.
#[derive(Debug, Clone, Copy)]
pub struct NewInode<'a> {
    /// Type and permissions, with the umask already applied.
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
    /// Looks up `name` in a directory.
    ///
    /// # Errors
    /// `ENOENT` if the name does not exist, `ENOTDIR` if the parent is not a directory.
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

    /// Creates a file, directory, symbolic link, device, pipe or socket.
    ///
    /// # Errors
    /// `EEXIST` if the name exists, `ENOSPC`, `ENAMETOOLONG`, `EINVAL` for invalid names.
    pub fn create(&self, caller: Caller, parent: u64, name: &[u8], new: NewInode<'_>) -> Result<Attr> {
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
        self.apply_written(&parent, &mut dir, changed);
        parent.version.fetch_add(1, Relaxed);
        let inode = Inode::new(record, RecordLocation::Name(Name::new(&parent, name)), place);
        inode.changed.store(true, Relaxed);
        self.table.add(&inode);
        Ok(self.known(&inode))
    }

    /// Adds a hard link to a file.
    ///
    /// # Errors
    /// `EPERM` for directories, `EEXIST`, `EMLINK`, `ENOSPC`, `ENAMETOOLONG`.
    pub fn link(&self, ino: u64, parent: u64, name: &[u8]) -> Result<Attr> {
        check_name(name)?;
        // Takes the write lock, because the record of the file moves to another key.
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
            RecordLocation::Name(first) => {
                batch.insert(&first.key(epoch)?, &redirect);
                if inode.is_home() {
                    displaced = Some(Arc::clone(&first.parent));
                }
                (RecordLocation::Linked(vec![first]), Place::Away(inode.prefix(epoch)?))
            }
            linked @ RecordLocation::Linked(_) => (linked, at.place),
            // A file without a name cannot be linked: `AT_EMPTY_PATH` is not supported.
            RecordLocation::Orphan | RecordLocation::Gone | RecordLocation::Root => {
                return fail(libc::ENOENT);
            }
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
        // Before `at` changes, so that the old parent directory is marked as changed as well.
        self.apply_written(&inode, &mut state, record);
        *inode.at.write() = At { spot: spot.renamed(None, Some(&name)), place };
        drop(state);
        changes.apply_written(self);
        Ok(self.known(&inode))
    }

    /// Reads the target of a symbolic link.
    ///
    /// # Errors
    /// `EINVAL` if the inode is not a symbolic link.
    pub fn read_link(&self, ino: u64) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        if inode.kind != libc::S_IFLNK {
            return fail(libc::EINVAL);
        }
        let state = inode.state.lock();
        Ok(state.record.target.to_vec())
    }

    /// Increments the lookup count of an inode and returns its attributes.
    pub(crate) fn known(&self, inode: &Arc<Inode>) -> Attr {
        self.table.hold(inode);
        self.attr_of(&inode.state.lock().record)
    }
}

/// Pending changes of directory records, for operations on several directories, which may be the same one. The caller holds `Fs::tree` for writing.
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

    /// Whether a directory is displaced, including pending changes.
    pub fn displaced(&self, inode: &Inode) -> bool {
        let found = self.0.iter().find(|(other, _)| other.ino == inode.ino);
        found.map_or_else(|| inode.state.lock().record.displaced, |(_, record)| record.displaced)
    }

    /// Adds the changed records to a batch.
    pub fn put(&self, fs: &Fs, batch: &mut Batch) -> Result<()> {
        self.0.iter().try_for_each(|(inode, record)| fs.put(batch, inode, record))
    }

    /// Updates the inodes in memory, after the batch was written.
    pub fn apply_written(self, fs: &Fs) {
        for (inode, record) in self.0 {
            fs.apply_written(&inode, &mut inode.state.lock(), record);
            inode.version.fetch_add(1, Relaxed);
        }
    }
}
