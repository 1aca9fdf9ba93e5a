//! Tells the kernel whether the disk behind a loop device rotates, which it cannot see. File systems place data by it, and writing back gives
//! way to reads by it.

use crate::error::Error;
use crate::setting::Setting;
use std::path::PathBuf;

/// The settings of a block device that follow from whether its disk rotates. The previous values are restored on drop.
#[derive(Debug)]
pub(crate) struct Rotation {
    _settings: Vec<Setting>,
}

impl Rotation {
    /// Sets them for the device with this number: also for a disk that does not rotate, because a killed run may have left others. The
    /// scheduler is that of a disk of the system, and writing back gives way at the read latency that the kernel assumes for such a disk.
    pub fn set(devno: (u32, u32), rotates: bool) -> Result<Rotation, Error> {
        let queue = PathBuf::from(format!("/sys/dev/block/{}:{}/queue", devno.0, devno.1));
        let values = if rotates { ["1", "mq-deadline", "75000"] } else { ["0", "none", "2000"] };
        let mut settings = Vec::new();
        for (name, value) in ["rotational", "scheduler", "wbt_lat_usec"].into_iter().zip(values) {
            match Setting::set(queue.join(name), "reading", value) {
                Ok(setting) => settings.push(setting),
                Err(error) if name == "rotational" => return Err(error),
                // The kernel was built without it.
                Err(_) => {}
            }
        }
        Ok(Rotation { _settings: settings })
    }
}
