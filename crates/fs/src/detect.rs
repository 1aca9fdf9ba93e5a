//! Detects the file system on an image, a device or a modelled disk by the magic number of its superblock.

use crate::Error;
use crate::kind::{FileSystem, kinds};
use std::os::unix::fs::FileExt;
use std::path::Path;

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
    let matches = |(offset, magic): (u64, &[u8])| {
        let mut bytes = vec![0; magic.len()];
        read_at(offset, &mut bytes) && bytes == magic
    };
    let found = kinds().iter().filter(|kind| kind.magic().is_some_and(matches));
    // The first superblock on the device is the newest: mkfs always clears the start of a device, but not all superblocks behind it.
    let Some(kind) = found.min_by_key(|kind| kind.magic()) else {
        return Err(Error::NoFileSystem(path.to_owned()));
    };
    let mut devices = [1];
    if kind.device_count_offset().is_some_and(|offset| read_at(offset, &mut devices)) && devices[0] > 1 {
        return Err(Error::SeveralDevices { path: path.to_owned(), kind: kind.name(), devices: devices[0] });
    }
    Ok(*kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use std::fs::File;

    #[test]
    fn superblocks_are_distinguished() {
        let dir = tempfile::tempdir().unwrap();
        for kind in kinds() {
            let Some((offset, magic)) = kind.magic() else { continue };
            let path = dir.path().join(kind.name());
            let file = File::create(&path).unwrap();
            file.write_all_at(magic, offset).unwrap();
            assert_eq!(detect(&path).unwrap().name(), kind.name());
            let Some(count) = kind.device_count_offset() else { continue };
            let several = format!("is one of 2 devices of a {} file system", kind.name());
            for (devices, said) in [(1, None), (2, Some(several))] {
                file.write_all_at(&[devices], count).unwrap();
                let refused = detect(&path).err().map(|e| e.to_string());
                assert_eq!(refused.is_some(), said.is_some(), "{refused:?}");
                assert!(refused.unwrap_or_default().contains(&said.unwrap_or_default()));
            }
        }
        let path = dir.path().join("none");
        std::fs::write(&path, "XFS").unwrap();
        assert!(detect(&path).err().unwrap().to_string().contains("contains no supported file system"));
    }

    #[test]
    fn stale_superblocks_behind_the_first_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it");
        let file = File::create(&path).unwrap();
        for (name, then) in [("btrfs", "btrfs"), ("ext4", "ext4"), ("zfs", "ext4"), ("xfs", "xfs")] {
            let (offset, magic) = find(name).unwrap().magic().unwrap();
            file.write_all_at(magic, offset).unwrap();
            assert_eq!(detect(&path).unwrap().name(), then);
        }
    }
}
