//! Replay: applies a trace of operations to a file system, in parallel and with a deterministic result.
//!
//! [`Replay`] reads operations from a [`trace::Source`], distributes them to lanes (one thread and one [`Engine`]
//! each) so that no operation overtakes one it depends on, and counts failures. [`fill()`] then writes the contents of the
//! remaining files without moving a block, and [`verify()`] reads them back.

mod allocate;
mod contents;
mod data;
mod dirs;
mod engine;
mod error;
mod failures;
mod fill;
mod free_space;
mod judge;
mod lanes;
mod limits;
mod lost;
mod names;
mod options;
mod posix;
mod replay;
mod route;
mod shard;
mod tree;
mod unwritten;
mod verify;
mod walk;

pub use contents::{ContentPosition, contents, find_contents};
pub use engine::{Engine, FailureCause, NullEngine};
pub use error::Error;
pub use failures::Failure;
pub use fill::{FillReport, fill, fill_shard};
pub use options::{Data, OnFull, Options};
pub use posix::PosixEngine;
pub use replay::{Flow, Outcome, Progress, Replay, StopReason};
pub use shard::Shard;
pub use tree::Directories;
pub use verify::{VerifyReport, verify};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;
