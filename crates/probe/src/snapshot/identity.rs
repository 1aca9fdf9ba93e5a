//! Identifies the file system of a tree.

use disk::MountPoint;
use rustix::fs::{major, minor, stat};
use rustix::ioctl::{Getter, Opcode, ioctl, opcode};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The system's list of file systems by UUID; each entry is a link to the device.
const BY_UUID: &str = "/dev/disk/by-uuid";

/// The kernel's `struct fsuuid2`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FsUuid {
    len: u8,
    uuid: [u8; 16],
}

/// Supported since Linux 6.9, but not by Btrfs.
const FS_IOC_GETFSUUID: Opcode = opcode::read::<FsUuid>(0x15, 0);

/// The kernel's `struct btrfs_ioctl_fs_info_args`, and the range of the UUID in it.
type BtrfsInfo = [u8; 1024];
const BTRFS_FSID: Range<usize> = 16..32;
const BTRFS_IOC_FS_INFO: Opcode = opcode::read::<BtrfsInfo>(0x94, 31);

/// The identity of a file system.
pub struct Identity {
    /// Its type, as `mount` names it.
    pub fs: String,
    /// Its UUID, if known.
    pub id: Option<String>,
}

/// The identity of the file system of the directory `fd`, mounted by `mount`.
pub fn of(fd: &OwnedFd, mount: Option<MountPoint>) -> Identity {
    let id = from_kernel(fd).or_else(|| from_udev(&mount.as_ref()?.source));
    Identity { fs: mount.map_or_else(|| "unknown".to_owned(), |mount| mount.kind), id }
}

/// The UUID from the kernel.
fn from_kernel(fd: &OwnedFd) -> Option<String> {
    // SAFETY: the opcode writes a struct fsuuid2, which `FsUuid` is.
    let told = unsafe { ioctl(fd, Getter::<FS_IOC_GETFSUUID, FsUuid>::new()) };
    if let Ok(told) = told {
        return told.uuid.get(..told.len.into()).and_then(uuid);
    }
    // SAFETY: the opcode writes a struct btrfs_ioctl_fs_info_args, which has this size.
    let btrfs = unsafe { ioctl(fd, Getter::<BTRFS_IOC_FS_INFO, BtrfsInfo>::new()) };
    uuid(&btrfs.ok()?[BTRFS_FSID])
}

/// The text form of a UUID; `None` if it is all zeros.
fn uuid(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if text.len() == 32 {
        [20, 16, 12, 8].into_iter().for_each(|place| text.insert(place, '-'));
    }
    Some(text)
}

/// The UUID that udev has read from the device `source`.
fn from_udev(source: &Path) -> Option<String> {
    let number = |path: &Path| stat(path).ok().map(|stat| (major(stat.st_rdev), minor(stat.st_rdev)));
    let device = number(source).filter(|device| *device != (0, 0))?;
    let mut links = std::fs::read_dir(BY_UUID).ok()?.flatten();
    let link = links.find(|link| number(&link.path()) == Some(device))?;
    link.file_name().into_string().ok()
}
