//! Conversion between our types and the kernel's.

use std::time::{SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};

use crate::attr::Attr;
use crate::record::Time;

/// The preferred I/O size that `stat` reports.
const UNIT: u32 = 4096;

pub fn attr(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.sectors,
        atime: attr.atime.into(),
        mtime: attr.mtime.into(),
        ctime: attr.ctime.into(),
        crtime: attr.birth.into(),
        kind: file_type(attr.mode),
        perm: (attr.mode & 0o7777) as u16,
        nlink: attr.links,
        uid: attr.uid,
        gid: attr.gid,
        rdev: attr.rdev,
        blksize: UNIT,
        flags: 0,
    }
}

/// A negative reply: the name does not exist.
pub fn nothing() -> FileAttr {
    known_only_by_name(0, libc::S_IFREG)
}

/// An inode of which only number and type are known.
pub fn known_only_by_name(ino: u64, kind: u32) -> FileAttr {
    FileAttr {
        ino: INodeNo(ino),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: file_type(kind),
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: UNIT,
        flags: 0,
    }
}

pub fn file_type(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        libc::S_IFIFO => FileType::NamedPipe,
        libc::S_IFCHR => FileType::CharDevice,
        libc::S_IFBLK => FileType::BlockDevice,
        libc::S_IFSOCK => FileType::Socket,
        _ => FileType::RegularFile,
    }
}

pub fn time(time: TimeOrNow) -> Time {
    match time {
        TimeOrNow::SpecificTime(time) => as_sent(time),
        TimeOrNow::Now => Time::now(),
    }
}

/// The time that the kernel sent. Before 1970 it sends negative seconds and the nanoseconds after them, but the library (fuser 0.18) takes
/// both as negative: it makes -1.75 s of the -1 s and 0.75 s of -0.25 s.
fn as_sent(time: SystemTime) -> Time {
    match time.duration_since(UNIX_EPOCH) {
        Ok(_) => time.into(),
        Err(before) => {
            Time { s: -(before.duration().as_secs() as i64), ns: before.duration().subsec_nanos() }
        }
    }
}
