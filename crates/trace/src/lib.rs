//! Operations on a file system and the traces that hold them.
//!
//! Everything that ages speaks this one language of operations; everything that is aged takes it.

mod error;
mod op;
mod source;

pub use error::Error;
pub use op::{Content, DirId, FileId, Op, ROOT, dir_name, file_name};
pub use source::{BATCH, Source};
