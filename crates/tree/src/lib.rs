//! Walks directory trees: [`walk`] in scan order, [`walk_parallel`] with several threads and in no order.
//!
//! Both look up every name relative to an open directory, so paths may be of any length and a concurrent rename cannot lead
//! them elsewhere. Neither follows symbolic links.

mod error;
mod fds;
mod list;
mod parallel;
mod sorted;

pub use error::Error;
pub use fds::TreeFds;
pub use list::{ListedFile, Names};
pub use parallel::{DirOp, PerThread, Visitor, open_dir, walk_parallel};
pub use sorted::{Entry, SNAPSHOTS, walk};
