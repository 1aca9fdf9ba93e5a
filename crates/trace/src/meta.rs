//! The metadata of a trace file: the origin of its operations, in the key-value metadata at its end, and the
//! schema of its columns.

use std::sync::LazyLock;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::metadata::KeyValue;
use parquet::schema::types::TypePtr;

use parquet_file::metadata::{KeyValueMetadata, key_value};
use parquet_file::schema::{column, schema, unsigned};

/// The format version of written files, and the newest that can be read.
const VERSION: u32 = 1;

/// The origin of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceInfo {
    /// The program that created the trace, with its version: `senesce 0.1.0`.
    pub tool: String,
    /// The seed of all random choices, if any.
    pub seed: Option<u64>,
    /// The kind of source: `planned`, `git`, …
    pub source: String,
    /// The parameters of the source, as JSON.
    pub parameters: String,
    /// The block size that sizes were planned for, in bytes.
    pub block_size: u64,
}

/// Summary of a finished trace file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceSummary {
    /// Number of operations.
    pub operations: u64,
    /// The [`TraceDigest`](crate::TraceDigest) of the operations.
    pub sha256: String,
}

/// The metadata of a finished trace file.
pub(crate) fn to_pairs(info: &TraceInfo, summary: &TraceSummary) -> Vec<KeyValue> {
    let mut pairs = vec![
        ("version", VERSION.to_string()),
        ("tool", info.tool.clone()),
        ("source", info.source.clone()),
        ("parameters", info.parameters.clone()),
        ("block_size", info.block_size.to_string()),
        ("operations", summary.operations.to_string()),
        ("sha256", summary.sha256.clone()),
    ];
    pairs.extend(info.seed.map(|seed| ("seed", seed.to_string())));
    pairs.into_iter().map(|(key, value)| key_value(key, value)).collect()
}

/// Parses the metadata of a trace file; an error says why the file cannot be read.
pub(crate) fn from_pairs(pairs: &[KeyValue]) -> Result<(TraceInfo, TraceSummary), String> {
    let pairs = KeyValueMetadata(pairs);
    pairs.check_version("version", VERSION, "it is a Parquet file of another program")?;
    let info = TraceInfo {
        tool: pairs.required("tool")?,
        seed: pairs.text("seed").map(|_| pairs.number("seed")).transpose()?,
        source: pairs.required("source")?,
        parameters: pairs.required("parameters")?,
        block_size: pairs.number("block_size")?,
    };
    let summary = TraceSummary { operations: pairs.number("operations")?, sha256: pairs.required("sha256")? };
    Ok((info, summary))
}

/// The columns of a trace file; their order is that of [`Columns`](crate::columns::Columns).
pub(crate) static SCHEMA: LazyLock<TypePtr> = LazyLock::new(|| {
    let word = |name, repetition| column(name, Physical::BYTE_ARRAY, Some(LogicalType::String), repetition);
    let number = |name, bits| unsigned(name, bits, Repetition::OPTIONAL);
    let columns = vec![
        word("op", Repetition::REQUIRED),
        number("file", 64),
        number("dir", 32),
        number("size", 64),
        number("offset", 64),
        number("to_file", 64),
        number("to_dir", 32),
        word("content", Repetition::OPTIONAL),
    ];
    schema("senesce_trace", columns)
});
