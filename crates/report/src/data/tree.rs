//! The data of a file system that is a tree: the layout and occupancy of its nodes, and its write
//! amplification.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// The values, by measure.
    pub values: BTreeMap<String, f64>,
    /// The layout.
    pub tree: Tree,
}

/// The layout of a tree on its disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Layout score of the blocks of the leaves, in key order; `None` if there is only one block.
    pub blocks_score: Option<f64>,
    /// The levels, leaves first.
    pub levels: Vec<TreeLevel>,
    /// The part of the log in the write amplification; `None`, like the other parts, if no byte was received.
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
