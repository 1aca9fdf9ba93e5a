//! Label files beside a trace: `FILE.labels`, Parquet, one row per file or directory; and, on request, the
//! contents in `FILE.blobs`. A trace with both can be replayed identically on any machine, without the
//! original data.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;
use tempfile::NamedTempFile;

use crate::atomic_file;
use crate::blobs::BlobPack;
use crate::labels::{BlobId, FileLabel, Labels, is_valid_name};
use crate::{DirId, Error, FileId};
use parquet_file::column::{Column, ColumnReader, io_error};
use parquet_file::metadata::KeyValueMetadata;
use parquet_file::schema::{column, schema, unsigned};
use parquet_file::seal;

/// The format version, the only one so far.
const VERSION: &str = "1";
/// Rows in a row group.
const GROUP_ROWS: usize = 64 << 10;

/// The path of the labels of the trace `trace`.
pub fn labels_path(trace: &Path) -> PathBuf {
    with_suffix(trace, ".labels")
}

/// The path of the contents of the trace `trace`.
pub fn blobs_path(trace: &Path) -> PathBuf {
    with_suffix(trace, ".blobs")
}

fn with_suffix(trace: &Path, ending: &str) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Writes the labels of a trace. The file appears only when it is complete.
pub struct LabelWriter {
    path: PathBuf,
    file: SerializedFileWriter<NamedTempFile>,
    kind: Column<ByteArrayType>,
    number: Column<Int64Type>,
    name: Column<ByteArrayType>,
    blob: Column<ByteArrayType>,
    rows: u64,
}

impl LabelWriter {
    /// Starts the labels of the trace at `trace`, which may not exist yet.
    pub fn create(trace: &Path) -> Result<Self, Error> {
        let path = labels_path(trace);
        let failed = atomic_file::failed("creating", &path);
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let mut file =
            SerializedFileWriter::new(atomic_file::begin(&path)?, SCHEMA.clone(), Arc::new(properties))
                .map_err(|e| failed(io_error(e)))?;
        file.write_all(&seal::PLACEHOLDER).map_err(failed)?;
        let (kind, number, name, blob) = Default::default();
        Ok(Self { path, file, kind, number, name, blob, rows: 0 })
    }

    /// Adds the name of a directory.
    pub fn dir(&mut self, dir: DirId, name: &[u8]) -> Result<(), Error> {
        self.push("dir", dir.0.into(), name, None)
    }

    /// Adds the label of a file.
    pub fn file(&mut self, file: FileId, label: &FileLabel) -> Result<(), Error> {
        self.push(if label.executable { "executable" } else { "file" }, file.0, &label.name, label.blob)
    }

    fn push(
        &mut self,
        kind: &'static str,
        number: u64,
        name: &[u8],
        blob: Option<BlobId>,
    ) -> Result<(), Error> {
        self.kind.push(Some(kind.into()));
        self.number.push(Some(number as i64));
        self.name.push(Some(name.to_vec().into()));
        self.blob.push(blob.map(|blob| blob.to_string().into_bytes().into()));
        self.rows += 1;
        if self.kind.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut write = || -> ParquetResult<()> {
            let mut group = self.file.next_row_group()?;
            self.kind.write(&mut group)?;
            self.number.write(&mut group)?;
            self.name.write(&mut group)?;
            self.blob.write(&mut group)?;
            group.close().map(|_| ())
        };
        write().map_err(|e| atomic_file::failed("writing", &self.path)(io_error(e)))
    }

    /// Writes the remaining labels, records the digest of the trace, and renames the file to its path.
    pub fn finish(mut self, trace_sha256: &str) -> Result<(), Error> {
        if !self.kind.is_empty() {
            self.flush()?;
        }
        let pairs = [
            ("senesce.labels_version", VERSION.to_owned()),
            ("senesce.labels", self.rows.to_string()),
            ("senesce.sha256", trace_sha256.to_owned()),
        ];
        for (key, value) in pairs {
            self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        let finished = self.file.into_inner();
        let temporary = finished.map_err(|e| atomic_file::failed("finishing", &self.path)(io_error(e)))?;
        atomic_file::publish(temporary, &self.path)
    }
}

/// The labels of a trace, and its contents if saved. All labels are held in memory.
pub struct SavedLabels {
    files: HashMap<FileId, FileLabel>,
    dirs: HashMap<DirId, Vec<u8>>,
    blobs: Option<BlobPack>,
}

impl SavedLabels {
    /// Loads the labels of the trace `trace` with the digest `trace_sha256`; `None` without labels.
    pub fn load(trace: &Path, trace_sha256: &str) -> Result<Option<Self>, Error> {
        let path = labels_path(trace);
        let file = match input::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(atomic_file::failed("opening", &path))?,
        };
        let foreign = |why: String| Error::Labels { path: path.clone(), why };
        let blank = "it is truncated, damaged or from another program; create or fetch it again";
        if !seal::is_intact(&file).map_err(atomic_file::failed("reading", &path))? {
            return Err(foreign(blank.into()));
        }
        let mut labels = Self { files: HashMap::new(), dirs: HashMap::new(), blobs: None };
        labels.read(file, trace_sha256).map_err(foreign)?;
        let blobs = blobs_path(trace);
        if blobs.try_exists().map_err(atomic_file::failed("opening", &blobs))? {
            labels.blobs = Some(BlobPack::open(&blobs)?);
        }
        Ok(Some(labels))
    }

    /// Whether the contents were saved too.
    pub fn has_contents(&self) -> bool {
        self.blobs.is_some()
    }

    fn read(&mut self, file: File, trace_sha256: &str) -> Result<(), String> {
        let text = |e: ParquetError| format!("it is damaged or from another program ({e})");
        let file = SerializedFileReader::new(file).map_err(text)?;
        let metadata = file.metadata().file_metadata();
        let pairs = KeyValueMetadata(metadata.key_value_metadata().map_or(&[][..], Vec::as_slice));
        match pairs.text("labels_version").as_deref() {
            Some(VERSION) if *metadata.schema() == **SCHEMA => {}
            Some(version) if version != VERSION => {
                return Err(format!("its format {version} is newer than format {VERSION}; update senesce"));
            }
            _ => return Err("it is a Parquet file of another program".into()),
        }
        if pairs.text("sha256").as_deref() != Some(trace_sha256) {
            return Err(
                "it belongs to another trace; move it next to that trace, or create both again".into()
            );
        }
        for group in 0..file.num_row_groups() {
            let group = file.get_row_group(group).map_err(text)?;
            let rows = group.metadata().num_rows() as usize;
            let read = || -> ParquetResult<_> {
                let mut kind = ColumnReader::<ByteArrayType>::new(&*group, 0)?;
                let mut number = ColumnReader::<Int64Type>::new(&*group, 1)?;
                let mut name = ColumnReader::<ByteArrayType>::new(&*group, 2)?;
                let mut blob = ColumnReader::<ByteArrayType>::new(&*group, 3)?;
                kind.fill(rows)?;
                number.fill(rows)?;
                name.fill(rows)?;
                blob.fill(rows)?;
                Ok((kind, number, name, blob))
            };
            let (kind, number, name, blob) = read().map_err(text)?;
            let rows = kind.iter().zip(number.iter()).zip(name.iter()).zip(blob.iter());
            for (((kind, number), name), blob) in rows {
                let (kind, name) = (kind.map_or(&b""[..], ByteArray::data), name.map(ByteArray::data));
                self.insert(kind, number.map(|n| *n as u64), name, blob.map(ByteArray::data))?;
            }
        }
        Ok(())
    }

    /// Inserts a row; an error says what is wrong with it.
    fn insert(
        &mut self,
        kind: &[u8],
        number: Option<u64>,
        name: Option<&[u8]>,
        blob: Option<&[u8]>,
    ) -> Result<(), String> {
        let number = number.ok_or("a label has no number")?;
        let name = name
            .filter(|name| is_valid_name(name))
            .ok_or_else(|| format!("number {number} has an invalid file name"))?;
        let name = name.to_vec();
        let blob = match blob {
            Some(digits) => {
                Some(BlobId::parse(digits).ok_or_else(|| format!("file {number} has an invalid blob name"))?)
            }
            None => None,
        };
        match (kind, u32::try_from(number)) {
            (b"dir", Ok(dir)) => drop(self.dirs.insert(DirId(dir), name)),
            (b"file" | b"executable", _) => {
                let label = FileLabel { name, executable: kind == b"executable", blob };
                self.files.insert(FileId(number), label);
            }
            _ => return Err(format!("number {number} is neither a file nor a directory")),
        }
        Ok(())
    }
}

impl Labels for SavedLabels {
    fn file(&self, file: FileId) -> Option<FileLabel> {
        self.files.get(&file).cloned()
    }

    fn dir(&self, dir: DirId) -> Option<Vec<u8>> {
        self.dirs.get(&dir).cloned()
    }

    fn contents(&self, blob: BlobId) -> io::Result<Option<Vec<u8>>> {
        self.blobs.as_ref().map_or(Ok(None), |blobs| blobs.read(blob))
    }
}

static SCHEMA: LazyLock<TypePtr> = LazyLock::new(|| {
    let text = Some(LogicalType::String);
    let columns = vec![
        column("kind", Physical::BYTE_ARRAY, text.clone(), Repetition::REQUIRED),
        unsigned("number", 64, Repetition::REQUIRED),
        // Names are bytes and may be invalid UTF-8.
        column("name", Physical::BYTE_ARRAY, None, Repetition::REQUIRED),
        column("blob", Physical::BYTE_ARRAY, text, Repetition::OPTIONAL),
    ];
    schema("senesce_labels", columns)
});
