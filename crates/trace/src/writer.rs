//! Writes trace files atomically: Parquet with zstd, a row group at a time.

use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use tempfile::NamedTempFile;

use crate::atomic_file;
use crate::columns::Columns;
use crate::meta::{SCHEMA, to_pairs};
use crate::row::Row;
use crate::{Error, Op, TraceDigest, TraceInfo, TraceSummary};
use parquet_file::column::io_error;
use parquet_file::seal;

/// Rows in a row group: enough to compress well, few enough to limit the buffers to some tens of megabytes.
const GROUP_ROWS: usize = 256 << 10;

/// Writes a trace file, which appears only when it is complete: dropping an unfinished one leaves nothing
/// behind.
pub struct TraceWriter {
    path: PathBuf,
    file: SerializedFileWriter<NamedTempFile>,
    columns: Columns,
    digest: TraceDigest,
    operations: u64,
    info: TraceInfo,
}

impl TraceWriter {
    /// Starts a trace file that will replace `path`.
    pub fn create(path: impl Into<PathBuf>, info: &TraceInfo) -> Result<Self, Error> {
        let path = path.into();
        let failed = atomic_file::failed("creating", &path);
        let temporary = atomic_file::begin(&path)?;
        let mut file = SerializedFileWriter::new(temporary, SCHEMA.clone(), Arc::new(properties()))
            .map_err(|e| failed(io_error(e)))?;
        file.write_all(&seal::PLACEHOLDER).map_err(failed)?;
        Ok(Self {
            path,
            file,
            columns: Columns::default(),
            digest: TraceDigest::new(),
            operations: 0,
            info: info.clone(),
        })
    }

    /// Appends `ops`.
    pub fn write(&mut self, ops: &[Op]) -> Result<(), Error> {
        self.digest.update(ops);
        self.operations += ops.len() as u64;
        for op in ops {
            self.columns.push(&Row::from(op));
            if self.columns.len() == GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// The digest of the operations written so far.
    pub(crate) fn sha256(&self) -> String {
        self.digest.clone().finish()
    }

    /// Writes the remaining rows, makes the file durable and renames it to its path.
    pub fn finish(mut self) -> Result<TraceSummary, Error> {
        if self.columns.len() > 0 {
            self.flush()?;
        }
        let summary = TraceSummary { operations: self.operations, sha256: self.digest.finish() };
        for pair in to_pairs(&self.info, &summary) {
            self.file.append_key_value_metadata(pair);
        }
        let finished = self.file.into_inner();
        let temporary = finished.map_err(|e| atomic_file::failed("finishing", &self.path)(io_error(e)))?;
        atomic_file::publish(temporary, &self.path)?;
        Ok(summary)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let written = self.file.next_row_group().and_then(|group| self.columns.write(group));
        written.map_err(|e| atomic_file::failed("writing", &self.path)(io_error(e)))
    }
}

fn properties() -> WriterProperties {
    // Files are mostly numbered in creation order, so differences are small although the numbers are not;
    // sizes and directories repeat, so they keep the default, a dictionary.
    let file = || ColumnPath::from("file");
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled(file(), false)
        .set_column_encoding(file(), Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build()
}
