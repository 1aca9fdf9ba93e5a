//! Writes request logs, one row group at a time.

use super::{KINDS, LogInfo, SCHEMA, VERSION};
use crate::error::{Error, IoContext};
use crate::{Request, SECTOR_BYTES};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;
use parquet_file::metadata::key_value;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Requests in a row group: enough to compress well, few enough to fit in memory.
const GROUP_ROWS: usize = 128 << 10;

/// Writes a request log. The file gets its name when it is complete; a writer that is dropped leaves no file.
pub struct LogWriter {
    path: PathBuf,
    file: SerializedFileWriter<NamedTempFile>,
    group: Vec<Request>,
    requests: u64,
}

impl LogWriter {
    /// Starts a log. [`Self::finish`] creates or replaces the file at `path`.
    pub fn create(path: &Path, info: &LogInfo) -> Result<LogWriter, Error> {
        let temporary = parquet_file::seal::begin(path).context("creating the request log", path)?;
        let mut file = SerializedFileWriter::new(temporary, SCHEMA.clone(), Arc::new(properties()))
            .map_err(io_error)
            .context("creating the request log", path)?;
        file.write_all(&parquet_file::seal::PLACEHOLDER).context("writing the request log", path)?;
        for (key, value) in [
            ("log", VERSION.to_string()),
            ("model", info.model.clone()),
            ("size_bytes", info.size_bytes.to_string()),
            ("tool", info.tool.clone()),
        ] {
            file.append_key_value_metadata(key_value(key, value));
        }
        Ok(LogWriter { path: path.to_owned(), file, group: Vec::new(), requests: 0 })
    }

    /// Appends requests.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), Error> {
        for request in requests {
            self.group.push(*request);
            if self.group.len() == GROUP_ROWS {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Writes the remaining requests, syncs the file and gives it its name. Returns the number of requests in the log.
    pub fn finish(mut self) -> Result<u64, Error> {
        if !self.group.is_empty() {
            self.write_group()?;
        }
        let requests = self.requests.to_string();
        self.file.append_key_value_metadata(key_value("requests", requests));
        let path = self.path;
        let temporary =
            self.file.into_inner().map_err(io_error).context("finishing the request log", &path)?;
        parquet_file::seal::finish(temporary, &path).context("finishing the request log", &path)?;
        Ok(self.requests)
    }

    fn write_group(&mut self) -> Result<(), Error> {
        let written = self.file.next_row_group().and_then(|group| write_columns(group, &self.group));
        written.map_err(io_error).context("writing the request log", &self.path)?;
        self.requests += self.group.len() as u64;
        self.group.clear();
        Ok(())
    }
}

fn write_columns<W: io::Write + Send>(
    mut group: SerializedRowGroupWriter<'_, W>,
    requests: &[Request],
) -> Result<(), ParquetError> {
    // Parquet stores unsigned integers as signed ones with the same bits.
    write_column::<Int64Type, _>(&mut group, requests, |r| r.time_ns as i64)?;
    write_column::<ByteArrayType, _>(&mut group, requests, |r| ByteArray::from(KINDS[r.kind as usize]))?;
    write_column::<Int64Type, _>(&mut group, requests, |r| (r.sector * SECTOR_BYTES) as i64)?;
    write_column::<Int64Type, _>(&mut group, requests, |r| (u64::from(r.sectors) * SECTOR_BYTES) as i64)?;
    write_column::<Int64Type, _>(&mut group, requests, |r| r.service_ns as i64)?;
    write_column::<Int32Type, _>(&mut group, requests, |r| r.queue as i32)?;
    write_column::<BoolType, _>(&mut group, requests, |r| r.metadata)?;
    write_column::<BoolType, _>(&mut group, requests, |r| r.readahead)?;
    group.close().map(|_| ())
}

fn write_column<T: DataType, W: io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    requests: &[Request],
    value: impl Fn(&Request) -> T::T,
) -> Result<(), ParquetError> {
    let values: Vec<_> = requests.iter().map(value).collect();
    let mut column = group.next_column()?.expect("the schema has every column that is written");
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

fn properties() -> WriterProperties {
    // Times and addresses mostly increase, so their differences are small.
    let mut properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    for column in ["time_ns", "address", "service_ns"] {
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::from(column), false)
            .set_column_encoding(ColumnPath::from(column), Encoding::DELTA_BINARY_PACKED);
    }
    properties.set_offset_index_disabled(true).build()
}

/// The underlying I/O error, if there is one.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => {
            inner.downcast::<io::Error>().map_or_else(io::Error::other, |inner| *inner)
        }
        other => io::Error::other(other),
    }
}
