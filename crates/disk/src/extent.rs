//! A contiguous range of bytes on a disk.

use serde::{Deserialize, Serialize};

/// A contiguous range of bytes on a disk, allocated or free.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Extent {
    /// First byte, counted from the start of the device.
    pub start_bytes: u64,
    /// Length in bytes, more than 0.
    pub len_bytes: u64,
}

impl Extent {
    /// The offset after the last byte.
    pub fn end_bytes(&self) -> u64 {
        self.start_bytes + self.len_bytes
    }
}
