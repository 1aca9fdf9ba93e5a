//! Converts tree layouts to page data.

use crate::data::{Tree, TreeLevel};
use std::collections::BTreeMap;

/// The measures of a tree.
pub fn values(tree: &run::TreeLayout) -> BTreeMap<String, f64> {
    let known =
        tree.values().into_iter().filter_map(|(measure, value)| Some((measure.name.to_owned(), value?)));
    known.collect()
}

/// The page data of a tree.
pub fn tree(tree: run::TreeLayout) -> Tree {
    let level = |level: run::TreeLevel| TreeLevel {
        nodes: level.nodes,
        occupancy: level.occupancy,
        write_amplification: level.write_amplification,
    };
    Tree {
        blocks_score: tree.layout_score,
        levels: tree.levels.into_iter().map(level).collect(),
        log_write_amplification: tree.log_write_amplification,
        frame_write_amplification: tree.frame_write_amplification,
    }
}
