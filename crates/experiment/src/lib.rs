//! Experiments: a figure of the literature as a matrix of cells (file systems × options × seeds). Each cell is aged by a workload in rounds
//! and measured after each, and the published claims are judged.
//!
//! An experiment is a TOML file, one per figure. Its scales (`small`, `paper`) give the sizes; everything else is shared.

mod aged_images;
mod all;
mod cell;
mod claim;
mod gather;
mod image_dir;
mod judge;
mod line;
mod measure;
mod other_kernel;
mod outcome;
mod plan;
pub mod referee;
mod runner;
mod spec;
mod standing;
mod task;
mod validate;
mod works;

pub use aged_images::AgedImages;
pub use all::{AllDone, reproduce_all};
pub use claim::{At, Bounds, Claim, Extreme, Over, Place, Published};
pub use judge::{FigureVerdict, Judged, LineVerdict, Verdict};
pub use measure::is_by_disk;
pub use other_kernel::{OtherKernel, OtherKernelRun};
pub use outcome::{Correlated, FailedCell, Outcome, Picture};
pub use plan::Plan;
pub use runner::{RunSpec, run};
pub use spec::{Axis, Difference, Experiment, Panels, Plot, Scale};
pub use standing::{Indexed, Standing, State, claims, is_done, no_longer_hold, standing};
pub use works::{Listed, Shard, listed, work_of};

/// The kind of the runs of whole experiments in a store.
const KIND: &str = "experiment";

/// The document that holds the outcome of an experiment.
const OUTCOME: &str = "outcome";
