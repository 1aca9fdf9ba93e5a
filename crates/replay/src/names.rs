//! What files and directories are called: by their labels, where the trace has some, else by their numbers.

use std::sync::Arc;

use rustix::io::{self, Errno};
use trace::{DirId, FileId, FileLabel, Labels, dir_name, file_name, is_name};

/// The names of one replay.
#[derive(Clone, Default)]
pub(crate) struct Names(Option<Arc<dyn Labels>>);

impl Names {
    pub fn new(labels: Option<Arc<dyn Labels>>) -> Self {
        Self(labels)
    }

    /// Writes the name of a file into `name`, which it clears.
    pub fn file(&self, file: FileId, name: &mut Vec<u8>) -> io::Result<()> {
        match self.label(file) {
            Some(label) => take(label.name, name),
            None => {
                file_name(file, name);
                Ok(())
            }
        }
    }

    /// Writes the name of a directory into `name`, which it clears.
    pub fn dir(&self, dir: DirId, name: &mut Vec<u8>) -> io::Result<()> {
        match self.0.as_ref().and_then(|labels| labels.dir(dir)) {
            Some(label) => take(label, name),
            None => {
                dir_name(dir, name);
                Ok(())
            }
        }
    }

    /// What is known of a file beyond its number.
    pub fn label(&self, file: FileId) -> Option<FileLabel> {
        self.0.as_ref().and_then(|labels| labels.file(file))
    }

    /// The contents of a file of `size` bytes, if they are known.
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

/// No label leads out of the directory that it is for, whoever made it.
fn take(label: Vec<u8>, name: &mut Vec<u8>) -> io::Result<()> {
    *name = label;
    if is_name(name) { Ok(()) } else { Err(Errno::INVAL) }
}
