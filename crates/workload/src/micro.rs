//! The micro agers of Conway et al., "File Systems Fated for Senescence?" (FAST 2017, §5): each workload
//! isolates one cause of fragmentation.
//!
//! Each has rounds, and each round is a separate trace for a fresh file system: round 0 is the most orderly,
//! round 100 the least. The last operation of a trace is a checkpoint with the number of its round.

mod interfile;
mod intrafile;
mod shape;
mod workload;

pub use interfile::Interfile;
pub use intrafile::Intrafile;
pub use shape::{MAX_FILES, Shape};
pub use workload::{FileSizes, Tree, TreeOf};

use crate::Error;

/// The last round.
pub const LAST_ROUND: u64 = 100;

/// Rejects a round outside the published range.
pub(crate) fn check_round(round: u64) -> Result<(), Error> {
    match round {
        0..=LAST_ROUND => Ok(()),
        _ => Err(Error::Conditions(format!("no round {round}: rounds go from 0 to {LAST_ROUND}"))),
    }
}
