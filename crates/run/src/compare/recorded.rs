//! Comparisons in a store.

use super::KIND;
use results::Run;
use std::collections::HashSet;

/// The last complete comparison of each name among these runs, in their order.
pub fn last_compared(runs: &[Run]) -> Vec<&Run> {
    let mut seen = HashSet::new();
    let is_complete = |run: &&Run| run.kind == KIND && run.state == "done";
    let mut compared: Vec<&Run> =
        runs.iter().rev().filter(is_complete).filter(|run| seen.insert(&run.name)).collect();
    compared.reverse();
    compared
}
