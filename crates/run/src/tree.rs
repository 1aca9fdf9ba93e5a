//! The layout of the tree of a file system that stores one: printed by `senesce betreefs stat`, and recorded for each checkpoint and
//! comparison.

use fs::{LevelStat, TreeStat};
use results::measures::{self, Measure};
use results::{RunId, Store};
use serde::{Deserialize, Serialize};

/// The document that holds the layout.
pub(crate) const TREE: &str = "tree";

/// The layout of a tree on its disk, and the write cost since its creation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeLayout {
    /// Size of the image.
    pub image_bytes: u64,
    /// Size of the largest node.
    pub node_bytes: u64,
    /// Block size.
    pub block_bytes: u64,
    /// Number of slots of the largest node's size.
    pub slots: u64,
    /// Number of free slots.
    pub free_slots: u64,
    /// Number of slots that small extents share.
    pub slots_of_small_extents: u64,
    /// Free extents by length, whole slots first.
    pub free_extents: Vec<FreeExtents>,
    /// The levels, leaves first.
    pub levels: Vec<TreeLevel>,
    /// The share of leaves that directly follow the previous leaf in key order on the disk. `None` with a single leaf.
    pub key_order_layout_score: Option<f64>,
    /// The same for the blocks of the leaves: the layout score of reading all leaves. `None` with a single block.
    pub layout_score: Option<f64>,
    /// Mean occupancy of leaves, as a share of the largest node.
    pub leaf_occupancy: f64,
    /// Mean occupancy of inner nodes; `None` if there are none.
    pub inner_node_occupancy: Option<f64>,
    /// Bytes of inserted keys and values.
    pub given_bytes: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Bytes written for maps and superblocks.
    pub frame_bytes: u64,
    /// Bytes written per inserted byte. This and its parts are `None` before the first insert.
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
    /// Total size.
    pub bytes: u64,
    /// Number of children; 0 for leaves.
    pub children: u64,
    /// Bytes of messages in their buffers; 0 for leaves.
    pub buffer_bytes: u64,
    /// Histogram of occupancy: nodes filled up to a tenth of the largest node, up to two tenths, and so on.
    pub occupancy: Vec<u64>,
    /// Bytes written at this level.
    pub written_bytes: u64,
    /// The part of this level in the write amplification.
    pub write_amplification: Option<f64>,
}

/// Free extents of one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreeExtents {
    /// Length of each.
    pub bytes: u64,
    /// Number of extents.
    pub count: u64,
}

impl From<&TreeStat> for TreeLayout {
    fn from(stat: &TreeStat) -> TreeLayout {
        let amplification =
            |bytes: u64| (stat.given_bytes > 0).then(|| bytes as f64 / stat.given_bytes as f64);
        let occupancy = |levels: &[LevelStat]| {
            let (nodes, bytes) = levels
                .iter()
                .fold((0, 0), |(nodes, bytes), level| (nodes + level.nodes, bytes + level.bytes));
            (nodes > 0).then(|| bytes as f64 / (nodes * stat.node_bytes) as f64)
        };
        let blocks: u64 = stat.leaves.iter().map(|(_, bytes)| bytes / stat.block_bytes).sum();
        let extents = stat.free_extents.iter().chain(&stat.free_holes);
        TreeLayout {
            image_bytes: stat.image_bytes,
            node_bytes: stat.node_bytes,
            block_bytes: stat.block_bytes,
            slots: stat.slots,
            free_slots: stat.free_slots,
            slots_of_small_extents: stat.zones,
            free_extents: extents.map(|(&bytes, &count)| FreeExtents { bytes, count }).collect(),
            levels: stat
                .levels
                .iter()
                .map(|level| TreeLevel {
                    nodes: level.nodes,
                    bytes: level.bytes,
                    children: level.children,
                    buffer_bytes: level.buffer_bytes,
                    occupancy: level.occupancy.to_vec(),
                    written_bytes: level.written_bytes,
                    write_amplification: amplification(level.written_bytes),
                })
                .collect(),
            key_order_layout_score: (stat.leaves.len() > 1).then_some(stat.key_order_layout_score),
            layout_score: (blocks > 1).then_some(stat.layout_score),
            leaf_occupancy: occupancy(&stat.levels[..1]).unwrap_or(0.0),
            inner_node_occupancy: occupancy(&stat.levels[1..]),
            given_bytes: stat.given_bytes,
            log_bytes: stat.log_bytes,
            frame_bytes: stat.frame_bytes,
            write_amplification: (stat.given_bytes > 0).then(|| stat.write_amplification()),
            log_write_amplification: amplification(stat.log_bytes),
            frame_write_amplification: amplification(stat.frame_bytes),
        }
    }
}

impl TreeLayout {
    /// The measures of the tree, as far as they are known.
    pub fn values(&self) -> [(Measure, Option<f64>); 4] {
        [
            (measures::KEY_ORDER_LAYOUT_SCORE, self.key_order_layout_score),
            (measures::LEAF_OCCUPANCY, Some(self.leaf_occupancy)),
            (measures::INNER_NODE_OCCUPANCY, self.inner_node_occupancy),
            (measures::TREE_WRITE_AMPLIFICATION, self.write_amplification),
        ]
    }
}

/// The recorded layout of one side of a checkpoint or comparison.
pub fn tree_layout(store: &Store, run: RunId, subject: &str) -> Result<Option<TreeLayout>, results::Error> {
    store.document(run, subject, TREE)
}
