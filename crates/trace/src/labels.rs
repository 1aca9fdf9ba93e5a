//! Labels of a trace: names of files and directories, and file contents, for traces from real data such as
//! the history of a repository. A trace without labels has numbered names and generated contents.

use std::fmt;
use std::io;

use crate::{DirId, FileId};

/// The longest name that Linux accepts, in bytes.
const NAME_MAX: usize = 255;

/// Identifies contents: equal contents have equal identifiers. For files from git, the object name of the blob.
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

/// Metadata of a file. Whether it is a symbolic link is determined by the operation that creates it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileLabel {
    /// The name in its directory.
    pub name: Vec<u8>,
    /// Whether the file is executable.
    pub executable: bool,
    /// The contents, if known.
    pub blob: Option<BlobId>,
}

/// The labels of a trace. Several numbers may have the same name, as long as no two of them exist in one
/// directory at the same time.
pub trait Labels: Send + Sync {
    /// The label of a file. A file without one has a numbered name and generated contents.
    fn file(&self, file: FileId) -> Option<FileLabel>;

    /// The name of a directory. A directory without one has a numbered name.
    fn dir(&self, dir: DirId) -> Option<Vec<u8>>;

    /// The contents `blob`, or `None` if unavailable; the replay then uses generated contents.
    fn contents(&self, blob: BlobId) -> io::Result<Option<Vec<u8>>>;
}

/// Whether `name` is a valid name of a file or directory, which cannot refer outside its parent.
pub fn is_valid_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
        && name != b"."
        && name != b".."
}
