//! Saved images: a disk image in one compact file, from which the same bytes can be restored.
//!
//! Not saved: blocks of zeros, blocks that the file system does not use, and file contents written by aging; of the latter only the start
//! position is saved, because they can be regenerated ([`replay::ContentPosition`]). The rest is compressed. The file contains a manifest that can
//! be read on its own and whose checksums cover every byte, so a signature of the manifest authenticates the whole file. The book describes
//! the format in "File formats".

mod error;
mod format;
mod frame;
mod keep;
mod manifest;
mod new_file;
mod read;
mod runs;
mod write;

pub use digest::Digest;
pub use error::Error;
pub use format::VERSION;
pub use keep::Kept;
pub use manifest::{Contents, Manifest};
pub use new_file::NewFile;
pub use read::{Difference, Saved};
pub use runs::BLOCK_BYTES;
pub use write::{Progress, write};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
