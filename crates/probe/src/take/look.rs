//! Looks at one name: what it stands for, when it changed, where it lies. Never follows a symbolic link, opens nothing but
//! regular files and directories, and never waits for a pipe or a device that has taken the place of one.

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

/// What a file system cannot tell, once it has said so: asking each file again would take most of the time.
#[derive(Default)]
pub struct Silent {
    generations: AtomicBool,
    extents: AtomicBool,
}

/// What a name stands for.
pub enum Found {
    /// Something other than a directory. If it has blocks whose place could not be had, it is not mapped.
    File {
        entry: Entry,
        mapped: bool,
    },
    Dir,
    /// It, or what it is now, lies on another file system.
    OtherFs,
    /// It is gone.
    Gone,
}

/// Looks at files, one after another.
#[derive(Default)]
pub struct Looker {
    extents: Vec<FileExtent>,
}

impl Looker {
    /// Looks at `name` in `dir`, where it was listed as `listed`; appends its extents to `extents`. `device` is the
    /// file system that is walked.
    pub fn look(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        listed: FileType,
        device: (u32, u32),
        silent: &Silent,
        extents: &mut Vec<Extent>,
    ) -> Result<Found, Errno> {
        let wanted = !(silent.generations.load(Relaxed) && silent.extents.load(Relaxed));
        let opened = match listed {
            FileType::RegularFile if wanted => open_file(dir, name)?,
            _ => None,
        };
        let stat = match &opened {
            Some(file) => statx(file, c"", AtFlags::EMPTY_PATH, wanted_facts()),
            None => statx(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, wanted_facts()),
        };
        let stat = match stat {
            Err(Errno::NOENT | Errno::STALE) => return Ok(Found::Gone),
            stat => stat?,
        };
        if is_foreign(&stat, device) {
            return Ok(Found::OtherFs);
        }
        let kind = kind(&stat);
        if kind == Kind::Dir {
            return Ok(Found::Dir);
        }
        let file = opened.filter(|_| kind == Kind::File);
        let generation = file.as_ref().and_then(|file| generation(file, silent));
        let mapped = kind != Kind::File
            || stat.stx_blocks == 0
            || file.is_some_and(|file| self.map(&file, silent, extents));
        Ok(Found::File { entry: entry(&stat, kind, generation), mapped })
    }

    fn map(&mut self, file: &OwnedFd, silent: &Silent, extents: &mut Vec<Extent>) -> bool {
        if silent.extents.load(Relaxed) {
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
                    silent.extents.store(true, Relaxed);
                }
                false
            }
        }
    }
}

/// Opens a regular file; none if it cannot be opened, which leaves what its directory tells.
fn open_file(dir: BorrowedFd<'_>, name: &CStr) -> Result<Option<OwnedFd>, Errno> {
    // Asking where blocks lie reads nothing, so it leaves the time of access alone.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file)),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The entry of an open directory; none if it is on another file system than `device`.
pub fn look_at_dir(
    dir: &OwnedFd,
    device: Option<(u32, u32)>,
    silent: &Silent,
) -> Result<Option<Entry>, Errno> {
    let stat = statx(dir, c"", AtFlags::EMPTY_PATH, wanted_facts())?;
    if device.is_some_and(|device| is_foreign(&stat, device)) {
        return Ok(None);
    }
    Ok(Some(entry(&stat, Kind::Dir, generation(dir, silent))))
}

/// The file system that an open directory is on.
pub fn device(dir: &OwnedFd) -> Result<(u32, u32), Errno> {
    let stat = statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor))
}

fn wanted_facts() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

/// Whether it is of another file system, a subvolume of Btrfs included, whose inode numbers are its own; or of the same
/// one, but mounted here once more.
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

/// The entry that `stat` tells of, in no directory yet.
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

/// `_IOR('v', 1, long)` in the kernel's headers, but it writes an `int`.
const FS_IOC_GETVERSION: Opcode = opcode::read::<libc::c_long>(b'v', 1);

fn generation(file: &OwnedFd, silent: &Silent) -> Option<u32> {
    if silent.generations.load(Relaxed) {
        return None;
    }
    let mut answer = [0; 2];
    // SAFETY: the opcode writes at most a long; file systems write an int, the first four bytes of these eight.
    match unsafe { ioctl(file, Updater::<FS_IOC_GETVERSION, [u32; 2]>::new(&mut answer)) } {
        Ok(()) => Some(answer[0]),
        Err(error) => {
            if matches!(error, Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) {
                silent.generations.store(true, Relaxed);
            }
            None
        }
    }
}
