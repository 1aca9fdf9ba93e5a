//! Free space, and holes: punching and finding them.

use betree::Batch;

use crate::data::FILE_MAX;
use crate::error::{Result, fail};
use crate::fs::Fs;
use crate::inode::State;
use crate::key;
use crate::record::{Record, Time};

/// Space is short when less than this fraction is available.
const SHORT: u64 = 8;

/// Space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceUsage {
    /// Bytes that files can surely use in an empty file system.
    pub total_bytes: u64,
    /// Bytes that files can surely still use, without the reserve for deletes.
    pub available_bytes: u64,
    /// Bytes of a data block.
    pub block_bytes: u64,
}

impl Fs {
    /// Returns total and available space. If it is short, what deletes have freed is found first: whoever asks may be about to decide whether
    /// something fits.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn statfs(&self) -> Result<SpaceUsage> {
        let usage = self.space_usage();
        if usage.available_bytes >= usage.total_bytes / SHORT {
            return Ok(usage);
        }
        self.reclaim_deleted()?;
        Ok(self.space_usage())
    }

    fn space_usage(&self) -> SpaceUsage {
        let files = |bytes: u64| bytes.saturating_sub(self.reserve);
        let total_bytes = files(self.store.capacity_bytes());
        let available_bytes = files(self.store.free_bytes()).min(total_bytes);
        SpaceUsage { total_bytes, available_bytes, block_bytes: self.block }
    }

    /// Implements `fallocate`, with the same `mode`.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for unsupported modes, `EFBIG`, `ENOSPC`.
    pub fn fallocate(&self, ino: u64, offset: u64, len: u64, mode: i32) -> Result<()> {
        let keep = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        let punch = mode & libc::FALLOC_FL_PUNCH_HOLE != 0;
        let zero = mode & libc::FALLOC_FL_ZERO_RANGE != 0;
        let known = libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & !known != 0 || (punch && (zero || !keep)) {
            return fail(libc::EOPNOTSUPP);
        }
        let inode = self.inode(ino)?;
        if inode.kind != libc::S_IFREG {
            return fail(libc::ENODEV);
        }
        let end = offset.saturating_add(len);
        if end > FILE_MAX {
            return fail(libc::EFBIG);
        }
        let _tree = self.tree.read();
        let mut state = inode.state.lock();
        let mut record = state.record.clone();
        if !punch && !zero && len > self.statfs()?.available_bytes {
            return fail(libc::ENOSPC);
        }
        let mut batch = Batch::new();
        if punch || zero {
            let prefix = inode.prefix(self.epoch())?;
            self.punch(&mut state, &mut record, &prefix, (offset, end), &mut batch)?;
        }
        if !keep {
            record.size = record.size.max(end);
        }
        let now = Time::now();
        record.ctime = now;
        if punch || zero || record.size != state.record.size {
            record.mtime = now;
        }
        self.put(&mut batch, &inode, &record)?;
        self.write_batch(&batch)?;
        self.apply_written(&inode, &mut state, record);
        Ok(())
    }

    /// Adds to a batch: a part of a file becomes zeros.
    fn punch(
        &self,
        state: &mut State,
        record: &mut Record,
        prefix: &[u8],
        (offset, end): (u64, u64),
        batch: &mut Batch,
    ) -> Result<()> {
        let blocks = record.size.div_ceil(self.block);
        // At the end of the file, the last block counts as whole.
        let end = if end >= record.size { blocks * self.block } else { end };
        if record.stored == 0 || offset >= end {
            return Ok(());
        }
        let whole = offset.div_ceil(self.block)..end / self.block;
        let mut edge = |from: u64, to: u64, batch: &mut Batch| -> Result<()> {
            let block = from / self.block;
            if from < to && self.is_stored(state, record, prefix, block)? {
                let zeros = vec![0; (to - from) as usize];
                batch.patch(&key::data(prefix, block), (from % self.block) as u32, &zeros);
            }
            Ok(())
        };
        if whole.start > whole.end {
            return edge(offset, end, batch);
        }
        edge(offset, whole.start * self.block, batch)?;
        edge(whole.end * self.block, end, batch)?;
        if !whole.is_empty() {
            record.stored -= self.count_stored(record, prefix, whole.clone())?;
            self.delete_blocks(prefix, whole.clone(), record.size, batch);
            let above = state.known.split_off(&whole.end);
            state.known.split_off(&whole.start);
            state.known.extend(above);
        }
        Ok(())
    }

    /// Finds the next data (`hole` false) or the next hole from `offset` on.
    ///
    /// # Errors
    /// `ENXIO` behind the end of the file, and if no data follows.
    pub fn seek(&self, ino: u64, offset: u64, hole: bool) -> Result<u64> {
        let inode = self.inode(ino)?;
        let _tree = self.tree.read();
        let record = inode.state.lock().record.clone();
        if offset >= record.size {
            return fail(libc::ENXIO);
        }
        let blocks = record.size.div_ceil(self.block);
        if !record.is_file() || record.stored == blocks {
            return Ok(if hole { record.size } else { offset });
        }
        let prefix = inode.prefix(self.epoch())?;
        let first = offset / self.block;
        let mut scan = self.store.scan(&key::data(&prefix, first), Some(&key::data(&prefix, blocks)));
        drop(_tree);
        let mut next = first;
        while let Some((key, _)) = scan.next_entry()? {
            let Some((_, block)) = key::split_data(key) else { break };
            if !hole {
                return Ok(offset.max(block * self.block));
            }
            if block != next {
                break;
            }
            next += 1;
        }
        if hole { Ok(offset.max(next * self.block).min(record.size)) } else { fail(libc::ENXIO) }
    }
}
