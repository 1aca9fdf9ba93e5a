//! The layout of the tree that holds the whole file system.

use super::{Cache, Effect, Probe, ProbeSubmission, Survey};
use crate::Error;
use crate::aged_pair::AgedPair;
use crate::tree::{TREE, TreeLayout};
use results::measures;

struct Tree;

inventory::submit!(ProbeSubmission(&Tree));

impl Probe for Tree {
    fn effect(&self) -> Effect {
        Effect::Unmounts
    }

    fn measure(&self, survey: &Survey, pair: &mut AgedPair) -> Result<(), Error> {
        // A scan with a warm cache belongs to a round that was measured with a cold one.
        if let Cache::Warm { .. } = survey.cache {
            return Ok(());
        }
        pair.record_each("tree", 1, measures::LEAF_OCCUPANCY, |turn| {
            let Some(stat) = turn.target.tree_stat()? else { return Ok(()) };
            let tree = TreeLayout::from(&stat);
            turn.record_document(TREE, &tree)?;
            Ok(turn.record_known(&tree.values())?)
        })
    }
}
