//! Limits the dirty pages of a disk. By default the kernel allows a fifth of all memory to be dirty for 30 s, so a short run hardly writes
//! to the disk, however slow the disk is.

use crate::error::{Error, IoContext};
use crate::setting::Setting;
use std::path::Path;

/// A limit on the dirty pages of a file system. The previous setting is restored on drop.
#[derive(Debug)]
pub struct DirtyLimit {
    _strict: Setting,
    _most: Setting,
}

impl DirtyLimit {
    /// Limits the dirty pages that are written back through `bdi`, a directory such as `/sys/class/bdi/7:0`, to about `bytes`. Writers
    /// beyond the limit wait for the disk. Needs Linux 6.2.
    pub fn set(bdi: &Path, bytes: u64) -> Result<DirtyLimit, Error> {
        const DOING: &str = "limiting written data, which needs Linux 6.2, by";
        // The kernel stores the byte limit as a ratio of the global dirty limit, and only the ratio can be restored exactly.
        let _most = Setting::save(bdi.join("max_ratio_fine"), DOING)?;
        let most = bdi.join("max_bytes");
        std::fs::write(&most, bytes.to_string()).context("setting", &most)?;
        let _strict = Setting::set(bdi.join("strict_limit"), DOING, 1)?;
        Ok(DirtyLimit { _strict, _most })
    }
}
