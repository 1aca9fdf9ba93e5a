//! What the page shows of a file system that is a tree: how its nodes lie, how full they are, and what writing them has cost.

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
    /// How it lay.
    pub tree: Tree,
}

/// How a tree lies on its disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The share of leaves that follow the leaf before them, in the order of keys, in the next place on the disk; `None` where
    /// there is one leaf.
    pub key_order_layout_score: Option<f64>,
    /// The same of the blocks of the leaves.
    pub layout_score: Option<f64>,
    /// Mean of how full leaves are.
    pub leaf_occupancy: f64,
    /// Mean of how full inner nodes are; `None` where there are none.
    pub inner_node_occupancy: Option<f64>,
    /// The levels, leaves first.
    pub levels: Vec<TreeLevel>,
    /// Bytes written for each byte given since the tree was made; `None`, as its parts, before anything was given.
    pub write_amplification: Option<f64>,
    /// The part of it that is the log's.
    pub log_write_amplification: Option<f64>,
    /// The part of it that is that of maps and superblocks.
    pub frame_write_amplification: Option<f64>,
}

/// The nodes of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeLevel {
    /// How many there are.
    pub nodes: u64,
    /// How many are how full: up to a tenth of the largest node, up to two tenths, and so on.
    pub occupancy: Vec<u64>,
    /// The part of the write amplification that is this level's.
    pub write_amplification: Option<f64>,
}
