//! Block devices that the user named: used only when nothing else does, and erased only when confirmed.

use crate::LABEL;
use crate::error::{Error, IoContext};
use crate::isolate::all_mount_points;
use crate::tool::{command, run_tool};
use rustix::fs::{OFlags, ioctl_blksszget, major, minor};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A block device that was free when it was claimed. Nothing holds it until it is mounted: a hold would keep
/// `mkfs` and the kernel off it just as it does others.
#[derive(Clone, Debug)]
pub struct BlockDevice {
    path: PathBuf,
    devno: (u32, u32),
    size_bytes: u64,
}

impl BlockDevice {
    /// Claims a device to make a file system on. `erase` is what the user gave to `--erase` and must spell the same
    /// name. A device that holds anything but a file system of ours is refused all the same.
    pub fn claim(path: &Path, erase: Option<&str>) -> Result<BlockDevice, Error> {
        let refuse = |why: String| Error::Device { device: path.to_owned(), why };
        let name = path.display();
        match erase {
            None => {
                let why =
                    format!("making a file system erases all that is on it; confirm with --erase {name}");
                return Err(refuse(why));
            }
            Some(erase) if Path::new(erase).as_os_str() != path.as_os_str() => {
                let why = format!("--erase names {erase}; spell both the same to confirm");
                return Err(refuse(why));
            }
            Some(_) => {}
        }
        let this = Self::open(path)?;
        match signature(path)? {
            Some(found) => {
                let why = format!("it holds data ({found}); if that can go, first `wipefs --all {name}`");
                Err(refuse(why))
            }
            None => Ok(this),
        }
    }

    /// Takes a device that holds a file system already; it must not be in use by anything.
    pub fn open(path: &Path) -> Result<BlockDevice, Error> {
        let refuse = |why: String| Error::Device { device: path.to_owned(), why };
        let data = std::fs::metadata(path).context("opening the device", path)?;
        if !data.file_type().is_block_device() {
            return Err(refuse(
                "it is no block device; use --dir for directories, no --device for images".into(),
            ));
        }
        let devno = (major(data.rdev()), minor(data.rdev()));
        if let Some(why) = used_by(devno)? {
            return Err(refuse(why));
        }
        // The kernel knows users that leave no other trace, such as mounts in other namespaces.
        let exclusive = File::options().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(path);
        let mut file = match exclusive {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {
                return Err(refuse("the kernel says that it is in use; `lsblk` may show by what".into()));
            }
            result => result.context("opening the device", path)?,
        };
        ioctl_blksszget(&file).context("asking for the sector size of", path)?;
        let size_bytes = file.seek(SeekFrom::End(0)).context("asking for the size of", path)?;
        Ok(BlockDevice { path: path.to_owned(), devno, size_bytes })
    }

    /// Whether it holds a file system that this program made.
    pub fn is_ours(&self) -> Result<bool, Error> {
        match probe(&self.path)? {
            Some(export) => Ok(foreign(&export).is_none()),
            None => Ok(bcachefs_label(&head(&self.path)?).is_some_and(|label| label == LABEL)),
        }
    }

    /// Whether it holds a file system that this program made, or a Bε-tree store.
    pub(crate) fn may_be_ours(&self) -> Result<bool, Error> {
        Ok(self.is_ours()? || is_store(&head(&self.path)?))
    }

    /// The name that the user gave.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its major and minor number.
    pub fn devno(&self) -> (u32, u32) {
        self.devno
    }

    /// How large it is.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

/// What uses the device or a partition of it, and what to do about that.
fn used_by(devno: (u32, u32)) -> Result<Option<String>, Error> {
    let sys = PathBuf::from(format!("/sys/dev/block/{}:{}", devno.0, devno.1));
    let mut devices = vec![(devno, sys.clone())];
    for entry in std::fs::read_dir(&sys).context("reading", &sys)? {
        let path = entry.context("reading", &sys)?.path();
        if path.join("partition").exists() {
            let text = std::fs::read_to_string(path.join("dev")).context("reading", &path)?;
            devices.extend(parse_devno(&text).map(|devno| (devno, path)));
        }
    }
    let is_ours = |number: (u32, u32)| devices.iter().any(|(devno, _)| *devno == number);
    for mount in all_mount_points()? {
        if is_ours(mount.devno) || number_of(&mount.source).is_some_and(is_ours) {
            let dir = mount.dir.display();
            return Ok(Some(format!("it is mounted on {dir}; first `umount {dir}`")));
        }
    }
    let swaps = Path::new("/proc/swaps");
    let text = std::fs::read_to_string(swaps).context("reading", swaps)?;
    for swap in text.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        if number_of(Path::new(swap)).is_some_and(is_ours) {
            return Ok(Some(format!("it is swap space; first `swapoff {swap}`")));
        }
    }
    for (_, path) in &devices {
        let holder = std::fs::read_dir(path.join("holders")).ok().and_then(|mut dir| dir.next()?.ok());
        if let Some(holder) = holder {
            let name = holder.file_name();
            return Ok(Some(format!("it is part of {}; take that down first", name.to_string_lossy())));
        }
    }
    Ok(None)
}

fn number_of(path: &Path) -> Option<(u32, u32)> {
    let data = std::fs::metadata(path).ok()?;
    data.file_type().is_block_device().then(|| (major(data.rdev()), minor(data.rdev())))
}

fn parse_devno(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What the device holds that is not ours: a file system, a partition table, or both at odds.
fn signature(device: &Path) -> Result<Option<String>, Error> {
    if let Some(export) = probe(device)? {
        return Ok(foreign(&export));
    }
    let head = head(device)?;
    let found = match bcachefs_label(&head) {
        _ if is_store(&head) => "a betreefs".to_owned(),
        Some(label) if label != LABEL => format!("a bcachefs, labelled {label:?}"),
        _ => return Ok(None),
    };
    Ok(Some(format!("{found}, which `wipefs` does not know: overwrite its first 8 KiB instead")))
}

/// The beginning of a device, where the superblocks lie that `blkid` does not know.
fn head(device: &Path) -> Result<Vec<u8>, Error> {
    let mut head = Vec::new();
    let file = File::open(device).context("opening the device", device)?;
    file.take(8 << 10).read_to_end(&mut head).context("reading", device)?;
    Ok(head)
}

/// How a Bε-tree store begins (`docs/betree-format.md`).
pub const BETREE_MAGIC: &[u8] = b"SNSCBETR";

/// What the superblock of a bcachefs has 24 bytes after its beginning, which is in the ninth sector (`struct bch_sb`).
pub const BCACHEFS_MAGIC: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

/// Whether that is of a Bε-tree store.
fn is_store(head: &[u8]) -> bool {
    head.starts_with(BETREE_MAGIC)
}

/// The label, if that is of a bcachefs: `struct bch_sb` in the ninth sector. `blkid` 2.38, which Debian 12 has, knows none.
fn bcachefs_label(head: &[u8]) -> Option<String> {
    let superblock = head.get(4096..)?;
    let label = superblock.get(72..104).filter(|_| superblock[24..40] == *BCACHEFS_MAGIC)?;
    let label = label.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(label).into_owned())
}

/// What `blkid` says of the device; `None` if it finds no signature.
fn probe(device: &Path) -> Result<Option<String>, Error> {
    let output = run_tool(command("blkid").args(["-p", "-o", "export"]).arg(device), "util-linux")?;
    match output.status.code() {
        Some(2) => Ok(None),
        // Contradicting signatures give another status and no names.
        _ => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
    }
}

/// What `blkid -o export` names, unless it is a file system of ours.
fn foreign(export: &str) -> Option<String> {
    let value = |key: &str| export.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("PTTYPE"), value("TYPE")) {
        (Some(table), _) => Some(format!("a {table} partition table")),
        (None, Some(_)) if value("LABEL") == Some(LABEL) => None,
        (None, Some(kind)) => Some(match value("LABEL") {
            Some(label) => format!("{kind}, labelled {label}"),
            None => kind.to_owned(),
        }),
        (None, None) => Some("signatures that `blkid` cannot tell apart".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_file_systems_of_ours_are_not_foreign() {
        assert_eq!(foreign("DEVNAME=/dev/x\nLABEL=senesce\nTYPE=ext4\n"), None);
        assert_eq!(foreign("LABEL=photos\nTYPE=ext4\n").unwrap(), "ext4, labelled photos");
        assert_eq!(foreign("LABEL=senesce\nTYPE=ext4\nPTTYPE=dos\n").unwrap(), "a dos partition table");
        assert_eq!(foreign("PARTLABEL=senesce\nTYPE=xfs\n").unwrap(), "xfs");
    }

    proptest! {
        #[test]
        fn whatever_has_no_label_of_ours_is_foreign(export in "([A-Z_]{1,9}=[a-z ]{0,9}\n){0,5}") {
            prop_assume!(!export.contains("LABEL=senesce\n"));
            prop_assert!(foreign(&export).is_some());
        }

        #[test]
        fn numbers_come_back(major: u32, minor: u32) {
            prop_assert_eq!(parse_devno(&format!("{major}:{minor}\n")), Some((major, minor)));
        }

        #[test]
        fn any_text_is_survived(text in "\\PC*") {
            parse_devno(&text);
            foreign(&text);
        }

        #[test]
        fn any_beginning_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), sectors in 0..16usize) {
            let head = [vec![0; sectors << 9], bytes].concat();
            prop_assert_eq!(bcachefs_label(&head), None);
        }
    }
}
