//! Names of files and directories: their labels if the trace has some, otherwise their numbers.

use std::sync::Arc;

use rustix::io::{self, Errno};
use trace::{DirId, FileId, FileLabel, Labels, dir_name, file_name, is_valid_name};

/// The names of one replay.
#[derive(Clone, Default)]
pub(crate) struct Names(Option<Arc<dyn Labels>>);

impl Names {
    pub fn new(labels: Option<Arc<dyn Labels>>) -> Self {
        Self(labels)
    }

    /// Replaces `name` by the name of a file.
    pub fn file(&self, file: FileId, name: &mut Vec<u8>) -> io::Result<()> {
        match self.label(file) {
            Some(label) => check_label(label.name, name),
            None => {
                file_name(file, name);
                Ok(())
            }
        }
    }

    /// Replaces `name` by the name of a directory.
    pub fn dir(&self, dir: DirId, name: &mut Vec<u8>) -> io::Result<()> {
        match self.0.as_ref().and_then(|labels| labels.dir(dir)) {
            Some(label) => check_label(label, name),
            None => {
                dir_name(dir, name);
                Ok(())
            }
        }
    }

    /// The label of a file, if any.
    pub fn label(&self, file: FileId) -> Option<FileLabel> {
        self.0.as_ref().and_then(|labels| labels.file(file))
    }

    /// The contents of a file of `size` bytes, if known.
    pub fn contents(&self, label: Option<&FileLabel>, size: u64) -> io::Result<Option<Vec<u8>>> {
        let blob = label.and_then(|label| label.blob);
        let (Some(labels), Some(blob)) = (&self.0, blob) else { return Ok(None) };
        match labels.contents(blob) {
            Ok(Some(contents)) if contents.len() as u64 != size => Err(Errno::IO),
            Ok(contents) => Ok(contents),
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
}

/// Checks the label, so that none leads out of its directory.
fn check_label(label: Vec<u8>, name: &mut Vec<u8>) -> io::Result<()> {
    *name = label;
    if is_valid_name(name) { Ok(()) } else { Err(Errno::INVAL) }
}
