//! Trace files: round trips, and atomic creation.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use proptest::prelude::*;
use senesce_trace::{DirId, FileId, Op, Source as _, TraceDigest, TraceInfo, TraceReader, TraceWriter};

use crate::support::{any_op, drain, each_kind, info, seal, write};

proptest! {
    #[test]
    fn operations_round_trip(ops in prop::collection::vec(any_op(), 0..99)) {
        let dir = testing::dir_in_memory();
        let path = dir.path().join("a.parquet");
        let written = write(&path, &ops);
        let reader = TraceReader::open(&path).unwrap();
        prop_assert_eq!(reader.summary(), &written);
        prop_assert_eq!(drain(reader).unwrap(), ops);
    }
}

#[test]
fn long_trace_is_streamed_with_remaining_count() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    let ops: Vec<Op> =
        (0..600_000).map(|n| Op::Delete { file: FileId(n * n), parent: DirId(n as u32 % 1000) }).collect();
    let mut writer = TraceWriter::create(&path, &info()).unwrap();
    for piece in ops.chunks(1000) {
        writer.write(piece).unwrap();
    }
    let summary = writer.finish().unwrap();
    assert_eq!(summary.operations, 600_000);
    let mut digest = TraceDigest::new();
    digest.update(&ops);
    assert_eq!(summary.sha256, digest.finish());

    let mut reader = TraceReader::open(&path).unwrap();
    let (mut batch, mut read) = (Vec::new(), Vec::new());
    while reader.remaining() != Some(0) {
        reader.next_batch(&mut batch).unwrap();
        read.append(&mut batch);
        assert_eq!(reader.remaining(), Some((ops.len() - read.len()) as u64));
    }
    assert!(read == ops);
    for _ in 0..2 {
        reader.next_batch(&mut batch).unwrap();
        assert!(batch.is_empty(), "reading past the end must return empty batches");
    }
    assert!(SerializedFileReader::new(File::open(&path).unwrap()).unwrap().num_row_groups() > 1);
}

#[test]
fn info_round_trips() {
    let dir = testing::dir_in_memory();
    for seed in [None, Some(0), Some(u64::MAX)] {
        let info = TraceInfo { seed, parameters: "{\"name\":\"Zoë\"}".into(), ..info() };
        let path = dir.path().join("a.parquet");
        TraceWriter::create(&path, &info).unwrap().finish().unwrap();
        assert_eq!(TraceReader::open(&path).unwrap().info(), &info);
    }
}

#[test]
fn unfinished_trace_leaves_no_file() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    let before = write(&path, &each_kind());
    let mut writer = TraceWriter::create(&path, &info()).unwrap();
    writer.write(&each_kind()).unwrap();
    drop(writer);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.parquet"]);
    assert_eq!(TraceReader::open(&path).unwrap().summary(), &before, "the old trace must be unchanged");
}

#[test]
fn trace_has_default_permissions() {
    let dir = testing::dir_in_memory();
    write(&dir.path().join("a.parquet"), &[]);
    fs::write(dir.path().join("b"), "").unwrap();
    let mode = |name| fs::metadata(dir.path().join(name)).unwrap().permissions();
    assert_eq!(mode("a.parquet"), mode("b"));
}

#[test]
fn error_names_impossible_path() {
    let path = Path::new("/nowhere/at/all/a.parquet");
    let error = TraceWriter::create(path, &info()).err().unwrap().to_string();
    assert!(error.starts_with("creating trace /nowhere/at/all/a.parquet: "), "{error}");
    let error = TraceReader::open(path).err().unwrap().to_string();
    assert!(error.starts_with("opening trace /nowhere/at/all/a.parquet: "), "{error}");
}

#[test]
fn invalid_rows_are_reported() {
    assert_eq!(refusal("delete", Some(1), Some(2), None), "");
    for (row, why) in [
        (("shred", Some(1), Some(2), None), "row 0: unknown operation \"shred\""),
        (("delete", None, Some(2), None), "row 0: delete has no file"),
        (("delete", Some(1), None, None), "row 0: delete has no dir"),
        (("delete", Some(1), Some(2), Some("auto")), "row 0: delete has an extra field"),
        (("create", Some(1), Some(2), Some("lead")), "row 0: create has no size"),
    ] {
        let refusal = refusal(row.0, row.1, row.2, row.3);
        assert!(refusal.ends_with(&format!("a.parquet as a senesce trace: {why}")), "{refusal}");
    }
}

#[test]
fn foreign_table_is_rejected() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    let schema = Arc::new(Type::group_type_builder("schema").build().unwrap());
    let out = File::create(&path).unwrap();
    SerializedFileWriter::new(out, schema, Arc::default()).unwrap().close().unwrap();
    let error = TraceReader::open(&path).err().unwrap().to_string();
    assert!(
        error.ends_with("it is truncated, damaged or from another program; create or fetch it again"),
        "{error}"
    );
}

#[test]
fn foreign_and_newer_files_are_rejected_in_one_line() {
    for (change, why) in [
        (("senesce.version", None), "it is a Parquet file of another program"),
        (("senesce.version", Some("2")), "its format 2 is newer than format 1, the newest"),
        (("senesce.version", Some("x")), "its senesce.version is \"x\", which is not a number"),
        (("senesce.tool", None), "its metadata has no senesce.tool"),
        (("senesce.seed", Some("-1")), "its senesce.seed is \"-1\", which is not a number"),
        (("senesce.operations", Some("2")), "it contains fewer operations than its header says"),
        (("senesce.sha256", Some("00")), "its digest does not match its operations"),
    ] {
        let refusal = refusal_with("delete", Some(1), Some(2), None, Some(change));
        assert!(refusal.contains(why), "{refusal}");
        assert!(!refusal.contains('\n'), "{refusal}");
    }
}

fn refusal(op: &str, file: Option<i64>, dir: Option<i32>, content: Option<&str>) -> String {
    refusal_with(op, file, dir, content, None)
}

/// The error for a handmade trace file of one row, with one change to the metadata; empty if the file is read.
fn refusal_with(
    op: &str,
    file: Option<i64>,
    dir: Option<i32>,
    content: Option<&str>,
    change: Option<(&str, Option<&str>)>,
) -> String {
    let folder = testing::dir_in_memory();
    let path = folder.path().join("a.parquet");
    write(&path, &[Op::Delete { file: FileId(1), parent: DirId(2) }]);
    let model = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let model = model.metadata().file_metadata();
    let mut pairs = model.key_value_metadata().unwrap().clone();
    if let Some((key, value)) = change {
        pairs.retain(|pair| pair.key != key);
        pairs.extend(value.map(|value| KeyValue::new(key.to_string(), value.to_string())));
    }

    let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
    let out = File::create(&path).unwrap();
    let schema = Arc::new(model.schema().clone());
    let mut out = SerializedFileWriter::new(out, schema, Arc::new(properties)).unwrap();
    out.write_all(&[0; 32]).unwrap();
    let mut group = out.next_row_group().unwrap();
    for name in ["op", "file", "dir", "size", "offset", "to_file", "to_dir", "content"] {
        let mut column = group.next_column().unwrap().unwrap();
        match name {
            "op" => column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(op)], None, None),
            "file" => column.typed::<Int64Type>().write_batch(&Vec::from_iter(file), level(&file), None),
            "dir" => column.typed::<Int32Type>().write_batch(&Vec::from_iter(dir), level(&dir), None),
            "to_dir" => column.typed::<Int32Type>().write_batch(&[], Some(&[0]), None),
            "content" => {
                let word = content.map(ByteArray::from);
                column.typed::<ByteArrayType>().write_batch(&Vec::from_iter(word), level(&content), None)
            }
            _ => column.typed::<Int64Type>().write_batch(&[], Some(&[0]), None),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    out.close().unwrap();
    seal(&path);
    TraceReader::open(&path).and_then(drain).err().map_or(String::new(), |error| error.to_string())
}

fn level<T>(value: &Option<T>) -> Option<&[i16]> {
    Some(if value.is_some() { &[1] } else { &[0] })
}
