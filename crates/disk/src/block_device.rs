//! Block devices named by the user: used only if nothing else uses them, and erased only after confirmation.

use crate::error::{Error, IoContext};
use crate::isolate::all_mount_points;
use crate::tool::{command, run_tool};
use crate::{LABEL, is_our_uuid};
use rustix::fs::{OFlags, ioctl_blksszget, major, minor};
use rustix::ioctl::{Getter, ioctl};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A block device that was not in use when it was claimed. It is not held open exclusively before it is mounted, because that would also
/// block `mkfs` and the kernel.
#[derive(Clone, Debug)]
pub struct BlockDevice {
    path: PathBuf,
    devno: (u32, u32),
    size_bytes: u64,
}

impl BlockDevice {
    /// Claims a device for a new file system. `erase` is the value of `--erase` and must spell the same name. A device that holds anything
    /// except a file system created by this program is refused even then, and so is a read-only device.
    pub fn claim(path: &Path, erase: Option<&str>) -> Result<BlockDevice, Error> {
        let refuse = |why: String| Error::Device { device: path.to_owned(), why };
        let name = path.display();
        match erase {
            None => {
                let why =
                    format!("creating a file system erases all data on it; confirm with --erase {name}");
                return Err(refuse(why));
            }
            Some(erase) if Path::new(erase).as_os_str() != path.as_os_str() => {
                let why = format!("--erase names {erase}; repeat the exact device name to confirm");
                return Err(refuse(why));
            }
            Some(_) => {}
        }
        let this = Self::open(path)?;
        let file = File::open(path).context("opening the device", path)?;
        if is_read_only(&file).context("checking write access to", path)? {
            let why = format!(
                "it is read-only; make it writable (`blockdev --setrw {name}`, or the switch of the card) or \
                 name another"
            );
            return Err(refuse(why));
        }
        match signature(path)? {
            Some(found) => {
                let why = format!(
                    "it contains data ({found}); if it can be erased, run `wipefs --all {name}` first"
                );
                Err(refuse(why))
            }
            None => Ok(this),
        }
    }

    /// Opens a device that already holds a file system. Nothing else may use the device.
    pub fn open(path: &Path) -> Result<BlockDevice, Error> {
        let refuse = |why: String| Error::Device { device: path.to_owned(), why };
        let data = std::fs::metadata(path).context("opening the device", path)?;
        if !data.file_type().is_block_device() {
            return Err(refuse(
                "it is not a block device; use --dir for directories, no --device for images".into(),
            ));
        }
        let devno = (major(data.rdev()), minor(data.rdev()));
        if let Some(why) = used_by(devno)? {
            return Err(refuse(why));
        }
        // An exclusive open also finds users that leave no other trace, such as mounts in other namespaces.
        let exclusive = File::options().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(path);
        let mut file = match exclusive {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {
                return Err(refuse("the kernel reports that it is in use; `lsblk` may show by what".into()));
            }
            result => result.context("opening the device", path)?,
        };
        ioctl_blksszget(&file).context("reading the sector size of", path)?;
        let size_bytes = file.seek(SeekFrom::End(0)).context("reading the size of", path)?;
        Ok(BlockDevice { path: path.to_owned(), devno, size_bytes })
    }

    /// Whether the device holds a file system created by this program, identified by its label, which anyone may choose, and its UUID,
    /// which is unique to this program.
    pub fn is_ours(&self) -> Result<bool, Error> {
        match probe(&self.path)? {
            Some(export) => Ok(foreign(&export).is_none()),
            None => Ok(bcachefs(&head(&self.path)?).is_some_and(|found| found.is_ours())),
        }
    }

    /// Whether the device holds a file system created by this program, or a Bε-tree store.
    pub(crate) fn may_be_ours(&self) -> Result<bool, Error> {
        Ok(self.is_ours()? || is_store(&head(&self.path)?))
    }

    /// The name given by the user.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The major and minor number.
    pub fn devno(&self) -> (u32, u32) {
        self.devno
    }

    /// The size of the device.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

/// `BLKROGET` of `<linux/fs.h>`.
const BLKROGET: u32 = 0x125e;

/// Whether an open block device is read-only.
fn is_read_only(device: &File) -> io::Result<bool> {
    // SAFETY: BLKROGET writes one int.
    Ok(unsafe { ioctl(device, Getter::<BLKROGET, libc::c_int>::new()) }? != 0)
}

/// Returns what uses the device or one of its partitions, and how to release it.
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
            return Ok(Some(format!("it is mounted on {dir}; run `umount {dir}` first")));
        }
    }
    let swaps = Path::new("/proc/swaps");
    let text = std::fs::read_to_string(swaps).context("reading", swaps)?;
    for swap in text.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        if number_of(Path::new(swap)).is_some_and(is_ours) {
            return Ok(Some(format!("it is swap space; run `swapoff {swap}` first")));
        }
    }
    for (_, path) in &devices {
        let holder = std::fs::read_dir(path.join("holders")).ok().and_then(|mut dir| dir.next()?.ok());
        if let Some(holder) = holder {
            let name = holder.file_name();
            return Ok(Some(format!("it is part of {}; stop that first", name.to_string_lossy())));
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

/// Returns the foreign content of the device: a file system, a partition table, or contradicting signatures.
fn signature(device: &Path) -> Result<Option<String>, Error> {
    if let Some(export) = probe(device)? {
        return Ok(foreign(&export));
    }
    let head = head(device)?;
    let found = match bcachefs(&head) {
        _ if is_store(&head) => "a betreefs file system".to_owned(),
        Some(found) if !found.is_ours() => format!("a bcachefs file system, labelled {:?}", found.label),
        _ => return Ok(None),
    };
    Ok(Some(format!("{found}, which `wipefs` does not recognize: overwrite its first 8 KiB instead")))
}

/// Reads the start of a device, which holds the superblocks that `blkid` does not recognize.
fn head(device: &Path) -> Result<Vec<u8>, Error> {
    let mut head = Vec::new();
    let file = File::open(device).context("opening the device", device)?;
    file.take(8 << 10).read_to_end(&mut head).context("reading", device)?;
    Ok(head)
}

/// The first bytes of a Bε-tree store (`crates/betree/FORMAT.md`).
pub const BETREE_MAGIC: &[u8] = b"SNSCBETR";

/// The magic number of bcachefs, 24 bytes into the superblock, which starts in the ninth sector (`struct bch_sb`).
pub const BCACHEFS_MAGIC: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

/// Whether `head` belongs to a Bε-tree store.
fn is_store(head: &[u8]) -> bool {
    head.starts_with(BETREE_MAGIC)
}

/// The label and UUID of a bcachefs file system.
struct Bcachefs {
    label: String,
    uuid: String,
}

impl Bcachefs {
    fn is_ours(&self) -> bool {
        self.label == LABEL && is_our_uuid(&self.uuid)
    }
}

/// Parses the superblock of bcachefs (`struct bch_sb` in the ninth sector), if there is one. `blkid` 2.38 of Debian 12 does not recognize
/// bcachefs.
fn bcachefs(head: &[u8]) -> Option<Bcachefs> {
    let superblock = head.get(4096..)?;
    let names = superblock.get(56..104).filter(|_| superblock[24..40] == *BCACHEFS_MAGIC)?;
    let (uuid, label) = names.split_at(16);
    let label = label.split(|byte| *byte == 0).next()?;
    let dashed =
        |at: usize, byte: &u8| format!("{}{byte:02x}", if [4, 6, 8, 10].contains(&at) { "-" } else { "" });
    Some(Bcachefs {
        label: String::from_utf8_lossy(label).into_owned(),
        uuid: uuid.iter().enumerate().map(|(at, byte)| dashed(at, byte)).collect(),
    })
}

/// The output of `blkid` for the device; `None` if it finds no signature.
fn probe(device: &Path) -> Result<Option<String>, Error> {
    let output = run_tool(command("blkid").args(["-p", "-o", "export"]).arg(device), "util-linux")?;
    match output.status.code() {
        Some(2) => Ok(None),
        // For contradicting signatures `blkid` returns another status and no names.
        _ => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
    }
}

/// Describes the content in the output of `blkid -o export`, unless it is a file system created by this program.
fn foreign(export: &str) -> Option<String> {
    let value = |key: &str| export.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("PTTYPE"), value("TYPE")) {
        (Some(table), _) => Some(format!("a {table} partition table")),
        (None, Some(_)) if value("LABEL") == Some(LABEL) && value("UUID").is_some_and(is_our_uuid) => None,
        (None, Some(kind)) => Some(match value("LABEL") {
            Some(label) => format!("{kind}, labelled {label}"),
            None => kind.to_owned(),
        }),
        (None, None) => Some("ambiguous signatures (see `blkid`)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_our_label_and_uuid_are_not_foreign() {
        let uuid = crate::new_uuid();
        assert_eq!(foreign(&format!("DEVNAME=/dev/x\nLABEL=senesce\nUUID={uuid}\nTYPE=ext4\n")), None);
        // The label alone does not identify our file systems.
        let strange = "LABEL=senesce\nUUID=d7820223-cd4a-4f89-8844-564ec4ebdbb8\nTYPE=ext4\n";
        assert_eq!(foreign(strange).unwrap(), "ext4, labelled senesce");
        assert_eq!(foreign("LABEL=senesce\nTYPE=ext4\n").unwrap(), "ext4, labelled senesce");
        assert_eq!(
            foreign(&format!("LABEL=photos\nUUID={uuid}\nTYPE=xfs\n")).unwrap(),
            "xfs, labelled photos"
        );
        assert_eq!(foreign("LABEL=photos\nTYPE=ext4\n").unwrap(), "ext4, labelled photos");
        assert_eq!(foreign("LABEL=senesce\nTYPE=ext4\nPTTYPE=dos\n").unwrap(), "a dos partition table");
        assert_eq!(foreign("PARTLABEL=senesce\nTYPE=xfs\n").unwrap(), "xfs");
    }

    proptest! {
        #[test]
        fn other_exports_are_foreign(export in "([A-Z_]{1,9}=[a-z ]{0,9}\n){0,5}") {
            prop_assert!(foreign(&export).is_some());
        }

        #[test]
        fn device_numbers_round_trip(major: u32, minor: u32) {
            prop_assert_eq!(parse_devno(&format!("{major}:{minor}\n")), Some((major, minor)));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC*") {
            parse_devno(&text);
            foreign(&text);
        }

        #[test]
        fn arbitrary_head_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), sectors in 0..16usize) {
            let head = [vec![0; sectors << 9], bytes].concat();
            prop_assert!(bcachefs(&head).is_none());
        }
    }
}
