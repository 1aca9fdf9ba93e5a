//! Experiments: a figure of the literature as a matrix of cells (file systems × options × seeds), each aged by a workload
//! in rounds and measured after each, with the published expectation as checks.
//!
//! An experiment is a TOML file, one a figure. Its scales (`small`, `paper`) give the sizes; everything else is shared.

mod cell;
mod check;
mod outcome;
mod run;
mod spec;
mod transfer;

pub use check::Checked;
pub use outcome::{CheckpointPair, CheckpointSide, FailedCell, Outcome, Picture, is_by_disk};
pub(crate) use outcome::{Of, read_checkpoint};
pub use run::{RunSpec, run};
pub use spec::{Axis, Check, Experiment, Plot, Rule, Scale};
