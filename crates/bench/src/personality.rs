//! Personalities: workloads of servers on a file system, as in Filebench (McDougall and Mauro; Tarasov, Zadok and Shepler, Filebench:
//! A Flexible Framework for File System Benchmarking, ;login: 2016). Sets of files are created; then threads repeat a loop of operations on
//! randomly chosen files, for a time or a number of operations, and each operation is timed.
//!
//! The data flow: a TOML file is a [`Personality`], whose loop is a list of [`Operation`]s; a [`Plan`] draws the files of its sets,
//! [`Plan::make`] creates them below a directory, and [`run`] runs the loop and returns an [`Outcome`].

mod choice;
mod descriptors;
mod engine;
mod error;
mod files;
mod kind;
mod limit;
mod load;
mod operation;
mod outcome;
mod plan;
mod random;
mod thread;

pub use engine::{Run, RunLength, run};
pub use error::Error;
pub use files::FileTree;
pub use kind::OperationKind;
pub use load::builtin;
pub use load::{FileSet, Personality};
pub use operation::{AppendSize, Operation};
pub use outcome::{OperationOutcome, Outcome};
pub use plan::Plan;
