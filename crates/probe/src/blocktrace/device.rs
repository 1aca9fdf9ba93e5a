//! The recorded block device. Events name whole disks, so a partition is a sector range of a disk.

use crate::{Error, Result};
use disk::Request;
use std::path::Path;

/// A disk, or a partition of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Device {
    /// The disk's number in the kernel's encoding.
    pub(super) disk: u32,
    start_sector: u64,
    end_sector: u64,
}

impl Device {
    /// Looks the device up in sysfs.
    pub(super) fn find((major, minor): (u32, u32)) -> Result<Device> {
        let what = || format!("recording the requests of block device {major}:{minor}");
        let path = format!("/sys/dev/block/{major}:{minor}");
        let dir = Path::new(&path)
            .canonicalize()
            .map_err(|error| Error::cannot(what(), format!("no such device ({path}: {error})")))?;
        let read = |name: &str| {
            let file = dir.join(name);
            std::fs::read_to_string(&file).map_err(Error::io("reading", &file))
        };
        let partition = dir.join("partition").exists();
        let disk_dir = if partition { dir.join("..") } else { dir.clone() };
        if !disk_dir.join("mq").exists() {
            let why = "it has no request queue of its own; name its underlying disk";
            return Err(Error::cannot(what(), why));
        }
        let number = |text: &str| {
            text.trim()
                .parse()
                .map_err(|_| Error::cannot(what(), format!("{text:?} in {path} is not a number")))
        };
        let (disk, start_sector, end_sector) = if partition {
            let start = number(&read("start")?)?;
            let disk = read("../dev")?;
            let (major, minor) = disk.split_once(':').unwrap_or((&disk, ""));
            (((number(major)? as u32), (number(minor)? as u32)), start, start + number(&read("size")?)?)
        } else {
            ((major, minor), 0, u64::MAX)
        };
        // The kernel's dev_t has 12 bits of major and 20 of minor number.
        Ok(Device { disk: disk.0 << 20 | disk.1, start_sector, end_sector })
    }

    /// Returns the request with an address relative to the device, or `None` if it is outside the partition. Bare
    /// flushes have no address and apply to the whole disk.
    pub(super) fn own(&self, request: Request) -> Option<Request> {
        if request.sectors == 0 {
            return Some(request);
        }
        let within = request.sector >= self.start_sector && request.sector < self.end_sector;
        within.then(|| Request { sector: request.sector - self.start_sector, ..request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_partitions_are_filtered() {
        let device = Device { disk: 0, start_sector: 2048, end_sector: 4096 };
        let read = |sector, sectors| Request::read(sector, sectors);
        assert_eq!(device.own(read(2056, 8)), Some(read(8, 8)));
        assert_eq!(device.own(read(2040, 8)), None);
        assert_eq!(device.own(read(4096, 8)), None);
        assert_eq!(device.own(read(0, 0)), Some(read(0, 0)));
    }

    #[test]
    fn missing_device_is_named() {
        let error = Device::find((4000, 7)).unwrap_err().to_string();
        assert!(error.contains("4000:7") && error.contains("no such device"), "{error}");
    }
}
