//! A gate between a change and its users: are file systems that are aged with it worse than those of a baseline, by more than chance?
//!
//! A [`Baseline`] holds pairs of equal agings, which show by how much they differ for no reason. [`judge`] tests new agings with the same seeds
//! against it.

mod baseline;
mod judge;
mod measured;
mod recipe;
#[cfg(test)]
pub(crate) mod tests;

pub use baseline::{Baseline, LEAST_PAIRS, Learnt};
pub use judge::{Judgement, Moved, Movement, Rules, Visible, judge, visible};
pub use measured::measured;
pub use recipe::{Place, Recipe};
