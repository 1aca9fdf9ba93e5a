//! The kernel's read-ahead. It determines the cost of reading a fragmented file, so every run reports it.

use crate::error::Error;
use crate::setting::Setting;
use std::path::PathBuf;

/// A changed read-ahead of a block device. The previous value is restored on drop.
#[derive(Debug)]
pub struct ReadAhead {
    _setting: Setting,
}

impl ReadAhead {
    /// Sets the read-ahead of the device with this number in KiB; a partition shares the setting of its disk.
    pub fn set(devno: (u32, u32), kb: u32) -> Result<ReadAhead, Error> {
        let device = PathBuf::from(format!("/sys/dev/block/{}:{}", devno.0, devno.1));
        let disk = if device.join("partition").exists() { device.join("..") } else { device };
        let _setting = Setting::set(disk.join("queue/read_ahead_kb"), "reading", kb.into())?;
        Ok(ReadAhead { _setting })
    }
}
