//! Saved images: a disk image in one compact file, that is restored to the same bytes.
//!
//! What is not kept: blocks of zeros, blocks that the file system does not use, and what aging has written to files, of which
//! only is said where it starts, for it can be made again ([`replay::Position`]). The rest is compressed. The file holds a manifest,
//! which can be read alone, and whose checksums cover every byte; so a signature of the manifest is one of all. The book describes the
//! format, in "File formats".

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

/// What this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
