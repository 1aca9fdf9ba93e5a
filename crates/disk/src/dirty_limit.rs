//! Limits the dirty pages of a disk or a machine. By default the kernel allows a fifth of all memory to be dirty for 30 s, so a short run hardly writes
//! to the disk, however slow the disk is.

use crate::error::{Error, IoContext};
use crate::setting::Setting;
use std::path::Path;

/// The kernel's settings of memory.
const VM_SETTINGS: &str = "/proc/sys/vm";

/// A limit on dirty pages. The previous settings are restored on drop, in this order.
#[derive(Debug)]
pub struct DirtyLimit {
    _settings: Vec<Setting>,
}

impl DirtyLimit {
    /// Limits the dirty pages that are written back through `bdi`, a directory such as `/sys/class/bdi/7:0`, to about `bytes`. Writers
    /// beyond the limit wait for the disk. Needs Linux 6.2.
    pub fn set(bdi: &Path, bytes: u64) -> Result<DirtyLimit, Error> {
        const DOING: &str = "limiting written data, which needs Linux 6.2, by";
        // The kernel stores the byte limit as a ratio of the global dirty limit, and only the ratio can be restored exactly.
        let saved = Setting::save(bdi.join("max_ratio_fine"), DOING)?;
        let most = bdi.join("max_bytes");
        std::fs::write(&most, bytes.to_string()).context("setting", &most)?;
        let strict = Setting::set(bdi.join("strict_limit"), DOING, 1)?;
        Ok(DirtyLimit { _settings: vec![strict, saved] })
    }

    /// Limits the dirty pages of this machine, which nothing else uses, to about `bytes`. Writers beyond the limit wait for their disks.
    pub fn of_machine(bytes: u64) -> Result<DirtyLimit, Error> {
        const DOING: &str = "limiting written data by";
        // The kernel has either a ratio or bytes; setting one clears the other.
        let saved = Setting::save(Path::new(VM_SETTINGS).join("dirty_ratio"), DOING)?;
        let most = Path::new(VM_SETTINGS).join("dirty_bytes");
        std::fs::write(&most, bytes.to_string()).context("setting", &most)?;
        Ok(DirtyLimit { _settings: vec![saved] })
    }
}
