//! How far the kernel reads ahead of a reader: it decides what a fragmented file costs, so every run states it.

use crate::error::Error;
use crate::setting::Setting;
use std::path::PathBuf;

/// The read-ahead of a block device, set; dropping it restores what was set before.
#[derive(Debug)]
pub struct ReadAhead {
    _setting: Setting,
}

impl ReadAhead {
    /// Sets the read-ahead of the device with that number; a partition shares the one of its disk.
    pub fn set(devno: (u32, u32), kb: u32) -> Result<ReadAhead, Error> {
        let device = PathBuf::from(format!("/sys/dev/block/{}:{}", devno.0, devno.1));
        let disk = if device.join("partition").exists() { device.join("..") } else { device };
        let _setting = Setting::set(disk.join("queue/read_ahead_kb"), "reading", kb.into())?;
        Ok(ReadAhead { _setting })
    }
}
