//! How far the kernel reads ahead of a reader: it decides what a fragmented file costs, so every run states it.

use crate::error::{Error, IoContext};
use std::path::PathBuf;

/// The read-ahead of a block device, set; dropping it restores what was set before.
#[derive(Debug)]
pub struct ReadAhead {
    setting: PathBuf,
    before: String,
}

impl ReadAhead {
    /// Sets the read-ahead of the device with that number; a partition shares the one of its disk.
    pub fn set(devno: (u32, u32), kb: u32) -> Result<ReadAhead, Error> {
        let device = PathBuf::from(format!("/sys/dev/block/{}:{}", devno.0, devno.1));
        let disk = if device.join("partition").exists() { device.join("..") } else { device };
        let setting = disk.join("queue/read_ahead_kb");
        let before = std::fs::read_to_string(&setting).context("reading", &setting)?;
        std::fs::write(&setting, kb.to_string()).context("setting", &setting)?;
        Ok(ReadAhead { setting, before })
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.setting, &self.before);
    }
}
