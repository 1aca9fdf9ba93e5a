//! Labels of a history during extraction, with the contents of its blobs.

use std::io;
use std::ops::Deref;
use std::sync::Mutex;

use gix_hash::ObjectId;
use trace::{BlobId, DirId, FileId, FileLabel, Labels};

use super::repository::Reader;
use crate::live_names::LiveNames;

/// The labels of an extracted history.
pub(super) struct LiveLabels {
    names: LiveNames,
    /// Idle readers, at most one per concurrent thread.
    readers: Mutex<Vec<Reader>>,
    make_reader: Box<dyn Fn() -> Reader + Send + Sync>,
}

impl LiveLabels {
    pub fn new(make_reader: impl Fn() -> Reader + Send + Sync + 'static) -> Self {
        Self { names: LiveNames::default(), readers: Mutex::default(), make_reader: Box::new(make_reader) }
    }
}

impl Deref for LiveLabels {
    type Target = LiveNames;

    fn deref(&self) -> &LiveNames {
        &self.names
    }
}

impl Labels for LiveLabels {
    fn file(&self, file: FileId) -> Option<FileLabel> {
        self.names.file(file)
    }

    fn dir(&self, dir: DirId) -> Option<Vec<u8>> {
        self.names.dir(dir)
    }

    fn contents(&self, blob: BlobId) -> io::Result<Option<Vec<u8>>> {
        let readers = || self.readers.lock().expect("no thread panics while it holds the readers");
        let reader = readers().pop();
        let mut reader = reader.unwrap_or_else(|| (self.make_reader)());
        let contents = reader.contents(ObjectId::Sha1(blob.0)).map_err(io::Error::other);
        readers().push(reader);
        contents.map(Some)
    }
}
