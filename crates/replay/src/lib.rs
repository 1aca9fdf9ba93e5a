//! Replay: applies a trace of operations to a file system, in parallel and yet with one outcome.
//!
//! [`Replay`] reads operations from a [`trace::Source`], deals them out to lanes (one thread and one [`Engine`]
//! each) so that no operation overtakes one it depends on, and counts what failed. [`fill()`] then gives the
//! survivors their contents without moving a block, and [`verify()`] reads them back.

mod allocate;
mod contents;
mod data;
mod dirs;
mod engine;
mod error;
mod failures;
mod fill;
mod judge;
mod lanes;
mod limits;
mod lost;
mod names;
mod options;
mod posix;
mod replay;
mod room;
mod route;
mod share;
mod tree;
mod verify;
mod walk;

pub use contents::{Position, contents, find_contents};
pub use engine::{Engine, Null, Trouble};
pub use error::Error;
pub use failures::Failure;
pub use fill::{Filled, fill, fill_share};
pub use options::{Data, OnFull, Options};
pub use posix::Posix;
pub use replay::{Ended, Flow, Outcome, Progress, Replay};
pub use share::Share;
pub use tree::Directories;
pub use verify::{Verified, verify};

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;
