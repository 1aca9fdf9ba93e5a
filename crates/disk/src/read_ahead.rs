//! The kernel's read-ahead. It determines the cost of reading a fragmented file, so every run reports it.

use crate::error::{Error, IoContext};
use crate::setting::Setting;
use std::path::PathBuf;

/// A changed read-ahead of a block device. The previous value is restored on drop.
#[derive(Debug)]
pub struct ReadAhead {
    setting: Setting,
    kb: u32,
}

impl ReadAhead {
    /// Sets the read-ahead of the device with this number in KiB; a partition shares the setting of its disk.
    pub fn set(devno: (u32, u32), kb: u32) -> Result<ReadAhead, Error> {
        let device = PathBuf::from(format!("/sys/dev/block/{}:{}", devno.0, devno.1));
        let disk = if device.join("partition").exists() { device.join("..") } else { device };
        let setting = Setting::save(disk.join("queue/read_ahead_kb"), "reading")?;
        let this = ReadAhead { setting, kb };
        this.hold()?;
        Ok(this)
    }

    /// Sets it again, and checks that the kernel has it. The kernel raises it to at least 128 KiB whenever a limit of the device changes: by
    /// another request size, or by a request that its backing file does not support, such as `mkfs` zeroing blocks of an image in tmpfs.
    pub fn hold(&self) -> Result<(), Error> {
        let (path, kb) = (self.setting.path(), u64::from(self.kb));
        self.setting.change(kb)?;
        let found = std::fs::read_to_string(path).context("reading", path)?;
        // The kernel counts pages.
        let page_kb = (rustix::param::page_size() >> 10) as u64;
        if found.trim().parse() != Ok(kb - kb % page_kb) {
            let why = format!("its read-ahead is {} KiB, although it was set to {kb} KiB", found.trim());
            return Err(Error::Device { device: path.to_owned(), why });
        }
        Ok(())
    }
}
