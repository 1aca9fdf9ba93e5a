//! The format of a snapshot file: its columns, and the key-value metadata at its end.

use crate::{Attribute, Info};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use parquet_file::metadata::{KeyValueMetadata, key_value};
use parquet_file::schema::{column, schema, unsigned};
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

/// The format version of written files, and the newest that can be read.
const VERSION: u32 = 1;

/// Rows in a row group: enough to compress well, few enough to limit the buffers to some tens of megabytes.
pub const GROUP_ROWS: usize = 256 << 10;

/// The metadata of a file with `entries` entries.
pub fn to_pairs(info: &Info, entries: usize) -> Vec<KeyValue> {
    let lacks: Vec<&str> = info.lacks.iter().map(|attribute| attribute.name()).collect();
    let mut pairs = vec![
        ("snapshot_version", VERSION.to_string()),
        ("tool", info.tool.clone()),
        ("fs", info.fs.clone()),
        ("block_bytes", info.block_bytes.to_string()),
        ("capacity_bytes", info.capacity_bytes.to_string()),
        ("used_bytes", info.used_bytes.to_string()),
        ("begun_ns", info.begun_ns.to_string()),
        ("ended_ns", info.ended_ns.to_string()),
        ("vanished", info.vanished.to_string()),
        ("unmapped", info.unmapped.to_string()),
        ("other_fs", info.other_fs.to_string()),
        ("lacks", lacks.join(",")),
        ("entries", entries.to_string()),
    ];
    pairs.extend(info.fs_id.clone().map(|id| ("fs_id", id)));
    pairs.extend(info.key_id.clone().map(|id| ("key_id", id)));
    pairs.into_iter().map(|(key, value)| key_value(key, value)).collect()
}

/// Parses the metadata, including the number of entries; an error is the end of a sentence about the file.
pub fn from_pairs(pairs: &[KeyValue]) -> Result<(Info, usize), String> {
    let pairs = KeyValueMetadata(pairs);
    pairs.check_version("snapshot_version", VERSION, "it is a Parquet file, but not a snapshot")?;
    let lacks = pairs.required("lacks")?;
    let lacks = lacks.split(',').filter(|name| !name.is_empty()).map(|name| {
        let attribute = Attribute::ALL.into_iter().find(|attribute| attribute.name() == name);
        attribute.ok_or_else(|| format!("unknown attribute {name:?} in its list of missing attributes"))
    });
    let info = Info {
        tool: pairs.required("tool")?,
        fs: pairs.required("fs")?,
        fs_id: pairs.text("fs_id"),
        block_bytes: pairs.number("block_bytes")?,
        capacity_bytes: pairs.number("capacity_bytes")?,
        used_bytes: pairs.number("used_bytes")?,
        begun_ns: time(pairs, "begun_ns")?,
        ended_ns: time(pairs, "ended_ns")?,
        vanished: pairs.number("vanished")?,
        unmapped: pairs.number("unmapped")?,
        other_fs: pairs.number("other_fs")?,
        lacks: lacks.collect::<Result<_, _>>()?,
        key_id: pairs.text("key_id"),
    };
    Ok((info, pairs.number("entries")? as usize))
}

fn time(pairs: KeyValueMetadata<'_>, key: &str) -> Result<i64, String> {
    let value = pairs.required(key)?;
    i64::from_str(&value).map_err(|_| format!("its senesce.{key} is {value:?}, which is not a time"))
}

/// The columns in their order.
pub static SCHEMA: LazyLock<TypePtr> = LazyLock::new(|| {
    let number = |name| unsigned(name, 64, Repetition::REQUIRED);
    let time = |name, repetition| {
        let logical = LogicalType::timestamp(true, TimeUnit::NANOS);
        column(name, Physical::INT64, Some(logical), repetition)
    };
    let group = |name, repetition, logical, fields| {
        let group = Type::group_type_builder(name)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_fields(fields)
            .build();
        Arc::new(group.expect("the groups are valid"))
    };
    let extent = vec![number("logical"), number("physical"), number("length")];
    let element = group("element", Repetition::REQUIRED, None, extent);
    let list = group("list", Repetition::REPEATED, None, vec![element]);
    let columns = vec![
        unsigned("parent", 32, Repetition::REQUIRED),
        // Names are bytes and may be invalid UTF-8.
        column("name", Physical::BYTE_ARRAY, None, Repetition::REQUIRED),
        column("kind", Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        number("inode"),
        unsigned("generation", 32, Repetition::OPTIONAL),
        unsigned("links", 32, Repetition::REQUIRED),
        number("size"),
        number("allocated"),
        time("changed", Repetition::REQUIRED),
        time("modified", Repetition::REQUIRED),
        time("born", Repetition::OPTIONAL),
        group("extents", Repetition::REQUIRED, Some(LogicalType::List), vec![list]),
    ];
    schema("senesce_snapshot", columns)
});

/// Writer properties. Neighbours in scan order are similar: they were often created together, and their names
/// share prefixes; so columns are delta-encoded. Sizes, kinds and counts repeat, so they keep the default, a
/// dictionary.
pub fn properties() -> WriterProperties {
    let differences = ["parent", "inode", "changed", "modified", "born", "extents.list.element.physical"];
    let builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_column_dictionary_enabled("generation".into(), false)
        .set_column_dictionary_enabled("name".into(), false)
        .set_column_encoding("name".into(), Encoding::DELTA_BYTE_ARRAY);
    let builder = differences.into_iter().fold(builder, |builder, name| {
        let column = || ColumnPath::new(name.split('.').map(str::to_owned).collect());
        builder
            .set_column_dictionary_enabled(column(), false)
            .set_column_encoding(column(), Encoding::DELTA_BINARY_PACKED)
    });
    builder.build()
}
