//! The log of the requests that a disk was sent: one type, whether the kernel's block tracepoints or a
//! modelled disk wrote it (DESIGN §5).

use serde::{Deserialize, Serialize};

/// Size of a sector, the unit of request addresses, in bytes.
pub const SECTOR_BYTES: u64 = 512;

/// What a request asks of the disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum RequestKind {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Flush the disk's cache.
    Flush,
    /// Discard or zero a range.
    Discard,
}

/// One request, as it was issued to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Time of issue in nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// What it asks.
    pub kind: RequestKind,
    /// Whether the file system marked it as metadata (the `M` flag of the block layer).
    pub metadata: bool,
    /// Whether the kernel read it ahead of a demand (the `A` flag).
    pub readahead: bool,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; 0 for a bare flush.
    pub sectors: u32,
    /// Requests that were outstanding when this one was issued, itself included; 1 where the log does not tell.
    pub queue: u32,
    /// Nanoseconds from its issue until it was done; 0 where the log does not tell.
    pub service_ns: u64,
}

impl Request {
    /// A read that nothing else is outstanding with.
    pub fn read(sector: u64, sectors: u32) -> Request {
        Request {
            time_ns: 0,
            kind: RequestKind::Read,
            metadata: false,
            readahead: false,
            sector,
            sectors,
            queue: 1,
            service_ns: 0,
        }
    }

    /// The sector behind the last one.
    pub fn end_sector(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}
