//! What a trace file says about itself: where its operations came from, in the key-value metadata at its end,
//! and the columns that hold them.

use std::sync::{Arc, LazyLock};

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::metadata::KeyValue;
use parquet::schema::types::{Type, TypePtr};

/// The version of the format that this program writes, and the newest that it reads.
const VERSION: u32 = 1;

/// Where the operations of a trace come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceInfo {
    /// The program that made the trace, with its version: `senesce 0.1.0`.
    pub tool: String,
    /// The seed of everything random in it, where anything was.
    pub seed: Option<u64>,
    /// The kind of source: `planned`, `git`, …
    pub source: String,
    /// The parameters of the source, as JSON.
    pub parameters: String,
    /// The block size that sizes were planned for, in bytes.
    pub block_size: u64,
}

/// What a finished trace file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceSummary {
    /// How many operations.
    pub operations: u64,
    /// Their [`TraceDigest`](crate::TraceDigest).
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
    pairs.into_iter().map(|(key, value)| KeyValue::new(format!("senesce.{key}"), value)).collect()
}

/// Reads the metadata of a trace file, or says why it is not one that this program can read.
pub(crate) fn from_pairs(pairs: &[KeyValue]) -> Result<(TraceInfo, TraceSummary), String> {
    let text = |key: &str| {
        let of_key = |pair: &&KeyValue| pair.key.strip_prefix("senesce.") == Some(key);
        pairs.iter().find(of_key).and_then(|pair| pair.value.clone())
    };
    let needed = |key| text(key).ok_or_else(|| format!("its metadata have no senesce.{key}"));
    let number = |key, value: String| {
        value.parse::<u64>().map_err(|_| format!("its senesce.{key} is {value:?} and not a number"))
    };
    let version = text("version").ok_or("it is a Parquet file of another program")?;
    if number("version", version.clone())? > VERSION.into() {
        return Err(format!(
            "its format {version} is newer than format {VERSION}, the newest this program knows; update senesce"
        ));
    }
    let info = TraceInfo {
        tool: needed("tool")?,
        seed: text("seed").map(|seed| number("seed", seed)).transpose()?,
        source: needed("source")?,
        parameters: needed("parameters")?,
        block_size: number("block_size", needed("block_size")?)?,
    };
    let summary =
        TraceSummary { operations: number("operations", needed("operations")?)?, sha256: needed("sha256")? };
    Ok((info, summary))
}

/// The columns of a trace file; their order is that of [`Columns`](crate::columns::Columns).
pub(crate) static SCHEMA: LazyLock<TypePtr> = LazyLock::new(|| {
    let column = |name, physical, logical, repetition| {
        let column = Type::primitive_type_builder(name, physical)
            .with_logical_type(Some(logical))
            .with_repetition(repetition)
            .build();
        Arc::new(column.expect("the column types are valid"))
    };
    let word = |name, repetition| column(name, Physical::BYTE_ARRAY, LogicalType::String, repetition);
    let unsigned = |name, physical, bit_width| {
        let logical = LogicalType::integer(bit_width, false);
        column(name, physical, logical, Repetition::OPTIONAL)
    };
    let schema = Type::group_type_builder("senesce_trace").with_fields(vec![
        word("op", Repetition::REQUIRED),
        unsigned("file", Physical::INT64, 64),
        unsigned("dir", Physical::INT32, 32),
        unsigned("size", Physical::INT64, 64),
        unsigned("offset", Physical::INT64, 64),
        unsigned("to_file", Physical::INT64, 64),
        unsigned("to_dir", Physical::INT32, 32),
        word("content", Repetition::OPTIONAL),
    ]);
    Arc::new(schema.build().expect("the schema is valid"))
});
