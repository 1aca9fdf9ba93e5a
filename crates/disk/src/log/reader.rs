//! Reads request logs. A file that is truncated, damaged, from another program or of a newer version is refused with a one-line error
//! before any request is returned.

use super::{KINDS, LogInfo, SCHEMA, VERSION};
use crate::error::{Error, IoContext};
use crate::{Request, RequestKind, SECTOR_BYTES};
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader as _, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet_file::metadata::KeyValueMetadata;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The requests of a log, a row group at a time.
pub struct LogReader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    info: LogInfo,
    requests: u64,
    next_group: usize,
}

impl LogReader {
    /// Opens the log at `path` and checks that it is complete.
    pub fn open(path: &Path) -> Result<LogReader, Error> {
        let foreign = |why: String| Error::Log { path: path.to_owned(), why };
        let file = input::open(path).context("opening the request log", path)?;
        if !parquet_file::seal::is_intact(&file).context("reading the request log", path)? {
            return Err(foreign(
                "it is truncated, damaged or from another program; create or fetch it again".to_owned(),
            ));
        }
        let file = SerializedFileReader::new(file).map_err(|e| foreign(damaged(e)))?;
        let metadata = file.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
        let (info, requests) = from_pairs(pairs).map_err(foreign)?;
        if *metadata.schema() != **SCHEMA {
            return Err(foreign("it does not have the columns of a request log".to_owned()));
        }
        let rows: i64 = file.metadata().row_groups().iter().map(|group| group.num_rows()).sum();
        if u64::try_from(rows) != Ok(requests) {
            return Err(foreign("it contains fewer requests than its header says; it is damaged".to_owned()));
        }
        Ok(LogReader { path: path.to_owned(), file, info, requests, next_group: 0 })
    }

    /// The origin of the log.
    pub fn info(&self) -> &LogInfo {
        &self.info
    }

    /// The number of requests in the log.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The next requests; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Request>>, Error> {
        if self.next_group == self.file.num_row_groups() {
            return Ok(None);
        }
        let foreign = |why| Error::Log { path: self.path.clone(), why };
        let group = self.file.get_row_group(self.next_group).map_err(|e| foreign(damaged(e)))?;
        self.next_group += 1;
        read_columns(&*group).map(Some).map_err(foreign)
    }

    /// All remaining requests.
    pub fn read_all(mut self) -> Result<Vec<Request>, Error> {
        let mut requests = Vec::new();
        while let Some(mut batch) = self.next_batch()? {
            requests.append(&mut batch);
        }
        Ok(requests)
    }
}

/// Parses the metadata of a log, or returns why this program cannot read it.
fn from_pairs(pairs: &[KeyValue]) -> Result<(LogInfo, u64), String> {
    let pairs = KeyValueMetadata(pairs);
    pairs.check_version("log", VERSION, "it is not a request log")?;
    let size_bytes = pairs.number("size_bytes")?;
    let info = LogInfo { model: pairs.required("model")?, size_bytes, tool: pairs.required("tool")? };
    Ok((info, pairs.number("requests")?))
}

/// The requests of a row group.
fn read_columns(group: &dyn RowGroupReader) -> Result<Vec<Request>, String> {
    let times = read_column::<Int64Type>(group, 0)?;
    let kinds = read_column::<ByteArrayType>(group, 1)?;
    let addresses = read_column::<Int64Type>(group, 2)?;
    let lengths = read_column::<Int64Type>(group, 3)?;
    let services = read_column::<Int64Type>(group, 4)?;
    let queues = read_column::<Int32Type>(group, 5)?;
    let metadata = read_column::<BoolType>(group, 6)?;
    let readahead = read_column::<BoolType>(group, 7)?;
    let request = |row: usize| {
        let sectors = |what: &str, bytes: i64| match bytes as u64 {
            bytes if bytes.is_multiple_of(SECTOR_BYTES) => Ok(bytes / SECTOR_BYTES),
            bytes => Err(format!("row {row}: {what} {bytes} is not a multiple of {SECTOR_BYTES}")),
        };
        let length = sectors("length", lengths[row])?;
        Ok(Request {
            time_ns: times[row] as u64,
            kind: kind(kinds[row].data()).ok_or_else(|| format!("row {row}: unknown kind of request"))?,
            metadata: metadata[row],
            readahead: readahead[row],
            sector: sectors("address", addresses[row])?,
            sectors: length
                .try_into()
                .map_err(|_| format!("row {row}: a length of {length} sectors is too long"))?,
            queue: queues[row] as u32,
            service_ns: services[row] as u64,
        })
    };
    (0..times.len()).map(request).collect()
}

fn kind(name: &[u8]) -> Option<RequestKind> {
    let index = KINDS.iter().position(|kind| kind.as_bytes() == name)?;
    Some([RequestKind::Read, RequestKind::Write, RequestKind::Flush, RequestKind::Discard][index])
}

fn read_column<T: DataType>(group: &dyn RowGroupReader, index: usize) -> Result<Vec<T::T>, String> {
    let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| "its number of rows is negative")?;
    let description = group.metadata().column(index).column_descr_ptr();
    let pages = group.get_column_page_reader(index).map_err(damaged)?;
    let mut reader = get_typed_column_reader::<T>(get_column_reader(description, pages));
    let mut values = Vec::new();
    let (read, ..) = reader.read_records(rows, None, None, &mut values).map_err(damaged)?;
    if read < rows { Err("a column is truncated".to_owned()) } else { Ok(values) }
}

fn damaged(error: ParquetError) -> String {
    format!("it is truncated, damaged or from another program ({error})")
}
