//! The sizes of a store, which are fixed when it is made and lie in its superblock.

use std::time::Duration;

use crate::error::{Error, Result};

/// Bytes of the two superblocks and what lies between them.
pub(crate) const SUPER_AREA: u64 = 8192;
/// Bytes of a sector of the log.
pub(crate) const SECTOR: usize = 512;

/// Sizes of a store. Their defaults follow from the size of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Unit of place and alignment in bytes: a power of two from 512 to 4096.
    pub block_bytes: u32,
    /// The largest node and the unit of large extents in bytes: a power of two from 4 KiB to 16 MiB.
    pub node_bytes: u32,
    /// The largest basement in bytes, but for single messages that are longer.
    pub basement_bytes: u32,
    /// Most children of a node, 4 to 64.
    pub fanout: u32,
    /// Bytes of the log. What was written and is not yet in a checkpoint fits in it.
    pub log_bytes: u64,
}

impl Params {
    /// What suits an image of `image_bytes`: nodes of 4 MiB from 1 GiB on, few children for large buffers, so that much comes to a leaf when it
    /// is written, and a log of a sixteenth, at most 512 MiB.
    pub fn for_image(image_bytes: u64) -> Self {
        let node = (image_bytes / 256).next_power_of_two().clamp(32 << 10, 4 << 20) as u32;
        let log = (image_bytes / 16).clamp(4 * u64::from(node), 512 << 20) & !4095;
        Self {
            block_bytes: 4096,
            node_bytes: node,
            basement_bytes: (node / 32).clamp(4096, 128 << 10),
            fanout: 6,
            log_bytes: log,
        }
    }

    /// The longest key in bytes: 64 KiB with nodes of 4 MiB.
    pub fn max_key_bytes(&self) -> usize {
        (self.node_bytes / 64).min(64 << 10) as usize
    }

    /// The longest value in bytes: 1 MiB with nodes of 4 MiB.
    pub fn max_value_bytes(&self) -> usize {
        (self.node_bytes / 4).min(1 << 20) as usize
    }

    /// The longest batch in bytes: those of its keys and values, and 9 (a patch 13) for each write.
    pub fn max_batch_bytes(&self) -> usize {
        (self.log_bytes / 8).min(64 << 20) as usize
    }

    pub(crate) fn node(&self) -> u64 {
        u64::from(self.node_bytes)
    }

    pub(crate) fn block(&self) -> u64 {
        u64::from(self.block_bytes)
    }

    /// `bytes` filled to whole blocks.
    pub(crate) fn blocks(&self, bytes: usize) -> usize {
        bytes.next_multiple_of(self.block_bytes as usize)
    }

    /// Where the slots start and how many there are in an image of `image_bytes`.
    pub(crate) fn area(&self, image_bytes: u64) -> Result<(u64, u64)> {
        self.validate()?;
        let start = SUPER_AREA
            .checked_add(self.log_bytes)
            .and_then(|end| end.checked_next_multiple_of(self.node()))
            .ok_or_else(|| Error::Params("the log is too large".into()))?;
        let slots = image_bytes.saturating_sub(start) / self.node();
        if slots < 32 {
            return Err(Error::Params(format!(
                "{image_bytes} bytes hold {slots} nodes of {} bytes beside the log, but at least 32 are \
                 needed; use a larger image or smaller nodes",
                self.node_bytes
            )));
        }
        if slots > 1 << 24 {
            return Err(Error::Params(format!("{slots} nodes are too many; use larger nodes")));
        }
        Ok((start, slots))
    }

    fn validate(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::Params(why));
        let Self { block_bytes: block, node_bytes: node, basement_bytes: basement, fanout, log_bytes: log } =
            *self;
        if !block.is_power_of_two() || !(512..=4096).contains(&block) {
            return wrong(format!("block size {block} must be a power of two from 512 to 4096"));
        }
        if !node.is_power_of_two() || !(4 << 10..=16 << 20).contains(&node) || node < 8 * block {
            return wrong(format!(
                "node size {node} must be a power of two from 4 KiB to 16 MiB and at least 8 blocks"
            ));
        }
        if basement < block || basement > node / 4 {
            return wrong(format!("basement size {basement} must be from a block to a quarter of a node"));
        }
        if !(4..=64).contains(&fanout) {
            return wrong(format!("fanout {fanout} must be from 4 to 64"));
        }
        // A header holds a key of each child; it must leave most of the node to the buffers.
        if u64::from(fanout) * (u64::from(node / 64) + 80) > u64::from(node) / 2 {
            return wrong(format!("fanout {fanout} is too large for nodes of {node} bytes"));
        }
        if !log.is_multiple_of(4096) || log < 4 * u64::from(node) || log > 1 << 40 {
            return wrong(format!(
                "log size {log} must be a multiple of 4096, at least four nodes and at most 1 TiB"
            ));
        }
        Ok(())
    }
}

/// How an open store uses the machine and the disk.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of memory for nodes, changed and unchanged, and for what was written last. Kept within a fifth more.
    pub cache_bytes: usize,
    /// Leaves are made anew together and full, whenever a third of what lies below a node changed. Once it is closed, scans are as fast as those of a store that was
    /// written in order, and about five bytes are written for one in random order; without it the least is written, about two.
    pub in_rows: bool,
    /// How long a full store waits for readers of older trees, which keep the room of what was deleted: 10 s. Long, because a reader whose
    /// disk or processor is busy with others may take seconds, and a delete that fails for want of room is worse than a slow one.
    pub reader_patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 256 << 20, in_rows: false, reader_patience: Duration::from_secs(10) }
    }
}
