//! Exports all measurements of a store as one flat table for other programs.

use crate::{Error, Measurement, Run, Store};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// The file format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, zstd.
    Parquet,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
    /// One JSON array of objects.
    Json,
}

/// The text columns; between `run` and the numeric ones.
const TEXT: [&str; 21] = [
    "kind",
    "name",
    "state",
    "started",
    "finished",
    "tool",
    "command",
    "cpu",
    "kernel",
    "seed",
    "figure",
    "scale",
    "fs",
    "setting",
    "mkfs_opts",
    "mount_opts",
    "disk",
    "round",
    "subject",
    "measure",
    "unit",
];

/// Writes every measurement of every run together with the data of the run. Returns the number of measurements.
pub fn export(store: &Store, format: Format, out: &mut (impl Write + Send)) -> Result<usize, Error> {
    let mut rows = Vec::new();
    for run in store.runs()? {
        for m in store.measurements(run.id)? {
            rows.push((run.clone(), m));
        }
    }
    let written = match format {
        Format::Json => json(&rows, out),
        Format::Csv => csv(&rows, out),
        Format::Parquet => parquet(&rows, out).map_err(std::io::Error::other),
    };
    written.map_err(|source| Error::Io { action: "writing", path: "the export".into(), source })?;
    Ok(rows.len())
}

type Row = (Run, Measurement);

/// The text columns of one number; a column that its run does not have is empty.
fn text((run, m): &Row) -> [String; 21] {
    let seed = run.seed.map(|s| s.to_string()).unwrap_or_default();
    let first = |pointers: &[&str]| {
        pointers.iter().find_map(|at| run.parameters.pointer(at).and_then(plain)).unwrap_or_default()
    };
    // Modelled numbers name their disk behind the measure.
    let (measure, disk) = crate::measures::split(&m.measure);
    let disk = disk.map_or_else(|| first(&["/disk/name", "/disk"]), str::to_owned);
    [
        run.kind.clone(),
        run.name.clone(),
        run.state.clone(),
        run.started.clone(),
        run.finished.clone().unwrap_or_default(),
        run.tool.clone(),
        run.command.clone(),
        run.machine.cpu.clone(),
        run.machine.kernel.clone(),
        seed,
        first(&["/figure", "/experiment/figure"]),
        first(&["/scale"]),
        first(&["/fs", "/made/fs"]),
        first(&["/option/name"]),
        first(&["/option/mkfs_opts", "/made/mkfs_opts"]),
        first(&["/option/mount_opts", "/made/mount_opts"]),
        disk,
        first(&["/round"]),
        m.subject.clone(),
        measure.to_owned(),
        m.unit.clone(),
    ]
}

/// The text of a string, a number or a list of them; nothing for other values.
fn plain(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        serde_json::Value::Array(values) => {
            values.iter().map(plain).collect::<Option<Vec<_>>>().map(|texts| texts.join(" "))
        }
        _ => None,
    }
}

fn json(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    let objects = rows.iter().map(|row| {
        let mut object: serde_json::Map<_, _> =
            TEXT.iter().zip(text(row)).map(|(name, value)| (name.to_string(), value.into())).collect();
        object.insert("run".to_owned(), row.0.id.0.into());
        object.insert("repetition".to_owned(), row.1.repetition.into());
        object.insert("value".to_owned(), row.1.value.into());
        object
    });
    serde_json::to_writer_pretty(&mut *out, &objects.collect::<Vec<_>>())?;
    writeln!(out)
}

fn csv(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "run,{},repetition,value", TEXT.join(","))?;
    for row in rows {
        let fields: Vec<String> = text(row).iter().map(|field| quoted(field)).collect();
        writeln!(out, "{},{},{},{}", row.0.id.0, fields.join(","), row.1.repetition, row.1.value)?;
    }
    Ok(())
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn parquet(rows: &[Row], out: &mut (impl Write + Send)) -> parquet::errors::Result<()> {
    let texts: String = TEXT.iter().map(|name| format!("required binary {name} (UTF8);")).collect();
    let schema = format!(
        "message measurement {{ required int64 run; {texts} required int64 repetition; required double value; }}"
    );
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut file =
        SerializedFileWriter::new(out, Arc::new(parse_message_type(&schema)?), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let number = |values: Vec<i64>, group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, _>| {
        let mut column = group.next_column()?.expect("the schema has this column");
        column.typed::<Int64Type>().write_batch(&values, None, None)?;
        column.close()
    };
    number(rows.iter().map(|r| r.0.id.0).collect(), &mut group)?;
    let texts: Vec<[String; 21]> = rows.iter().map(text).collect();
    for i in 0..TEXT.len() {
        let values: Vec<ByteArray> = texts.iter().map(|t| ByteArray::from(t[i].as_str())).collect();
        let mut column = group.next_column()?.expect("the schema has this column");
        column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        column.close()?;
    }
    number(rows.iter().map(|r| r.1.repetition as i64).collect(), &mut group)?;
    let mut column = group.next_column()?.expect("the schema has this column");
    let values: Vec<f64> = rows.iter().map(|r| r.1.value).collect();
    column.typed::<DoubleType>().write_batch(&values, None, None)?;
    column.close()?;
    group.close()?;
    file.close().map(drop)
}
