//! How much written data may wait in memory for a disk. As a kernel comes it is a fifth of all memory, and waits for half a minute:
//! a short run hardly writes then, however slow the disk is.

use crate::error::{Error, IoContext};
use crate::setting::Setting;
use std::path::Path;

/// The limit of a file system's dirty pages, set; dropping it restores what was set before.
#[derive(Debug)]
pub struct DirtyLimit {
    _strict: Setting,
    _most: Setting,
}

impl DirtyLimit {
    /// Lets no more than about `bytes` be dirty of what is written back through `bdi`, a directory such as
    /// `/sys/class/bdi/7:0`: who writes more waits for the disk. Needs Linux 6.2.
    pub fn set(bdi: &Path, bytes: u64) -> Result<DirtyLimit, Error> {
        const DOING: &str = "limiting written data, which needs Linux 6.2, by";
        // Written as bytes, it is kept as a share of what all devices may have dirty, which alone can be restored exactly.
        let _most = Setting::keep(bdi.join("max_ratio_fine"), DOING)?;
        let most = bdi.join("max_bytes");
        std::fs::write(&most, bytes.to_string()).context("setting", &most)?;
        let _strict = Setting::set(bdi.join("strict_limit"), DOING, 1)?;
        Ok(DirtyLimit { _strict, _most })
    }
}
