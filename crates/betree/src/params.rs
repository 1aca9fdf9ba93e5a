//! The sizes of a store, which are fixed at creation and stored in its superblock.

use std::time::Duration;

use crate::error::{Error, Result};

/// Bytes of the two superblocks with their padding.
pub(crate) const SUPER_AREA: u64 = 8192;
/// Bytes of a log sector.
pub(crate) const SECTOR: usize = 512;

/// Sizes of a store. Their defaults depend on the size of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Block size, the unit of addresses and alignment, in bytes: a power of two from 512 to 4096.
    pub block_bytes: u32,
    /// Maximum node size, which is also the slot size, in bytes: a power of two from 4 KiB to 16 MiB.
    pub node_bytes: u32,
    /// Maximum basement size in bytes, except for longer single messages.
    pub basement_bytes: u32,
    /// Maximum number of children of a node, 4 to 64.
    pub fanout: u32,
    /// Log size in bytes. The log must hold all writes that are in no checkpoint yet.
    pub log_bytes: u64,
}

impl Params {
    /// The defaults for an image of `image_bytes`: nodes of 4 MiB from 1 GiB on; few children with large buffers, so that a leaf receives many
    /// messages per write; a log of a sixteenth of the image, at most 512 MiB.
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

    /// The largest batch in bytes: keys and values, plus 9 (a patch 13) for each write.
    pub fn max_batch_bytes(&self) -> usize {
        (self.log_bytes / 8).min(64 << 20) as usize
    }

    pub(crate) fn node(&self) -> u64 {
        u64::from(self.node_bytes)
    }

    pub(crate) fn block(&self) -> u64 {
        u64::from(self.block_bytes)
    }

    /// `bytes` rounded up to whole blocks.
    pub(crate) fn blocks(&self, bytes: usize) -> usize {
        bytes.next_multiple_of(self.block_bytes as usize)
    }

    /// Start and number of the slots in an image of `image_bytes`.
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
        // A header has a key per child, and must leave most of the node to the buffers.
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

/// Runtime options of an open store.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Memory in bytes for cached nodes, changed nodes and memtables. May be exceeded by up to a fifth.
    pub cache_bytes: usize,
    /// Rewrites the leaves of a node together, full, whenever a third of the data below it has changed. After a close, scans are as fast as in a
    /// store written in order. Random writes cost about five bytes per byte; without this option about two, the minimum.
    pub contiguous_leaves: bool,
    /// How long writes to a full store wait for readers of older trees, which hold deleted space; default 10 s. Long, because a reader on a busy
    /// disk or processor may take seconds, and a delete that fails for lack of space is worse than a slow one.
    pub reader_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 256 << 20, contiguous_leaves: false, reader_timeout: Duration::from_secs(10) }
    }
}
