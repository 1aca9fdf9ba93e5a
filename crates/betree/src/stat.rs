//! Statistics: the layout of a store on its disk, and its write amplification.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::node::Link;
use crate::open::read_map;
use crate::pager::Pager;
use crate::pointer::Pointer;
use crate::space::Space;
use crate::storage::Storage;
use crate::store::Shared;
use crate::superblock::{Counters, Superblock};

/// The nodes of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelStat {
    /// Number of nodes.
    pub nodes: u64,
    /// Bytes of all of them, each rounded up to whole blocks.
    pub bytes: u64,
    /// Number of their children; 0 for leaves.
    pub children: u64,
    /// Bytes of messages in their buffers; 0 for leaves.
    pub buffer_bytes: u64,
    /// Bytes of this level written since the store was created.
    pub written_bytes: u64,
    /// Histogram of fill levels, in tenths of the largest node; the last bin includes full nodes.
    pub occupancy: [u64; TENTHS],
}

/// Bins of [`LevelStat::occupancy`].
const TENTHS: usize = 10;

/// The result of [`Store::stat`](crate::Store::stat).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stat {
    /// Bytes of the image.
    pub image_bytes: u64,
    /// The largest node in bytes.
    pub node_bytes: u64,
    /// The block size in bytes.
    pub block_bytes: u64,
    /// Number of slots.
    pub slots: u64,
    /// Number of free slots.
    pub free_slots: u64,
    /// Number of slots that small extents share.
    pub zones: u64,
    /// Free extents of whole slots: bytes of an extent to the number of such extents.
    pub free_extents: BTreeMap<u64, u64>,
    /// Holes between small extents: bytes of a hole to the number of such holes.
    pub free_holes: BTreeMap<u64, u64>,
    /// By level, leaves first.
    pub levels: Vec<LevelStat>,
    /// The share of the blocks of all leaves, in key order, that are directly behind the previous block: the dynamic layout score of a scan that
    /// reads whole leaves. 1 if there is one block.
    pub layout_score: f64,
    /// The share of leaves in the slot directly behind that of the previous leaf in key order. 1 if there is one leaf.
    pub key_order_layout_score: f64,
    /// Extents of the leaves in key order: address and bytes.
    pub leaves: Vec<(u64, u64)>,
    /// Bytes of keys and values written by users since the store was created.
    pub given_bytes: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Bytes written for maps and superblocks.
    pub frame_bytes: u64,
}

impl Stat {
    /// Bytes written to the disk per byte of keys and values from users.
    pub fn write_amplification(&self) -> f64 {
        let nodes: u64 = self.levels.iter().map(|level| level.written_bytes).sum();
        (nodes + self.log_bytes + self.frame_bytes) as f64 / self.given_bytes.max(1) as f64
    }
}

/// Statistics of the last checkpoint of the store in `storage`, which is not changed.
///
/// # Errors
/// If there is no store, or it is damaged.
pub fn stat(storage: Arc<dyn Storage>) -> Result<Stat> {
    let superblock = Superblock::read(&*storage)?;
    let pager = Pager::new(storage, superblock.layout(), 16 << 20);
    let space = read_map(&pager, &superblock)?;
    describe(&pager, &superblock, &space, superblock.root, &superblock.counters)
}

/// The free extents of the last checkpoint of the store in `storage`: address and bytes, ascending. Their content does not affect opening the
/// store.
///
/// # Errors
/// If there is no store, or it is damaged.
pub fn free_extents(storage: Arc<dyn Storage>) -> Result<Vec<(u64, u64)>> {
    let superblock = Superblock::read(&*storage)?;
    let pager = Pager::new(storage, superblock.layout(), 16 << 20);
    Ok(read_map(&pager, &superblock)?.free())
}

/// Statistics of an open store, directly after a checkpoint.
pub(crate) fn stat_of(shared: &Shared) -> Result<Stat> {
    let flusher = shared.flusher.lock();
    describe(
        &shared.pager,
        &flusher.superblock,
        &flusher.space,
        flusher.superblock.root,
        &flusher.superblock.counters,
    )
}

fn describe(
    pager: &Pager,
    superblock: &Superblock,
    space: &Space,
    root: Pointer,
    counters: &Counters,
) -> Result<Stat> {
    let params = &superblock.params;
    let mut stat = Stat {
        image_bytes: superblock.image_bytes,
        node_bytes: params.node(),
        block_bytes: params.block(),
        slots: superblock.area.1,
        free_slots: space.free_slots(),
        zones: space.zones() as u64,
        given_bytes: counters.given,
        log_bytes: counters.log,
        frame_bytes: counters.frame,
        ..Stat::default()
    };
    let (slots, holes) = space.holes();
    for n in slots {
        *stat.free_extents.entry(n * params.node()).or_default() += 1;
    }
    for bytes in holes {
        *stat.free_holes.entry(bytes).or_default() += 1;
    }
    let written = counters.nodes.iter().rposition(|bytes| *bytes > 0).map_or(0, |last| last + 1);
    stat.levels = vec![LevelStat::default(); written.max(usize::from(root.level) + 1)];
    for (level, bytes) in stat.levels.iter_mut().zip(counters.nodes) {
        level.written_bytes = bytes;
    }
    walk(pager, &root, &mut stat)?;
    let block = params.block();
    let (mut blocks, mut behind, mut rows, mut end) = (0, 0, 0, None);
    for (at, bytes) in &stat.leaves {
        blocks += bytes / block;
        behind += bytes / block - 1 + u64::from(end == Some(*at));
        let slot = |at: u64| (at - superblock.area.0) / params.node();
        rows += u64::from(end.is_some_and(|end: u64| slot(end - 1) + 1 == slot(*at) || end == *at));
        end = Some(at + bytes);
    }
    stat.layout_score = if blocks > 1 { behind as f64 / (blocks - 1) as f64 } else { 1.0 };
    let pairs = stat.leaves.len().saturating_sub(1);
    stat.key_order_layout_score = if pairs > 0 { rows as f64 / pairs as f64 } else { 1.0 };
    Ok(stat)
}

fn walk(pager: &Pager, pointer: &Pointer, stat: &mut Stat) -> Result<()> {
    let stats = &mut stat.levels[usize::from(pointer.level)];
    stats.nodes += 1;
    stats.bytes += u64::from(pointer.bytes);
    let tenth = u64::from(pointer.bytes) * TENTHS as u64 / stat.node_bytes;
    stats.occupancy[(tenth as usize).min(TENTHS - 1)] += 1;
    if pointer.level == 0 {
        stat.leaves.push((pointer.at, u64::from(pointer.bytes)));
        return Ok(());
    }
    let node = pager.header(pointer)?;
    stats.children += node.entries.len() as u64;
    stats.buffer_bytes += node.entries.iter().map(|entry| entry.part.bytes() as u64).sum::<u64>();
    for entry in &node.entries {
        if let Link::Disk(child) = &entry.child {
            walk(pager, child, stat)?;
        }
    }
    Ok(())
}
