//! The kernel's I/O counters of a block device: `stat` in sysfs (`Documentation/block/stat.rst` of the kernel). Whole disks, partitions and
//! loop devices have them.

use crate::SECTOR_BYTES;
use crate::error::{Error, IoContext};
use std::path::PathBuf;

/// Bytes transferred by a block device since its creation, by all users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceCounters {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, without discards.
    pub written_bytes: u64,
}

impl DeviceCounters {
    /// Reads the counters of the device with that (major, minor) number.
    pub fn read((major, minor): (u32, u32)) -> Result<DeviceCounters, Error> {
        let path = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        let text = std::fs::read_to_string(&path).context("reading", &path)?;
        parse(&text).ok_or_else(|| Error::Device {
            device: path,
            why: format!("{text:?} is not a line of block device counters"),
        })
    }

    /// The difference to `earlier`.
    pub fn since(self, earlier: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }
}

/// The third field counts sectors read, the seventh sectors written.
fn parse(text: &str) -> Option<DeviceCounters> {
    let mut fields = text.split_whitespace();
    let mut bytes = |skipped| fields.nth(skipped)?.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES);
    Some(DeviceCounters { read_bytes: bytes(2)?, written_bytes: bytes(3)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn missing_device_is_named_in_error() {
        let error = DeviceCounters::read((4000, 7)).unwrap_err().to_string();
        assert!(error.contains("/sys/dev/block/4000:7/stat"), "{error}");
    }

    proptest! {
        #[test]
        fn sectors_are_512_bytes(read in 0u64..1 << 40, written in 0u64..1 << 40, more in prop::collection::vec(any::<u32>(), 0..12)) {
            let more: Vec<String> = more.iter().map(u32::to_string).collect();
            let text = format!("  11  0  {read} 5  33 1 {written} {}\n", more.join(" "));
            let expected = DeviceCounters { read_bytes: read * 512, written_bytes: written * 512 };
            prop_assert_eq!(parse(&text), Some(expected));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "([0-9]{1,22} |\\PC)*") {
            parse(&text);
        }
    }
}
