//! Request logs: Parquet files, written atomically and sealed like traces (see [`parquet_file::seal`]).
//!
//! | column | type | content |
//! |---|---|---|
//! | `time_ns` | unsigned 64 | time of issue |
//! | `kind` | text | `read`, `write`, `flush` or `discard` |
//! | `address` | unsigned 64 | first byte, a multiple of 512 |
//! | `length` | unsigned 64 | bytes, a multiple of 512; 0 for a bare flush |
//! | `service_ns` | unsigned 64 | nanoseconds from issue to completion; 0 if unknown |
//! | `queue` | unsigned 32 | requests outstanding at its issue, including itself |
//! | `metadata`, `readahead` | boolean | the flags of the block layer |
//!
//! The file metadata has `senesce.log` (the version of the format), `senesce.model` (the device that served the requests),
//! `senesce.size_bytes`, `senesce.tool` and `senesce.requests` (the number of requests).

mod reader;
mod writer;

pub use reader::LogReader;
pub use writer::LogWriter;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::schema::types::TypePtr;
use parquet_file::schema::{column, schema, unsigned};
use serde::Serialize;
use std::sync::LazyLock;

/// The version of the format that this program writes, and the newest that it reads.
const VERSION: u32 = 1;

/// The origin of a log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LogInfo {
    /// The device model that served the requests, or the device that was traced.
    pub model: String,
    /// Size of the disk in bytes.
    pub size_bytes: u64,
    /// The program and version that wrote the log.
    pub tool: String,
}

/// Names of the request kinds, in the order of [`crate::RequestKind`].
const KINDS: [&str; 4] = ["read", "write", "flush", "discard"];

static SCHEMA: LazyLock<TypePtr> = LazyLock::new(|| {
    let one = |name, physical, logical| column(name, physical, logical, Repetition::REQUIRED);
    let number = |name, bits| unsigned(name, bits, Repetition::REQUIRED);
    let columns = vec![
        number("time_ns", 64),
        one("kind", Physical::BYTE_ARRAY, Some(LogicalType::String)),
        number("address", 64),
        number("length", 64),
        number("service_ns", 64),
        number("queue", 32),
        one("metadata", Physical::BOOLEAN, None),
        one("readahead", Physical::BOOLEAN, None),
    ];
    schema("senesce_requests", columns)
});
