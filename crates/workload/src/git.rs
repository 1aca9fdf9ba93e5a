//! Aging as developers age their disks: pull the history of a repository, commit by commit (Conway et al.,
//! "File Systems Fated for Senescence?", FAST 2017, §6).
//!
//! [`Live`] runs the real git. [`Extracted`] reads the history once and produces the file operations of git's
//! checkout as a trace with [`Labels`](trace::Labels), which is replayed without git. After every pull both
//! have the same working tree: [`working_tree_digest`].

mod checkout;
mod clone;
mod command;
mod digest;
mod directories;
mod distributions;
mod dot_git;
mod extracted;
mod history;
mod labels;
mod live;
mod maker;
mod path;
mod repository;
pub mod sample;
mod sample_tree;
pub mod synthetic;
mod workload;

pub use clone::local;
pub(crate) use command::run_git;
pub use digest::working_tree_digest;
pub(crate) use directories::directories;
pub use extracted::{ExtractOptions, Extracted};
pub use history::{History, Order};
pub use live::{Gc, Live, LiveOptions};
pub(crate) use repository::Repository;
pub use workload::{Git, PULLS};
