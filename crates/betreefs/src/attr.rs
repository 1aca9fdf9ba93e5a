//! Inode attributes: `getattr` and `setattr`.

use betree::Batch;

use crate::error::{Result, fail};
use crate::fs::{Caller, Fs};
use crate::inode::Inode;
use crate::record::{Record, Time};

/// The attributes of an inode that `stat` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// Inode number.
    pub ino: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Link count; of a directory, 2 plus its number of subdirectories.
    pub links: u32,
    /// Device number of a device, as the kernel packs it.
    pub rdev: u32,
    /// Size in bytes; of a directory, its number of entries.
    pub size: u64,
    /// Stored bytes, in units of 512.
    pub sectors: u64,
    /// Last access.
    pub atime: Time,
    /// Last change of the content.
    pub mtime: Time,
    /// Last change of the content or the attributes.
    pub ctime: Time,
    /// Creation.
    pub birth: Time,
}

/// The attributes to change.
#[derive(Debug, Clone, Copy, Default)]
pub struct SetAttr {
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length of a file in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub atime: Option<Time>,
    /// Last change of the content.
    pub mtime: Option<Time>,
    /// Last change of the content or the attributes; default: now.
    pub ctime: Option<Time>,
}

impl Fs {
    /// The attributes of an inode.
    ///
    /// # Errors
    /// `ESTALE` if the inode does not exist.
    pub fn attr(&self, ino: u64) -> Result<Attr> {
        let inode = self.inode(ino)?;
        let state = inode.state.lock();
        Ok(self.attr_of(&state.record))
    }

    pub(crate) fn attr_of(&self, record: &Record) -> Attr {
        let stored = if record.is_file() { (record.stored * self.block).min(record.size) } else { 0 };
        Attr {
            ino: record.ino,
            mode: record.mode,
            uid: record.uid,
            gid: record.gid,
            links: record.links,
            rdev: record.rdev,
            size: if record.kind() == libc::S_IFLNK { record.target.len() as u64 } else { record.size },
            sectors: stored.div_ceil(512),
            atime: record.atime,
            mtime: record.mtime,
            ctime: record.ctime,
            birth: record.birth,
        }
    }

    /// Changes attributes. The caller has already checked permissions.
    ///
    /// # Errors
    /// `EFBIG` and `ENOSPC` for lengths, `EINVAL` for the length of an inode that is not a file.
    pub fn set_attr(&self, caller: Caller, ino: u64, set: &SetAttr) -> Result<Attr> {
        let _tree = self.tree.read();
        let inode = self.inode(ino)?;
        let mut state = inode.state.lock();
        let now = Time::now();
        let mut record = state.record.clone();
        let mut batch = Batch::new();
        if let Some(mode) = set.mode {
            record.mode = record.kind() | mode & 0o7777;
        }
        if set.uid.is_some() || set.gid.is_some() {
            record.uid = set.uid.unwrap_or(record.uid);
            record.gid = set.gid.unwrap_or(record.gid);
            if set.mode.is_none() && !inode.is_dir() {
                drop_privileges(&mut record);
            }
        }
        let mut grows = false;
        if let Some(size) = set.size {
            if !record.is_file() {
                return fail(if inode.is_dir() { libc::EISDIR } else { libc::EINVAL });
            }
            grows = size > record.size;
            self.resize(&inode, &mut state, &mut record, size, &mut batch)?;
            if caller.uid != 0 && set.mode.is_none() {
                drop_privileges(&mut record);
            }
            record.mtime = now;
        }
        record.atime = set.atime.unwrap_or(record.atime);
        record.mtime = set.mtime.unwrap_or(record.mtime);
        record.ctime = set.ctime.unwrap_or(now);
        self.put(&mut batch, &inode, &record)?;
        if grows {
            self.grow(&batch)?
        } else {
            self.write_batch(&batch)?
        }
        let attr = self.attr_of(&record);
        self.apply_written(&inode, &mut state, record);
        Ok(attr)
    }

    /// Adds the record of an inode to a batch.
    pub(crate) fn put(&self, batch: &mut Batch, inode: &Inode, record: &Record) -> Result<()> {
        if let Ok(key) = inode.key(self.epoch()) {
            batch.insert(&key, &record.encode(&inode.place()));
            return Ok(());
        }
        // A deleted inode has no record in the store, but its attributes remain readable while it is in memory.
        fail(libc::ESTALE)
    }
}

/// Drops the privileges that a change without `CAP_FSETID` revokes: set-user-id, set-group-id of programs, capabilities.
pub(crate) fn drop_privileges(record: &mut Record) {
    record.mode &= !libc::S_ISUID;
    if record.mode & libc::S_IXGRP != 0 {
        record.mode &= !libc::S_ISGID;
    }
    record.xattrs.remove(&b"security.capability"[..]);
}
