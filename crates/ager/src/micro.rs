//! The micro agers of Conway et al., "File Systems Fated for Senescence?" (FAST 2017, §4): workloads that do one thing,
//! to show what that thing does to a layout.
//!
//! Each has rounds, and each round is a trace of its own for a fresh file system: round 0 is as orderly as can be, round
//! 100 as disorderly. The last operation of a trace is a checkpoint with the number of its round.

mod interfile;
mod intrafile;
mod shape;

pub use interfile::Interfile;
pub use intrafile::Intrafile;
pub use shape::{MOST_FILES, Shape};

use crate::Error;

/// The last round.
pub const LAST_ROUND: u64 = 100;

/// Refuses a round that no published round is like.
fn check_round(round: u64) -> Result<(), Error> {
    match round {
        0..=LAST_ROUND => Ok(()),
        _ => Err(Error::Conditions(format!("no round {round}: rounds go from 0 to {LAST_ROUND}"))),
    }
}
