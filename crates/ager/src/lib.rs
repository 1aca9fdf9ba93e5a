//! Sources of operations that age a file system.
//!
//! An ager is a [`trace::Source`] that follows a profile: [`Method::Planned`] is exact by construction,
//! [`Method::Greedy`] is the published method. An aging can continue under changed conditions: it is a list
//! of [`Segment`]s.

mod ager;
mod apportion;
mod calendar;
mod error;
mod fit;
pub mod git;
mod greedy;
mod live_names;
pub mod mail;
pub mod micro;
mod planned;
mod random;
mod segments;
mod sizes;
pub mod snapshots;
pub mod synthetic;
mod targets;
mod tree;

pub use ager::{
    Ager, AgingState, AgingStats, Conditions, LiveFile, MAX_OVERWRITES, Method, OmittedBin, Plan,
};
pub use error::Error;
pub use fit::Fit;
pub use segments::{Segment, begin, resume};
pub use sizes::BLOCK_BYTES;
pub use targets::MAX_FULLNESS;

use ager::Counters;
