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
use parquet::schema::types::{Type, TypePtr};
use serde::Serialize;
use std::sync::{Arc, LazyLock};

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
    let column = |name, physical, logical: Option<LogicalType>| {
        let column = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::REQUIRED)
            .build();
        Arc::new(column.expect("the column types are valid"))
    };
    let unsigned_64 = |name| column(name, Physical::INT64, Some(LogicalType::integer(64, false)));
    let schema = Type::group_type_builder("senesce_requests").with_fields(vec![
        unsigned_64("time_ns"),
        column("kind", Physical::BYTE_ARRAY, Some(LogicalType::String)),
        unsigned_64("address"),
        unsigned_64("length"),
        unsigned_64("service_ns"),
        column("queue", Physical::INT32, Some(LogicalType::integer(32, false))),
        column("metadata", Physical::BOOLEAN, None),
        column("readahead", Physical::BOOLEAN, None),
    ]);
    Arc::new(schema.build().expect("the schema is valid"))
});
