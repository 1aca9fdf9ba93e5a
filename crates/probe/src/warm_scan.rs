//! Scans with a warm cache and little memory: what reading a tree again costs when it does not fit (Conway et al.
//! 2017, Figure 7).

use crate::scan::scan_limited;
use crate::{Census, Error, Result, Scan};
use disk::{DeviceCounters, MemoryLimit};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The scans within one limit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WarmScans {
    /// The limit on the memory of the reader, its page cache included.
    pub memory_bytes: u64,
    /// The first scan, from a cold cache: it fills what may be filled.
    pub cold: LimitedScan,
    /// The scans after it.
    pub warm: Vec<LimitedScan>,
}

/// One scan within a limit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LimitedScan {
    /// What it cost.
    #[serde(flatten)]
    pub scan: Scan,
    /// Bytes that the device was asked for meanwhile: what the cache did not have. None without a device.
    pub device_read_bytes: Option<u64>,
}

/// Reads the tree below `root` with `grep` within `limit`, once and `repeat` times more. The cache belongs to the
/// group that read it first, so the caller makes the tree cold before; `device` is the number of the disk below.
/// `seen` is told the number of scans done.
pub fn warm_scans(
    root: &Path,
    census: &Census,
    limit: &MemoryLimit,
    device: Option<(u32, u32)>,
    repeat: u64,
    seen: &mut dyn FnMut(u64),
) -> Result<WarmScans> {
    let mut done = 0;
    let mut one = || -> Result<LimitedScan> {
        if disk::interrupted() {
            let what = format!("scanning {} again and again", root.display());
            return Err(Error::cannot(what, format!("interrupted after {done} scans")));
        }
        let before = device.map(DeviceCounters::read).transpose()?;
        let scan = scan_limited(root, census, limit)?;
        let after = device.map(DeviceCounters::read).transpose()?;
        done += 1;
        seen(done);
        let read = after.zip(before).map(|(after, before)| after.since(before).read_bytes);
        Ok(LimitedScan { scan, device_read_bytes: read })
    };
    let cold = one()?;
    let warm = (0..repeat).map(|_| one()).collect::<Result<_>>()?;
    Ok(WarmScans { memory_bytes: limit.limit_bytes(), cold, warm })
}
