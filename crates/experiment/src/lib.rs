//! Experiments: a figure of the literature as a matrix of cells (file systems × options × seeds). Each cell is aged by a workload in rounds
//! and measured after each; the published expectation is the set of checks.
//!
//! An experiment is a TOML file, one per figure. Its scales (`small`, `paper`) give the sizes; everything else is shared.

mod all;
mod cell;
mod check;
mod gather;
mod line;
mod measure;
mod outcome;
mod plan;
mod rule;
mod runner;
mod spec;
mod standing;
mod task;
mod validate;
mod works;

pub use all::{AllDone, AllSpec, reproduce_all};
pub use check::Checked;
pub use measure::is_by_disk;
pub use outcome::{Correlated, FailedCell, Outcome, Picture};
pub use plan::Plan;
pub use rule::Rule;
pub use runner::{RunSpec, run};
pub use spec::{Axis, Check, Experiment, Panels, Plot, Published, Scale};
pub use standing::{Standing, State, is_done, standing};
pub use works::{Listed, Shard, listed};

/// The kind of the runs of whole experiments in a store.
const KIND: &str = "experiment";

/// The document that holds the outcome of an experiment.
const OUTCOME: &str = "outcome";
