//! Saves every latency to a file (Parquet, zstd). Each rank writes its own part in row groups, so that memory does not grow with the run; at
//! the end rank 0 joins the parts without decoding them.

use super::error::Error;
use super::latency::Op;
use super::settings::Phase;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Operations per row group: a few megabytes of memory.
const GROUP_ROWS: usize = 1 << 16;

const SCHEMA: &str = "message latencies {
    REQUIRED INT32 rank;
    REQUIRED BYTE_ARRAY phase (STRING);
    REQUIRED INT32 iteration;
    REQUIRED DOUBLE waiting;
    REQUIRED BYTE_ARRAY operation (STRING);
    REQUIRED INT64 start_ns;
    REQUIRED INT64 latency_ns;
}";

struct Row {
    phase: Phase,
    iteration: u32,
    waiting: f64,
    op: Op,
    start_ns: u64,
    latency_ns: u64,
}

/// The part of one rank.
pub struct Samples {
    rank: u32,
    path: PathBuf,
    file: SerializedFileWriter<File>,
    now: (Phase, u32, f64),
    group: Vec<Row>,
    failed: Option<ParquetError>,
}

/// The path of a rank's part during the run.
fn part(whole: &Path, rank: u32) -> PathBuf {
    let mut name = whole.as_os_str().to_owned();
    name.push(format!(".rank-{rank}"));
    name.into()
}

fn fail(action: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |error| Error::Io { action, path: path.to_owned(), source: std::io::Error::other(error) }
}

fn writer(path: &Path) -> Result<SerializedFileWriter<File>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("the schema is valid"));
    // Favours speed over size: the rank waits for the write between two operations.
    let level = ZstdLevel::try_new(1).expect("zstd has level 1");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None);
    // No dictionary: times hardly ever repeat.
    for name in ["start_ns", "latency_ns"] {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    let properties = properties.build();
    SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))
}

impl Samples {
    /// Creates the part of a rank of the file `whole`.
    pub fn create(whole: &Path, rank: u32) -> Result<Samples, Error> {
        let path = part(whole, rank);
        let file = writer(&path).map_err(fail("making", &path))?;
        let now = (Phase::Precreate, 0, 0.0);
        Ok(Samples { rank, path, file, now, group: Vec::with_capacity(GROUP_ROWS), failed: None })
    }

    /// Sets the phase of the next records.
    pub fn begin(&mut self, phase: Phase, iteration: u32, waiting: f64) {
        self.now = (phase, iteration, waiting);
    }

    /// Adds an operation that started `start_ns` after the start of the phase.
    #[inline]
    pub fn record(&mut self, op: Op, start_ns: u64, latency_ns: u64) {
        let (phase, iteration, waiting) = self.now;
        self.group.push(Row { phase, iteration, waiting, op, start_ns, latency_ns });
        if self.group.len() == GROUP_ROWS {
            self.flush();
        }
    }

    /// The error that prevented a write, if any.
    pub fn failed(&self) -> Option<String> {
        let error = self.failed.as_ref()?;
        Some(format!("writing {}: {error}", self.path.display()))
    }

    /// Writes the remaining records; the part can be read from then on.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush();
        let path = self.path;
        let closed = self.failed.map_or_else(|| self.file.close().map(drop), Err);
        closed.map_err(fail("writing", &path))
    }

    #[cold]
    fn flush(&mut self) {
        if self.failed.is_none() && !self.group.is_empty() {
            self.failed = self.write().err();
        }
        self.group.clear();
    }

    fn write(&mut self) -> Result<(), ParquetError> {
        let rows = &self.group;
        let phases = [Phase::Precreate, Phase::Benchmark, Phase::Cleanup].map(|p| ByteArray::from(p.name()));
        let ops = Op::ALL.map(|op| ByteArray::from(op.name()));
        let mut group = self.file.next_row_group()?;
        column::<Int32Type>(&mut group, rows.iter().map(|_| self.rank as i32))?;
        column::<ByteArrayType>(&mut group, rows.iter().map(|row| phases[row.phase as usize].clone()))?;
        column::<Int32Type>(&mut group, rows.iter().map(|row| row.iteration as i32))?;
        column::<DoubleType>(&mut group, rows.iter().map(|row| row.waiting))?;
        column::<ByteArrayType>(&mut group, rows.iter().map(|row| ops[row.op as usize].clone()))?;
        column::<Int64Type>(&mut group, rows.iter().map(|row| row.start_ns as i64))?;
        column::<Int64Type>(&mut group, rows.iter().map(|row| row.latency_ns as i64))?;
        group.close().map(drop)
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    column.close()
}

/// Joins the parts of all ranks, and removes them.
pub fn join(whole: &Path, ranks: u32) -> Result<(), Error> {
    let write = || -> Result<(), ParquetError> {
        let mut writer = writer(whole)?;
        for rank in 0..ranks {
            append(&mut writer, &part(whole, rank))?;
        }
        writer.close().map(drop)
    };
    write().map_err(fail("writing", whole))?;
    for rank in 0..ranks {
        let path = part(whole, rank);
        std::fs::remove_file(&path).map_err(|source| Error::Io { action: "removing", path, source })?;
    }
    Ok(())
}

fn append(writer: &mut SerializedFileWriter<File>, part: &Path) -> Result<(), ParquetError> {
    let part = File::open(part)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&part)?;
    for group in metadata.row_groups() {
        let mut to = writer.next_row_group()?;
        for column in group.columns() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            to.append_column(&part, close)?;
        }
        to.close()?;
    }
    Ok(())
}
