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
    /// Sets them for the device with this number. Without rotation the kernel has found out for itself whether the disk behind rotates; the
    /// others are set to its defaults, because a killed run may have left other values.
    pub fn set(devno: (u32, u32), rotates: bool) -> Result<Rotation, Error> {
        let queue = PathBuf::from(format!("/sys/dev/block/{}:{}/queue", devno.0, devno.1));
        let setting = |name, value| Setting::set(queue.join(name), "reading", value);
        let mut settings = Vec::new();
        if rotates {
            settings.push(setting("rotational", "1")?);
        }
        // A kernel can be built without them. The default of the last depends on the rotation.
        settings.extend(setting("scheduler", if rotates { "mq-deadline" } else { "none" }).ok());
        settings.extend(setting("wbt_lat_usec", "-1").ok());
        Ok(Rotation { _settings: settings })
    }
}
