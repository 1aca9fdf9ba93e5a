//! Examines one name: its inode, times and extents. Never follows a symbolic link, opens only regular files and directories, and never
//! blocks on a pipe or device that has replaced one.

use crate::FileExtent;
use crate::pieces::append_pieces;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags, StatxTimestamp, openat, statx,
};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use snapshot::{Entry, Extent, Kind, ROOT};
use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Features that the file system has reported as unsupported; asking again for each file would take most of the time.
#[derive(Default)]
pub struct Unsupported {
    generations: AtomicBool,
    extents: AtomicBool,
}

/// The object behind a name.
pub enum Examined {
    /// Not a directory. `mapped` is false if it has blocks but their location is unavailable.
    File {
        entry: Entry,
        mapped: bool,
    },
    Dir,
    /// It is on another file system.
    OtherFs,
    /// It was deleted.
    Gone,
}

/// Examines files one after another.
#[derive(Default)]
pub struct Examiner {
    extents: Vec<FileExtent>,
}

impl Examiner {
    /// Examines `name` in `dir`, listed with type `listed`, and appends its extents to `extents`. `device` is the
    /// walked file system.
    pub fn examine(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        listed: FileType,
        device: (u32, u32),
        unsupported: &Unsupported,
        extents: &mut Vec<Extent>,
    ) -> Result<Examined, Errno> {
        let wanted = !(unsupported.generations.load(Relaxed) && unsupported.extents.load(Relaxed));
        let opened = match listed {
            FileType::RegularFile if wanted => open_file(dir, name)?,
            _ => None,
        };
        let stat = match &opened {
            Some(file) => statx(file, c"", AtFlags::EMPTY_PATH, wanted_facts()),
            None => statx(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, wanted_facts()),
        };
        let stat = match stat {
            Err(Errno::NOENT | Errno::STALE) => return Ok(Examined::Gone),
            stat => stat?,
        };
        if is_foreign(&stat, device) {
            return Ok(Examined::OtherFs);
        }
        let kind = kind(&stat);
        if kind == Kind::Dir {
            return Ok(Examined::Dir);
        }
        let file = opened.filter(|_| kind == Kind::File);
        let generation = file.as_ref().and_then(|file| generation(file, unsupported));
        let mapped = kind != Kind::File
            || stat.stx_blocks == 0
            || file.is_some_and(|file| self.map(&file, unsupported, extents));
        Ok(Examined::File { entry: entry(&stat, kind, generation), mapped })
    }

    fn map(&mut self, file: &OwnedFd, unsupported: &Unsupported, extents: &mut Vec<Extent>) -> bool {
        if unsupported.extents.load(Relaxed) {
            return false;
        }
        self.extents.clear();
        match fiemap::each_extent(file, |extent| self.extents.push(extent)) {
            Ok(()) => {
                append_pieces(extents, &self.extents);
                true
            }
            Err(error) => {
                if matches!(error, Errno::OPNOTSUPP | Errno::NOTTY) {
                    unsupported.extents.store(true, Relaxed);
                }
                false
            }
        }
    }
}

/// Opens a regular file; `None` if it cannot be opened, so that only its attributes are known.
fn open_file(dir: BorrowedFd<'_>, name: &CStr) -> Result<Option<OwnedFd>, Errno> {
    // Reading the extent map reads no data, so the access time does not change.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file)),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The entry of an open directory; `None` if it is on another file system than `device`.
pub fn examine_dir(
    dir: &OwnedFd,
    device: Option<(u32, u32)>,
    unsupported: &Unsupported,
) -> Result<Option<Entry>, Errno> {
    let stat = statx(dir, c"", AtFlags::EMPTY_PATH, wanted_facts())?;
    if device.is_some_and(|device| is_foreign(&stat, device)) {
        return Ok(None);
    }
    Ok(Some(entry(&stat, Kind::Dir, generation(dir, unsupported))))
}

/// The file system of an open directory.
pub fn device(dir: &OwnedFd) -> Result<(u32, u32), Errno> {
    let stat = statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor))
}

fn wanted_facts() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

/// Whether it is on another file system, including a Btrfs subvolume, which has inode numbers of its own; or on the same
/// one, but a further mount of it.
fn is_foreign(stat: &Statx, device: (u32, u32)) -> bool {
    (stat.stx_dev_major, stat.stx_dev_minor) != device
        || stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
}

fn kind(stat: &Statx) -> Kind {
    match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Special,
    }
}

/// The entry from `stat`, without a parent directory.
fn entry(stat: &Statx, kind: Kind, generation: Option<u32>) -> Entry {
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    Entry {
        parent: ROOT,
        kind,
        inode: stat.stx_ino,
        generation,
        links: stat.stx_nlink,
        size: stat.stx_size,
        allocated: stat.stx_blocks * 512,
        changed_ns: nanoseconds(&stat.stx_ctime),
        modified_ns: nanoseconds(&stat.stx_mtime),
        born_ns: has_birth.then(|| nanoseconds(&stat.stx_btime)),
    }
}

fn nanoseconds(time: &StatxTimestamp) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.into())
}

/// `_IOR('v', 1, long)` in the kernel's headers, but the kernel writes an `int`.
const FS_IOC_GETVERSION: Opcode = opcode::read::<libc::c_long>(b'v', 1);

fn generation(file: &OwnedFd, unsupported: &Unsupported) -> Option<u32> {
    if unsupported.generations.load(Relaxed) {
        return None;
    }
    let mut answer = [0; 2];
    // SAFETY: the opcode writes at most a long; file systems write an int, the first four bytes of these eight.
    match unsafe { ioctl(file, Updater::<FS_IOC_GETVERSION, [u32; 2]>::new(&mut answer)) } {
        Ok(()) => Some(answer[0]),
        Err(error) => {
            if matches!(error, Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) {
                unsupported.generations.store(true, Relaxed);
            }
            None
        }
    }
}
