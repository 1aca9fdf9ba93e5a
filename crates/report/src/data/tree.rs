//! The data of a file system that is a tree: the layout and occupancy of its nodes, and its write
//! amplification.

use serde::{Deserialize, Serialize};

/// The tree of one side at one checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeAt {
    /// Kind of file system.
    pub fs: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// `aged` or `unaged`.
    pub side: String,
    /// The round.
    pub round: u64,
    /// The layout.
    pub tree: Tree,
}

/// The layout of a tree on its disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The share of leaves that directly follow their predecessor in key order on the disk; `None` if there
    /// is only one leaf.
    pub key_order_layout_score: Option<f64>,
    /// The same for the blocks of the leaves.
    pub layout_score: Option<f64>,
    /// Mean occupancy of the leaves.
    pub leaf_occupancy: f64,
    /// Mean occupancy of the inner nodes; `None` if there are none.
    pub inner_node_occupancy: Option<f64>,
    /// The levels, leaves first.
    pub levels: Vec<TreeLevel>,
    /// Bytes written per byte received since the tree was created; `None`, like its parts, if no byte was
    /// received.
    pub write_amplification: Option<f64>,
    /// The part of the log.
    pub log_write_amplification: Option<f64>,
    /// The part of maps and superblocks.
    pub frame_write_amplification: Option<f64>,
}

/// The nodes of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeLevel {
    /// Number of nodes.
    pub nodes: u64,
    /// Nodes by occupancy: up to a tenth of the largest node, up to two tenths, and so on.
    pub occupancy: Vec<u64>,
    /// The part of this level in the write amplification.
    pub write_amplification: Option<f64>,
}
