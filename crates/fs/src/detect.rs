//! Detects the file system on an image, a device or a modelled disk by the magic number of its superblock.

use crate::Error;
use crate::kind::{FileSystem, find};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Name, offset and bytes of each magic number.
const MAGIC: [(&str, u64, &[u8]); 8] = [
    ("ext4", 0x438, &[0x53, 0xef]),
    ("xfs", 0, b"XFSB"),
    ("btrfs", 0x1_0040, b"_BHRfS_M"),
    ("betreefs", 0, disk::BETREE_MAGIC),
    ("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    ("nilfs2", 0x406, &[0x34, 0x34]),
    ("bcachefs", 0x1018, disk::BCACHEFS_MAGIC),
    // The first name in the list of pool properties.
    ("zfs", 0x4018, b"version\0"),
];

/// Offset of the device count in a bcachefs superblock.
const BCACHEFS_DEVICES: u64 = 0x107b;

/// Detects the file system on `path`.
pub fn detect(path: &Path) -> Result<&'static dyn FileSystem, Error> {
    let file = input::open_disk(path).map_err(Error::io("opening", path))?;
    known(path, |offset, bytes| {
        // A file too short for the magic number does not have it.
        file.read_exact_at(bytes, offset).is_ok()
    })
}

/// Detects the file system on the modelled disk in `dir`, which must not be attached.
pub fn detect_modelled(dir: &Path) -> Result<&'static dyn FileSystem, Error> {
    let mut store = disk::modelled::Store::open(dir)?;
    let found = known(dir, |offset, bytes| {
        store.read(offset, bytes.len(), &mut Vec::new()).map(|read| bytes.copy_from_slice(read)).is_ok()
    });
    store.close()?;
    found
}

fn known(path: &Path, read_at: impl Fn(u64, &mut [u8]) -> bool) -> Result<&'static dyn FileSystem, Error> {
    let matches = |offset, magic: &[u8]| {
        let mut bytes = vec![0; magic.len()];
        read_at(offset, &mut bytes) && bytes == magic
    };
    let Some((name, ..)) = MAGIC.iter().find(|(_, offset, magic)| matches(*offset, magic)) else {
        return Err(Error::NoFileSystem(path.to_owned()));
    };
    let mut devices = [1];
    if *name == "bcachefs" && read_at(BCACHEFS_DEVICES, &mut devices) && devices[0] > 1 {
        return Err(Error::SeveralDevices { path: path.to_owned(), devices: devices[0] });
    }
    find(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn superblocks_are_distinguished() {
        let dir = tempfile::tempdir().unwrap();
        for (name, offset, magic) in MAGIC {
            let path = dir.path().join(name);
            File::create(&path).unwrap().write_all_at(magic, offset).unwrap();
            assert_eq!(detect(&path).unwrap().name(), name);
        }
        let path = dir.path().join("bcachefs");
        let file = File::options().write(true).open(&path).unwrap();
        for (devices, said) in [(1, None), (2, Some("is one of 2 devices of a bcachefs file system"))] {
            file.write_all_at(&[devices], BCACHEFS_DEVICES).unwrap();
            let refused = detect(&path).err().map(|e| e.to_string());
            assert_eq!(refused.is_some(), said.is_some(), "{refused:?}");
            assert!(refused.unwrap_or_default().contains(said.unwrap_or_default()));
        }
        let path = dir.path().join("none");
        std::fs::write(&path, "XFS").unwrap();
        assert!(detect(&path).err().unwrap().to_string().contains("contains no supported file system"));
    }
}
