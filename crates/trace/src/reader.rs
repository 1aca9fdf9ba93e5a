//! Reads trace files. A truncated, damaged or foreign file, or one of a newer version, is rejected with a
//! one-line error, before it yields its first operation.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;

use crate::columns::RowReader;
use crate::meta::{SCHEMA, from_pairs};
use crate::row::Row;
use crate::{BATCH, Error, Op, Source, TraceDigest, TraceInfo, TraceSummary};
use parquet_file::seal;

/// A source that reads a trace file.
pub struct TraceReader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    info: TraceInfo,
    summary: TraceSummary,
    /// The row group being read and its remaining rows.
    group: Option<(RowReader, u64)>,
    next_group: usize,
    /// Operations given out so far.
    done: u64,
    digest: TraceDigest,
}

impl TraceReader {
    /// Opens the trace file at `path` and verifies the seal.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let failed = |action| {
            let path = path.clone();
            move |source| Error::Io { action, path, source }
        };
        let foreign = |why| Error::Foreign { path: path.clone(), why };
        let opened = input::open(&path).map_err(failed("opening"))?;
        if !seal::is_intact(&opened).map_err(failed("reading"))? {
            return Err(foreign(
                "it is truncated, damaged or from another program; create or fetch it again".into(),
            ));
        }
        let file = SerializedFileReader::new(opened).map_err(|e| parquet_error(&path, e))?;
        let metadata = file.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
        let (info, summary) = from_pairs(pairs).map_err(foreign)?;
        if *metadata.schema() != **SCHEMA {
            return Err(foreign("it does not have the columns of a trace".into()));
        }
        let rows = file.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let rows = rows.reduce(|a, b| a?.checked_add(b?)).unwrap_or(Some(0));
        if rows != Some(summary.operations) {
            return Err(foreign("it contains fewer operations than its header says; it is damaged".into()));
        }
        let digest = TraceDigest::new();
        Ok(Self { path, file, info, summary, group: None, next_group: 0, done: 0, digest })
    }

    /// The origin of the operations.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The number of operations and their digest.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// Adds the next rows of the current row group to the empty `batch`.
    fn fill(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        let (mut rows, left) = match self.group.take() {
            Some(group) => group,
            None => self.open_group().map_err(|e| parquet_error(&self.path, e))?,
        };
        let count = left.min(BATCH as u64);
        rows.fill(count as usize).map_err(|e| parquet_error(&self.path, e))?;
        for (row, number) in rows.rows().zip(self.done..) {
            let op = row.map_err(|e| e.to_string()).and_then(Row::to_op);
            batch.push(op.map_err(|why| self.foreign(format!("row {number}: {why}")))?);
        }
        self.group = (left > count).then_some((rows, left - count));
        Ok(())
    }

    fn open_group(&mut self) -> Result<(RowReader, u64), ParquetError> {
        let group = self.file.get_row_group(self.next_group)?;
        self.next_group += 1;
        Ok((RowReader::new(&*group)?, group.metadata().num_rows() as u64))
    }

    fn foreign(&self, why: String) -> Error {
        Error::Foreign { path: self.path.clone(), why }
    }
}

impl Source for TraceReader {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        batch.clear();
        while batch.is_empty() && (self.group.is_some() || self.next_group < self.file.num_row_groups()) {
            self.fill(batch)?;
        }
        self.digest.update(batch);
        self.done += batch.len() as u64;
        // Check before handing out the last operations: a caller that counts them may never ask for more.
        if self.done == self.summary.operations && self.digest.clone().finish() != self.summary.sha256 {
            return Err(self.foreign("its digest does not match its operations; it is damaged".into()));
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.summary.operations - self.done)
    }
}

/// Distinguishes a failing disk from an invalid file.
fn parquet_error(path: &Path, error: ParquetError) -> Error {
    let path = path.to_path_buf();
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            // The decompressor also reports I/O errors, but without an errno.
            Ok(source) if source.raw_os_error().is_some() => {
                Error::Io { action: "reading", path, source: *source }
            }
            Ok(inner) => damaged(path, inner),
            Err(inner) => damaged(path, inner),
        },
        other => damaged(path, other),
    }
}

fn damaged(path: PathBuf, error: impl std::fmt::Display) -> Error {
    Error::Foreign { path, why: format!("it is truncated, damaged or from another program ({error})") }
}
