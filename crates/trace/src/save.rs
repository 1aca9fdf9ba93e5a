//! Saves a trace with its labels.

use std::path::Path;

use crate::blobs::BlobPackWriter;
use crate::labels::{FileLabel, Labels};
use crate::saved_labels::{LabelWriter, blobs_path};
use crate::{BATCH, Error, FileId, Op, Source, TraceInfo, TraceSummary, TraceWriter, atomic_file};

/// Writes all operations of `source` to the trace `path`, with the labels of all created files and
/// directories beside it, and, on request, the known contents. `watch` receives each batch and can abort with
/// an error. The trace is renamed to its path last, so an existing trace is complete.
pub fn save_labelled(
    source: &mut dyn Source,
    labels: &dyn Labels,
    with_contents: bool,
    path: &Path,
    info: &TraceInfo,
    watch: &mut dyn FnMut(&[Op]) -> Result<(), Error>,
) -> Result<TraceSummary, Error> {
    let mut writer = Writer {
        labels,
        rows: LabelWriter::create(path)?,
        blobs: if with_contents { Some(BlobPackWriter::create(blobs_path(path))?) } else { None },
        path,
    };
    let mut trace = TraceWriter::create(path, info)?;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        batch.iter().try_for_each(|op| writer.add(op))?;
        trace.write(&batch)?;
        watch(&batch)?;
    }
    // Remove the contents of an earlier trace of that name.
    match writer.blobs {
        Some(blobs) => blobs.finish()?,
        None => match std::fs::remove_file(blobs_path(path)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(atomic_file::failed("replacing", &blobs_path(path))(error));
            }
            _ => {}
        },
    }
    writer.rows.finish(&trace.sha256())?;
    trace.finish()
}

struct Writer<'w> {
    labels: &'w dyn Labels,
    rows: LabelWriter,
    blobs: Option<BlobPackWriter>,
    path: &'w Path,
}

impl Writer<'_> {
    /// Saves the label of the file or directory that `op` creates.
    fn add(&mut self, op: &Op) -> Result<(), Error> {
        match *op {
            Op::Mkdir { dir, .. } => match self.labels.dir(dir) {
                Some(name) => self.rows.dir(dir, &name),
                None => Ok(()),
            },
            Op::Create { file, .. } => self.file(file),
            Op::Rename { to_file, .. } | Op::Link { to_file, .. } | Op::Clone { to_file, .. } => {
                self.file(to_file)
            }
            _ => Ok(()),
        }
    }

    fn file(&mut self, file: FileId) -> Result<(), Error> {
        let Some(label) = self.labels.file(file) else { return Ok(()) };
        self.rows.file(file, &label)?;
        self.contents(&label)
    }

    fn contents(&mut self, label: &FileLabel) -> Result<(), Error> {
        let (Some(blobs), Some(blob)) = (&mut self.blobs, label.blob) else { return Ok(()) };
        if blobs.has(blob) {
            return Ok(());
        }
        let contents =
            self.labels.contents(blob).map_err(atomic_file::failed("reading contents for", self.path))?;
        contents.map_or(Ok(()), |contents| blobs.add(blob, &contents))
    }
}
