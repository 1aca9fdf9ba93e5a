//! Requests of a block device: one type for the log of the kernel's block tracepoints and for the log of a modelled disk (DESIGN §5).

use serde::{Deserialize, Serialize};

/// Size of a sector, the unit of request addresses, in bytes.
pub const SECTOR_BYTES: u64 = 512;

/// The operation of a request.
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

/// One request, as issued to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Time of issue in nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// The operation.
    pub kind: RequestKind,
    /// Whether the file system marked it as metadata (the `M` flag of the block layer).
    pub metadata: bool,
    /// Whether it is a read-ahead of the kernel (the `A` flag).
    pub readahead: bool,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; 0 for a bare flush.
    pub sectors: u32,
    /// Number of requests outstanding when this one was issued, including itself; 1 if unknown.
    pub queue: u32,
    /// Nanoseconds from issue to completion; 0 if unknown.
    pub service_ns: u64,
}

impl Request {
    /// A read without other outstanding requests.
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

    /// The sector after the last one.
    pub fn end_sector(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}
