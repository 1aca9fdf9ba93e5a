//! File data: reading, writing and truncating.

use std::sync::atomic::Ordering::Relaxed;

use betree::Batch;

use crate::attr::drop_privileges;
use crate::error::{Result, fail};
use crate::fs::Fs;
use crate::inode::{Inode, State};
use crate::key;
use crate::record::{Record, Time};

/// The largest file, in bytes.
pub const FILE_MAX: u64 = 16 << 40;
/// Reads of up to this many blocks look up each block; longer reads scan.
const FEW_BLOCKS: u64 = 4;

impl Fs {
    /// Appends up to `len` bytes of a file, starting at `offset`, to `out`; fewer only at the end of the file.
    ///
    /// # Errors
    /// `EISDIR`, `EINVAL` if the inode is not a file; `EIO` if the disk fails.
    pub fn read(&self, ino: u64, offset: u64, len: u32, out: &mut Vec<u8>) -> Result<()> {
        let inode = self.inode(ino)?;
        if inode.kind != libc::S_IFREG {
            return fail(if inode.is_dir() { libc::EISDIR } else { libc::EINVAL });
        }
        let start = out.len();
        loop {
            let keys = || (self.epoch(), inode.version.load(Relaxed));
            let (before, prefix, size, stored) = {
                let _tree = self.tree.read();
                let state = inode.state.lock();
                (keys(), inode.prefix(self.epoch())?, state.record.size, state.record.stored)
            };
            let end = size.min(offset.saturating_add(len.into()));
            if offset >= end {
                return Ok(());
            }
            if stored > 0 {
                self.read_blocks(&prefix, offset, end, out)?;
            }
            out.resize(start + (end - offset) as usize, 0);
            // If the keys changed in the meantime, the data read is stale; read again.
            let _tree = self.tree.read();
            if keys() == before {
                return Ok(());
            }
            out.truncate(start);
        }
    }

    /// Appends the bytes from `offset` to `end`, without trailing zeros.
    fn read_blocks(&self, prefix: &[u8], offset: u64, end: u64, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let mut add = |block: u64, value: &[u8]| {
            let at = block * self.block;
            let from = offset.max(at);
            let to = end.min(at + value.len() as u64);
            if from < to {
                out.resize(start + (from - offset) as usize, 0);
                out.extend_from_slice(&value[(from - at) as usize..(to - at) as usize]);
            }
        };
        let blocks = offset / self.block..end.div_ceil(self.block);
        if self.stream.read(&self.store, prefix, &blocks, &mut add)? {
            return Ok(());
        }
        if blocks.end - blocks.start <= FEW_BLOCKS {
            for block in blocks {
                if let Some(value) = self.store.get(&key::data(prefix, block))? {
                    add(block, &value);
                }
            }
            return Ok(());
        }
        let mut scan =
            self.store.scan(&key::data(prefix, blocks.start), Some(&key::data(prefix, blocks.end)));
        while let Some((key, value)) = scan.next_entry()? {
            if let Some((_, block)) = key::split_data(key) {
                add(block, value);
            }
        }
        Ok(())
    }

    /// Writes `data` at `offset`. `unprivileged` clears set-user-id, set-group-id and capabilities.
    ///
    /// # Errors
    /// `EFBIG`, `ENOSPC`; `ESTALE` if the file was deleted.
    pub fn write(&self, ino: u64, offset: u64, data: &[u8], unprivileged: bool) -> Result<()> {
        let inode = self.inode(ino)?;
        if inode.kind != libc::S_IFREG {
            return fail(libc::EINVAL);
        }
        if offset.saturating_add(data.len() as u64) > FILE_MAX {
            return fail(libc::EFBIG);
        }
        let _tree = self.tree.read();
        let mut state = inode.state.lock();
        let written = self.write_locked(&inode, &mut state, offset, data, unprivileged);
        if written.is_err() {
            // The blocks added to `known` were not written.
            state.known.clear();
        }
        written
    }

    fn write_locked(
        &self,
        inode: &Inode,
        state: &mut State,
        offset: u64,
        data: &[u8],
        unprivileged: bool,
    ) -> Result<()> {
        let prefix = inode.prefix(self.epoch())?;
        let now = Time::now();
        let mut at = offset;
        let mut rest = data;
        let mut batch = Batch::new();
        while !rest.is_empty() {
            let mut record = state.record.clone();
            while !rest.is_empty() && batch.bytes() < self.batch_max() {
                let n = (self.block - at % self.block).min(rest.len() as u64) as usize;
                let (piece, more) = rest.split_at(n);
                self.write_piece(state, &mut record, &prefix, at, piece, &mut batch)?;
                at += n as u64;
                rest = more;
            }
            (record.mtime, record.ctime) = (now, now);
            if unprivileged {
                drop_privileges(&mut record);
            }
            self.put(&mut batch, inode, &record)?;
            self.grow(&batch)?;
            self.apply_written(inode, state, record);
            batch.clear();
        }
        Ok(())
    }

    /// Adds a write within one block to a batch.
    fn write_piece(
        &self,
        state: &mut State,
        record: &mut Record,
        prefix: &[u8],
        at: u64,
        piece: &[u8],
        batch: &mut Batch,
    ) -> Result<()> {
        let (block, within) = (at / self.block, (at % self.block) as usize);
        let end = at + piece.len() as u64;
        let key = key::data(prefix, block);
        let whole = within == 0 && (piece.len() as u64 == self.block || end >= record.size);
        if self.is_stored(state, record, prefix, block)? {
            if whole {
                batch.insert(&key, piece);
            } else {
                batch.patch(&key, within as u32, piece);
            }
        } else {
            if within == 0 {
                batch.insert(&key, piece);
            } else {
                let mut value = vec![0; within + piece.len()];
                value[within..].copy_from_slice(piece);
                batch.insert(&key, &value);
            }
            record.stored += 1;
            state.known.insert(block);
        }
        record.size = record.size.max(end);
        if record.stored == record.size.div_ceil(self.block) {
            // The file is no longer sparse: lookups are unnecessary.
            state.known.clear();
        }
        Ok(())
    }

    /// Whether a block of a file is in the store, or in the batch that contains `record`.
    pub(crate) fn is_stored(
        &self,
        state: &mut State,
        record: &Record,
        prefix: &[u8],
        block: u64,
    ) -> Result<bool> {
        let blocks = record.size.div_ceil(self.block);
        if record.stored == 0 || block >= blocks {
            return Ok(false);
        }
        if record.stored == blocks || state.known.contains(&block) {
            return Ok(true);
        }
        let found = self.store.get(&key::data(prefix, block))?.is_some();
        if found {
            state.known.insert(block);
        }
        Ok(found)
    }

    /// Adds a change of the file size to a batch.
    pub(crate) fn resize(
        &self,
        inode: &Inode,
        state: &mut State,
        record: &mut Record,
        size: u64,
        batch: &mut Batch,
    ) -> Result<()> {
        if size > FILE_MAX {
            return fail(libc::EFBIG);
        }
        if size < record.size && record.stored > 0 {
            let prefix = inode.prefix(self.epoch())?;
            let (keep, end) = (size.div_ceil(self.block), record.size.div_ceil(self.block));
            record.stored -= self.count_stored(record, &prefix, keep..end)?;
            self.delete_blocks(&prefix, keep..end, record.size, batch);
            state.known.split_off(&keep);
            let within = (size % self.block) as usize;
            // Truncated bytes must not reappear when the file grows again.
            if within > 0
                && let key = key::data(&prefix, keep - 1)
                && let Some(value) = self.store.get(&key)?
                && value.len() > within
            {
                batch.insert(&key, &value[..within]);
            }
        }
        record.size = size;
        Ok(())
    }

    /// Counts the stored blocks in `blocks`, which is below the end of the file.
    pub(crate) fn count_stored(
        &self,
        record: &Record,
        prefix: &[u8],
        blocks: std::ops::Range<u64>,
    ) -> Result<u64> {
        let all = record.size.div_ceil(self.block);
        if record.stored == all {
            return Ok(blocks.end - blocks.start);
        }
        if record.stored == 0 || blocks.is_empty() {
            return Ok(0);
        }
        if blocks == (0..all) {
            return Ok(record.stored);
        }
        let mut scan =
            self.store.scan(&key::data(prefix, blocks.start), Some(&key::data(prefix, blocks.end)));
        let mut count = 0;
        while scan.next_entry()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}
