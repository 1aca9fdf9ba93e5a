//! An aging that continues under changed conditions.
//!
//! No state is stored: an aging is a function of its conditions, so its state is recovered by regenerating
//! its operations, which takes a fraction of a second per million.

use crate::Error;
use crate::planner::churn::Churned;
use crate::planner::greedy::Greedy;
use crate::planner::planned::Planned;
use crate::planner::{AgingState, Conditions, Method, Planner};
use serde::{Deserialize, Serialize};
use trace::BATCH;

/// A part of an aging under one set of conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The conditions.
    pub conditions: Conditions,
    /// Executed operations of this segment, directories included; it may have been stopped early.
    pub done: u64,
}

/// Starts an aging on an empty file system.
pub fn begin(conditions: &Conditions) -> Result<Box<dyn Planner>, Error> {
    on(conditions, AgingState::empty())
}

/// Continues an aging after `segments`.
pub fn resume(segments: &[Segment], conditions: &Conditions) -> Result<Box<dyn Planner>, Error> {
    let mut state = AgingState::empty();
    for segment in segments {
        let mut planner = on(&segment.conditions, state)?;
        let mut left = segment.done;
        let mut batch = Vec::new();
        while left > 0 {
            planner.advance(left.min(BATCH as u64) as usize, &mut batch);
            if batch.is_empty() {
                return Err(Error::Conditions(format!(
                    "an earlier segment is recorded with {} operations, but replays {} fewer; it was created \
                     by another version",
                    segment.done, left
                )));
            }
            left -= batch.len() as u64;
        }
        state = planner.state();
    }
    on(conditions, state)
}

fn on(conditions: &Conditions, state: AgingState) -> Result<Box<dyn Planner>, Error> {
    let planner: Box<dyn Planner> = match conditions.method {
        Method::Planned => Box::new(Planned::new(conditions, state)?),
        Method::Greedy => Box::new(Greedy::new(conditions, state)?),
    };
    Ok(match &conditions.churn {
        Some(churn) => Box::new(Churned::new(planner, churn, conditions.seed)?),
        None => planner,
    })
}
