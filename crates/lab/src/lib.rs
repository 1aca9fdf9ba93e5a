//! Experiments: plan, run, resume after a crash, store.
//!
//! [`age`] makes an aged file system, [`compare`] measures it beside its unaged copy. Everything measured lands
//! in the [`Store`] at once.

mod age;
mod cold_scan;
mod compare;
mod error;
mod export;
mod feed;
mod machine;
mod manifest;
mod say;
mod space;
mod stats;
mod store;
mod watch;
mod work;

pub use age::{AgeSpec, Aged, Planned, StoppedBy, age, plan_only};
pub use cold_scan::HDD_MODEL;
pub use compare::{CompareSpec, Pair, SUBJECTS, Side, compare, interval, ratio};
pub use error::Error;
pub use export::{Format, export};
pub use machine::Machine;
pub use manifest::{Home, Made, Manifest, Stage};
pub use say::bytes;
pub use stats::{Interval, median_interval};
pub use store::{Measurement, NewRun, Run, RunId, Store};
pub use watch::{Unwatched, Watch};
pub use work::{STORE, Work};

/// The program and its version, as results record it.
pub const TOOL: &str = concat!("senesce ", env!("CARGO_PKG_VERSION"));
