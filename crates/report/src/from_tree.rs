//! Converts tree layouts to page data.

use crate::data::{Tree, TreeLevel};

/// The page data of a tree.
pub fn tree(tree: run::TreeLayout) -> Tree {
    let level = |level: run::TreeLevel| TreeLevel {
        nodes: level.nodes,
        occupancy: level.occupancy,
        write_amplification: level.write_amplification,
    };
    Tree {
        key_order_layout_score: tree.key_order_layout_score,
        layout_score: tree.layout_score,
        leaf_occupancy: tree.leaf_occupancy,
        inner_node_occupancy: tree.inner_node_occupancy,
        levels: tree.levels.into_iter().map(level).collect(),
        write_amplification: tree.write_amplification,
        log_write_amplification: tree.log_write_amplification,
        frame_write_amplification: tree.frame_write_amplification,
    }
}
