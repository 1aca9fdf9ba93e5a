//! Experiments: plan, run, resume after a crash, store.
//!
//! [`age`] makes an aged file system, [`compare`] measures it and its unaged copy. Every measurement is recorded in the [`Store`](results::Store)
//! immediately.

mod age;
mod aged_pair;
mod bench;
mod compare;
pub mod compare_layout;
mod compare_runs;
mod error;
mod experiment;
mod fio;
mod hot_files;
mod io_capture;
pub mod library;
mod manifest;
mod messages;
mod names;
mod personality;
mod rollback;
pub mod scanned;
mod scans;
mod sequential;
mod series;
mod site;
mod space;
mod throughput;
mod tree;
mod verify;
mod volume;
mod work;

pub use self::bench::{
    ExternalRanks, ImportedFile, Memory, MemoryBy, MetadataOutcome, MetadataSpec, OnAged, PhasePair,
    import_metadata, metadata, metadata_on, metadata_side,
};
pub use age::{
    AgeSpec, Aged, MeasureRounds, Planned, ProfileResult, RoundsResult, age, age_among, plan_only,
};
pub use aged_pair::Subject;
pub use compare::{CompareSpec, Pair, SUBJECTS, Side, compare, compared_numbers, interval, ratio};
pub use compare_runs::{Compared, RunComparison, Stored, compare_runs};
pub use error::Error;
pub use experiment::{
    AllDone, AllSpec, Axis, Check, Checked, CheckpointPair, CheckpointSide, Correlated, Experiment,
    FailedCell, Listed, Outcome, Panels, Picture, Plan, Plot, Rule, RunSpec, Scale, Shard, Standing, State,
    TreeAt, is_by_disk, is_done, listed, reproduce_all, run, standing,
};
pub use fio::{FioJob, FioOutcome, FioSide, FioSpec, fio};
pub use fs::{Location, VolumeConfig};
pub use hot_files::{
    Chosen, HotFilesMeasured, HotFilesOutcome, HotFilesSide, HotFilesSpec, PUBLISHED_DAYS, PUBLISHED_SHARE,
    hot_files,
};
pub use manifest::{AgedBy, Manifest, Stage};
pub use messages::bytes;
pub use names::can_name;
pub use personality::{
    PERSONALITY_KIND, PERSONALITY_RUN, PersonalityOutcome, PersonalityRatios, PersonalitySide,
    PersonalitySpec, Repetition, personality,
};
pub use probe::FileMap;
pub use rollback::{Restored, RollbackMethod};
pub use scanned::HDD_MODEL;
pub use sequential::{SequentialOutcome, SequentialSize, SequentialSpec, sequential};
pub use throughput::{Rates, Ratios};
pub use tree::{FreeExtents, TreeLayout, TreeLevel, tree_layout};
pub use verify::{Case, Day, Distances, SizeScores, Verified, VerifySpec, distance, verified, verify};
pub use volume::existing_volume;
pub use work::Work;
