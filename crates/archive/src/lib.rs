//! Archives of saved images: a disk image in one compact file, from which the same bytes can be restored.
//!
//! Not saved: blocks of zeros, blocks that the file system does not use, and file contents written by aging; of the latter only the start
//! position is saved, because they can be regenerated ([`replay::ContentPosition`]). The rest is compressed. The file contains a manifest that can
//! be read on its own and whose checksums cover every byte, so a signature of the manifest authenticates the whole file. The book describes
//! the format in "File formats".

mod atomic_file;
mod error;
mod format;
mod frame;
mod manifest;
mod read;
mod runs;
mod used_blocks;
mod write;

pub use atomic_file::AtomicFile;
pub use digest::Digest;
pub use error::Error;
pub use format::VERSION;
pub use manifest::{ArchiveContents, Manifest};
pub use read::{ArchivedImage, BlockDiff};
pub use runs::BLOCK_BYTES;
pub use used_blocks::UsedBlocks;
pub use write::{ProgressFn, write};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
