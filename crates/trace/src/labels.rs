//! What the files and directories of a trace are called, and what is in them, where a trace comes from something that
//! was real, like the history of a repository. A trace without labels has names made of numbers and made-up contents.

use std::fmt;
use std::io;

use crate::{DirId, FileId};

/// The longest name that Linux takes, in bytes.
const NAME_MAX: usize = 255;

/// What tells contents apart: equal contents have equal numbers. For files from git it is the name of the blob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub [u8; 20]);

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl BlobId {
    /// Reads 40 hexadecimal digits.
    pub fn parse(digits: &[u8]) -> Option<BlobId> {
        let mut id = [0; 20];
        if digits.len() != 40 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(BlobId(id))
    }
}

/// What a file is, beyond its number. Whether it is a symbolic link the operation that makes it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileLabel {
    /// Its name in its directory.
    pub name: Vec<u8>,
    /// Whether it may be executed.
    pub executable: bool,
    /// Its contents, if they are known.
    pub blob: Option<BlobId>,
}

/// The labels of a trace. Several numbers may have one name, as long as no two of them exist in one directory at a
/// time.
pub trait Labels: Send + Sync {
    /// The label of a file. One that has none is called by its number and has made-up contents.
    fn file(&self, file: FileId) -> Option<FileLabel>;

    /// The name of a directory. One that has none is called by its number.
    fn dir(&self, dir: DirId) -> Option<Vec<u8>>;

    /// The contents `blob`, or `None` if they are not at hand, so that made-up ones have to do.
    fn contents(&self, blob: BlobId) -> io::Result<Option<Vec<u8>>>;
}

/// Whether `name` can be that of a file or directory, and of nothing outside the one that holds it.
pub fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
        && name != b"."
        && name != b".."
}
