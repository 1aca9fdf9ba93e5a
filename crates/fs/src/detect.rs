//! Which file system lies on an image, a device or a modelled disk, by the magic number of its superblock.

use crate::Error;
use crate::kind::{FileSystem, find};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Name, offset and bytes of each magic number.
const MAGIC: [(&str, u64, &[u8]); 6] = [
    ("ext4", 0x438, &[0x53, 0xef]),
    ("xfs", 0, b"XFSB"),
    ("btrfs", 0x1_0040, b"_BHRfS_M"),
    ("betreefs", 0, b"SNSCBETR"),
    ("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    ("nilfs2", 0x406, &[0x34, 0x34]),
];

/// The file system on `path`.
pub fn detect(path: &Path) -> Result<&'static dyn FileSystem, Error> {
    let file = File::open(path).map_err(Error::io("opening", path))?;
    known(path, |offset, bytes| {
        // A file too short to hold the magic number does not have it.
        file.read_exact_at(bytes, offset).is_ok()
    })
}

/// The file system on the modelled disk in `dir`, which must not be in use.
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
    match MAGIC.iter().find(|(_, offset, magic)| matches(*offset, magic)) {
        Some((name, ..)) => find(name),
        None => Err(Error::NoFileSystem(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        for (name, offset, magic) in MAGIC {
            let path = dir.path().join(name);
            File::create(&path).unwrap().write_all_at(magic, offset).unwrap();
            assert_eq!(detect(&path).unwrap().name(), name);
        }
        let path = dir.path().join("none");
        std::fs::write(&path, "XFS").unwrap();
        assert!(detect(&path).err().unwrap().to_string().contains("holds none of the file systems"));
    }
}
