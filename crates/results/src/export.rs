//! Exports all measurements of a store as one flat table for other programs: each row names the conditions of its measurement.

use crate::{Error, Measurement, Run, Store, measures};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::Serializer as _;
use serde_json::Value;
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

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Integer,
    Real,
    Text,
}
use Type::{Integer, Real, Text};

/// The columns, with their types. Seeds are text, because they may exceed the integers of other programs.
const COLUMNS: [(&str, Type); 28] = [
    ("run", Integer),
    ("kind", Text),
    ("name", Text),
    ("state", Text),
    ("started", Text),
    ("finished", Text),
    ("tool", Text),
    ("command", Text),
    ("cpu", Text),
    ("kernel", Text),
    ("figure", Text),
    ("scale", Text),
    ("fs", Text),
    ("fs_version", Text),
    ("setting", Text),
    ("mkfs_opts", Text),
    ("mount_opts", Text),
    ("size_bytes", Integer),
    ("workload", Text),
    ("disk", Text),
    ("seed", Text),
    ("round", Integer),
    ("memory_bytes", Integer),
    ("subject", Text),
    ("measure", Text),
    ("unit", Text),
    ("repetition", Integer),
    ("value", Real),
];

/// A row: a value for each column, null where there is none.
type Row = [Value; COLUMNS.len()];

/// Writes every measurement of every run together with its conditions. Returns the number of measurements.
pub fn export(store: &Store, format: Format, out: &mut (impl Write + Send)) -> Result<usize, Error> {
    let mut rows = Vec::new();
    for run in store.runs()? {
        let conditions = Conditions::load(store, &run)?;
        rows.extend(store.measurements(run.id)?.iter().map(|m| row(&run, &conditions, m)));
    }
    let written = match format {
        Format::Json => json(&rows, out),
        Format::Csv => csv(&rows, out),
        Format::Parquet => parquet(&rows, out).map_err(std::io::Error::other),
    };
    written.map_err(|source| Error::Io { action: "writing", path: "the export".into(), source })?;
    Ok(rows.len())
}

/// The JSON values that tell what a run was done under, the most specific first: its parameters, the manifest of its file system, and the last
/// segment of an aging by a profile.
struct Conditions {
    values: Vec<Value>,
    /// The disk model of a comparison.
    modelled_disk: Option<String>,
}

impl Conditions {
    fn load(store: &Store, run: &Run) -> Result<Conditions, Error> {
        let mut values = vec![run.parameters.clone()];
        if let Some(manifest) = store.document::<Value>(run.id, "", "manifest")? {
            let segments = manifest.pointer("/legs").and_then(Value::as_array);
            let segment = segments.and_then(|all| all.last()).cloned();
            values.push(manifest);
            values.extend(segment);
        }
        Ok(Conditions { values, modelled_disk: store.document(run.id, "", "modelled_disk")? })
    }

    /// The first of these paths that leads to a text, a number, or a list of them, which `separator` joins.
    fn find(&self, paths: &[&str], separator: &str) -> Value {
        let at = |path: &&str| self.values.iter().find_map(|value| plain(value.pointer(path)?, separator));
        paths.iter().find_map(at).unwrap_or_default()
    }

    fn first(&self, paths: &[&str]) -> Value {
        self.find(paths, " ")
    }

    /// The profile that the file system was aged to, or the kind of another workload.
    fn workload(&self) -> Value {
        const PATHS: [&str; 7] = [
            "/conditions/profile/name",
            "/personality/name",
            "/workload/profile/name",
            "/workload/kind",
            "/aged_by/workload/profile/name",
            "/aged_by/workload/kind",
            "/profile/profile",
        ];
        /// The parameter of an experiment that holds such a workload.
        const TASKS: [&str; 4] = ["laboratory", "laboratory_replay", "metadata", "verify"];
        match self.first(&PATHS) {
            Value::Null => TASKS
                .iter()
                .find(|task| self.values[0].get(task).is_some())
                .map_or(Value::Null, |task| task.replace('_', "-").into()),
            found => found,
        }
    }
}

/// The text of a string, number, or nonempty list of them; `None` for other values and for empty texts.
fn plain(value: &Value, separator: &str) -> Option<Value> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| value.clone()),
        Value::Number(_) => Some(value.clone()),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join(separator).into())
        }
        _ => None,
    }
}

/// The row of a measurement. The order is that of [`COLUMNS`].
fn row(run: &Run, conditions: &Conditions, m: &Measurement) -> Row {
    let text = |text: &str| Value::from(text);
    let (measure, model) = measures::split(&m.measure);
    let of_comparison =
        || measures::find(measure)?.by_disk.then_some(conditions.modelled_disk.as_deref()).flatten();
    let disk = match model.or_else(of_comparison) {
        Some(model) => model.into(),
        None => conditions.first(&["/disk/name", "/made/home/modelled/model"]),
    };
    let seed = run.seed.map_or_else(|| conditions.first(&["/conditions/seed", "/aged_by/seed"]), Value::from);
    [
        run.id.0.into(),
        text(&run.kind),
        text(&run.name),
        text(&run.state),
        text(&run.started),
        run.finished.clone().into(),
        text(&run.tool),
        text(&run.command),
        text(&run.machine.cpu),
        text(&run.machine.kernel),
        conditions.first(&["/figure"]),
        conditions.first(&["/scale"]),
        conditions.first(&["/fs", "/made/fs"]),
        conditions.first(&["/fs_version"]),
        conditions.first(&["/option/name"]),
        conditions.first(&["/option/mkfs_opts", "/made/mkfs_opts"]),
        conditions.find(&["/option/mount_opts", "/made/mount_opts"], ","),
        conditions.first(&["/size_bytes", "/made/size_bytes"]),
        conditions.workload(),
        disk,
        if seed.is_null() { seed } else { seed.to_string().into() },
        conditions.first(&["/round"]),
        conditions.first(&["/memory_bytes"]),
        text(&m.subject),
        text(measure),
        text(&m.unit),
        m.repetition.into(),
        m.value.into(),
    ]
}

fn json(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    let object = |row: &Row| -> serde_json::Map<String, Value> {
        COLUMNS.iter().zip(row).map(|((name, _), value)| ((*name).to_owned(), value.clone())).collect()
    };
    serde_json::Serializer::pretty(&mut *out).collect_seq(rows.iter().map(object))?;
    writeln!(out)
}

fn csv(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}", COLUMNS.map(|(name, _)| name).join(","))?;
    for row in rows {
        let fields: Vec<String> = row.iter().map(field).collect();
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}

/// A value as a field of a CSV file.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn parquet(rows: &[Row], out: &mut (impl Write + Send)) -> parquet::errors::Result<()> {
    let fields = COLUMNS.map(|(name, kind)| match kind {
        Integer => format!("optional int64 {name};"),
        Real => format!("optional double {name};"),
        Text => format!("optional binary {name} (UTF8);"),
    });
    let schema = format!("message measurement {{ {} }}", fields.concat());
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut file =
        SerializedFileWriter::new(out, Arc::new(parse_message_type(&schema)?), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (at, (_, kind)) in COLUMNS.iter().enumerate() {
        let values = rows.iter().map(|row| &row[at]);
        match kind {
            Integer => column::<Int64Type, _>(&mut group, values.map(Value::as_i64))?,
            Real => column::<DoubleType, _>(&mut group, values.map(Value::as_f64))?,
            Text => {
                let texts = values.map(|value| value.as_str().map(ByteArray::from));
                column::<ByteArrayType, _>(&mut group, texts)?;
            }
        }
    }
    group.close()?;
    file.close().map(drop)
}

/// Writes the next column of a row group.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> parquet::errors::Result<()> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewRun;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    /// A store with a checkpoint of an experiment and a comparison of an image with options.
    fn store(dir: &std::path::Path) -> Store {
        let store = Store::open(&dir.join("senesce.db")).unwrap();
        let checkpoint = json!({
            "figure": "fast17-fig5", "scale": "small", "fs": "ext4", "fs_version": "1.47", "size_bytes": 1024,
            "option": { "name": "no cache", "mkfs_opts": "", "mount_opts": "noatime", "workload": {} },
            "workload": { "kind": "git" }, "disks": [{ "name": "hdd-7200" }], "round": 40,
        });
        let manifest = json!({
            "made": {
                "home": { "image": "a.img" }, "fs": "xfs", "size_bytes": 2048,
                "mkfs_opts": ["-m", "rmapbt=0"], "mount_opts": ["noatime", "nodiratime"],
            },
            "fs_version": "6.1",
            "legs": [{ "conditions": { "profile": { "name": "agrawal" }, "seed": 1 } }],
        });
        for (kind, seed, parameters, measure) in [
            ("checkpoint", Some(u64::MAX), checkpoint, "modelled_s_per_gib on hdd-7200"),
            ("compare", None, json!({ "repeat": 1, "disk": null, "aged_run": 7 }), "modelled_s_per_gib"),
        ] {
            let new = NewRun { kind, name: "a, \"b\"", command: "senesce", seed, parameters };
            let run = store.begin(&new).unwrap();
            if kind == "compare" {
                store.record_document(run, "", "manifest", &manifest).unwrap();
                store.record_document(run, "", "modelled_disk", &"ssd-sata").unwrap();
            }
            let [subject, measure, unit] = ["aged", measure, "s/GiB"].map(str::to_owned);
            store.record(run, &Measurement { subject, measure, unit, repetition: 2, value: 1.5 }).unwrap();
            store.end(run, "done", None).unwrap();
        }
        store
    }

    fn exported(store: &Store, format: Format) -> Vec<u8> {
        let mut out = Vec::new();
        assert_eq!(export(store, format, &mut out).unwrap(), 2);
        out
    }

    #[test]
    fn each_row_names_its_conditions() {
        let dir = tempfile::tempdir().unwrap();
        let rows: Value = serde_json::from_slice(&exported(&store(dir.path()), Format::Json)).unwrap();
        let given = |row: &Value, from: &str, to: &str| -> Vec<Value> {
            let at = |column: &str| COLUMNS.iter().position(|(name, _)| *name == column).unwrap();
            COLUMNS[at(from)..=at(to)].iter().map(|(name, _)| row[name].clone()).collect()
        };
        let none = Value::Null;
        assert_eq!(
            json!(given(&rows[0], "figure", "value")),
            json!([
                "fast17-fig5",
                "small",
                "ext4",
                "1.47",
                "no cache",
                none,
                "noatime",
                1024,
                "git",
                "hdd-7200",
                u64::MAX.to_string(),
                40,
                none,
                "aged",
                "modelled_s_per_gib",
                "s/GiB",
                2,
                1.5
            ])
        );
        assert_eq!(
            json!(given(&rows[1], "figure", "value")),
            json!([
                none,
                none,
                "xfs",
                "6.1",
                none,
                "-m rmapbt=0",
                "noatime,nodiratime",
                2048,
                "agrawal",
                "ssd-sata",
                "1",
                none,
                none,
                "aged",
                "modelled_s_per_gib",
                "s/GiB",
                2,
                1.5
            ])
        );
    }

    #[test]
    fn csv_and_parquet_have_the_same_columns() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        let csv = String::from_utf8(exported(&store, Format::Csv)).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], COLUMNS.map(|(name, _)| name).join(","));
        assert!(lines[1].starts_with("1,checkpoint,\"a, \"\"b\"\"\",done,"), "{csv}");
        assert!(lines[2].ends_with(",,,aged,modelled_s_per_gib,s/GiB,2,1.5") && lines.len() == 3, "{csv}");

        let path = dir.path().join("all.parquet");
        std::fs::write(&path, exported(&store, Format::Parquet)).unwrap();
        let file = SerializedFileReader::try_from(path.as_path()).unwrap();
        let rows: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert!(rows[0].contains("size_bytes: 1024") && rows[0].contains("mkfs_opts: null"), "{}", rows[0]);
        assert!(rows[1].contains("round: null") && rows[1].contains("seed: \"1\""), "{}", rows[1]);
        let names = COLUMNS.map(|(name, _)| name);
        let schema = file.metadata().file_metadata().schema_descr();
        assert_eq!(schema.columns().iter().map(|column| column.name()).collect::<Vec<_>>(), names);
    }
}
