//! How the tree of a file system that is one lies on its disk: what `senesce betreefs stat` prints, and what is kept of each
//! checkpoint and comparison.

use crate::Error;
use fs::{LevelStat, Target, TreeStat};
use results::measures;
use results::{RunId, Store};
use serde::{Deserialize, Serialize};

/// The document that holds it.
const TREE: &str = "tree";

/// How a tree lies on its disk, and what writing it has cost since it was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeLayout {
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Bytes of the largest node.
    pub node_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Slots of the largest node.
    pub slots: u64,
    /// Those of them that are free.
    pub free_slots: u64,
    /// Those of them that small extents share.
    pub slots_of_small_extents: u64,
    /// Free extents by length, those of whole slots first.
    pub free_extents: Vec<FreeExtents>,
    /// The levels, leaves first.
    pub levels: Vec<TreeLevel>,
    /// The share of leaves that follow the leaf before them, in the order of keys, in the next place on the disk. `None` where there
    /// is one leaf.
    pub key_order_layout_score: Option<f64>,
    /// The same of the blocks of the leaves: the layout score of reading them all. `None` where there is one block.
    pub layout_score: Option<f64>,
    /// Mean of how full leaves are, as a share of the largest node.
    pub leaf_occupancy: f64,
    /// The same of inner nodes; `None` where there are none.
    pub inner_node_occupancy: Option<f64>,
    /// Bytes of keys and values that were given.
    pub given_bytes: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Bytes written of maps and superblocks.
    pub frame_bytes: u64,
    /// Bytes written for each byte given. This and its parts are `None` before anything was given.
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
    /// Their bytes.
    pub bytes: u64,
    /// Their children; 0 for leaves.
    pub children: u64,
    /// Bytes of messages in their buffers; 0 for leaves.
    pub buffer_bytes: u64,
    /// How many are how full: up to a tenth of the largest node, up to two tenths, and so on.
    pub occupancy: Vec<u64>,
    /// Bytes of this level that were written.
    pub written_bytes: u64,
    /// The part of the write amplification that is this level's.
    pub write_amplification: Option<f64>,
}

/// Free extents of one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreeExtents {
    /// Their length.
    pub bytes: u64,
    /// How many there are.
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
            key_order_layout_score: (stat.leaves.len() > 1).then_some(stat.leaves_in_row),
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

/// Keeps how the tree of `target` lies, if it is one; it is unmounted meanwhile.
pub(crate) fn record(store: &Store, run: RunId, subject: &str, target: &mut dyn Target) -> Result<(), Error> {
    let Some(stat) = target.tree()? else { return Ok(()) };
    let tree = TreeLayout::from(&stat);
    let values = [
        (measures::KEY_ORDER_LAYOUT_SCORE, tree.key_order_layout_score),
        (measures::LEAF_OCCUPANCY, Some(tree.leaf_occupancy)),
        (measures::INNER_NODE_OCCUPANCY, tree.inner_node_occupancy),
        (measures::TREE_WRITE_AMPLIFICATION, tree.write_amplification),
    ];
    let numbers: Vec<_> =
        values.into_iter().filter_map(|(measure, value)| Some(measure.once(subject, value?))).collect();
    store.record_all(run, &numbers)?;
    Ok(store.record_document(run, subject, TREE, &tree)?)
}

/// What was kept of one side of a checkpoint or comparison.
pub fn tree_layout(store: &Store, run: RunId, subject: &str) -> Result<Option<TreeLayout>, results::Error> {
    store.document(run, subject, TREE)
}
