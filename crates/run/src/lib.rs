//! What runs on a file system: age, compare, benchmark, verify; resume after a crash; store.
//!
//! [`age`] makes an aged file system, [`compare`] measures it and its unaged copy. Every measurement is recorded in the [`Store`](results::Store)
//! immediately.

mod age;
pub mod aged_pair;
pub mod bench;
pub mod checkpoint;
mod compare;
pub mod compare_layout;
mod compare_runs;
mod error;
mod facts;
mod fio;
pub mod gate;
mod hot_files;
mod io_capture;
pub mod library;
mod manifest;
mod messages;
mod names;
mod one_cpu;
pub mod personality;
mod rollback;
pub mod scanned;
mod sequential;
pub mod series;
pub mod site;
mod space;
mod survey;
mod throughput;
mod tree;
pub mod verify;
pub mod virtual_time;
mod volume;
mod work;

pub use self::bench::{
    ExternalRanks, ImportedFile, Memory, MemoryBy, MetadataOutcome, MetadataSpec, OnAged, PhasePair,
    RankCommands, VirtualMetadataOutcome, import_metadata, metadata, metadata_in_virtual_time, metadata_on,
    metadata_side,
};
pub use age::{
    AgeSpec, Aged, ExpectedTime, MeasureRounds, Planned, ProfileResult, RoundsResult, age, age_among,
    plan_only,
};
pub use aged_pair::Subject;
pub use compare::{
    Cell, CompareSpec, Condition, Contrast, Differing, Effect, Headline, Matrix, Means, Pair, Replicates,
    SUBJECTS, Shift, Side, compare, compared_numbers, discard, fact, last_compared, makeable, replicate,
};
pub use compare_runs::{CHECKPOINTS, CheckpointRun, Compared, RunComparison, Stored, compare_runs};
pub use error::{Error, interrupted, unless_interrupted};
pub use fio::{FioJob, FioOutcome, FioSide, FioSpec, fio};
pub use fs::{Location, VolumeConfig};
pub use hot_files::{
    Chosen, HotFilesMeasured, HotFilesOutcome, HotFilesSide, HotFilesSpec, PUBLISHED_DAYS, PUBLISHED_SHARE,
    hot_files,
};
pub use manifest::{AgedBy, Manifest, Stage};
pub use names::can_name;
pub use personality::{
    PERSONALITY_KIND, PERSONALITY_RUN, PersonalityOutcome, PersonalityRatios, PersonalitySide,
    PersonalitySpec, Repetition, personality,
};
pub use probe::FileMap;
pub use rollback::{Restored, RollbackMethod};
pub use scanned::HDD_MODEL;
pub use sequential::{SequentialOutcome, SequentialSize, SequentialSpec, sequential};
pub use survey::PICTURE;
pub use throughput::{Once, Rates, Ratios};
pub use tree::{FreeExtents, TreeLayout, TreeLevel, tree_layout};
pub use verify::{Case, Day, Distances, SizeScores, Verified, VerifySpec, distance, verified, verify};
pub use volume::existing_volume;
pub use work::Work;
