//! Personalities: what servers do to a file system, as Filebench has them (McDougall and Mauro; Tarasov, Zadok and Shepler, Filebench:
//! A Flexible Framework for File System Benchmarking, ;login: 2016). Sets of files are made; then threads go round a loop of
//! operations on files that are chosen at random, for a time or a number of operations, and each operation is timed.
//!
//! The data flows one way: a TOML file is a [`Personality`], whose loop is a list of [`Operation`]s; a [`Plan`] draws the files of
//! its sets, [`Plan::make`] makes them below a directory, and [`run`] goes round the loop and gives an [`Outcome`].

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

pub use engine::{Length, Run, run};
pub use error::Error;
pub use files::Files;
pub use kind::Kind;
pub use load::builtin;
pub use load::{Personality, SetOfFiles};
pub use operation::{AppendSize, Operation};
pub use outcome::{OperationOutcome, Outcome};
pub use plan::Plan;
