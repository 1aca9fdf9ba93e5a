//! The flusher thread: it applies memtables to the tree and writes checkpoints.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::aligned::Aligned;
use crate::error::{Error, Result, catch_panic};
use crate::node::{Key, Link};
use crate::pointer::Pointer;
use crate::run::Run;
use crate::space::Space;
use crate::store::Shared;
use crate::superblock::Superblock;
use crate::tree::{Packing, Writer, Writing};
use crate::view::Version;

/// A checkpoint is due when this fraction of the log is in use. The rest takes concurrent writes.
const CHECKPOINT: f64 = 0.7;

/// The log drops records that are in the tree once they are this many times the memtable size.
const DROP_FACTOR: usize = 2;

/// Leaves of a node are rewritten in a row once the messages above them weigh more than this fraction of the leaves. A byte is rewritten about
/// this many times.
const SHARE: usize = 3;

/// The same fraction if space is short.
const SHARE_IF_SHORT: usize = 10;

/// Maximum bytes of leaves that closing a store rewrites: a few seconds of a disk.
const CLOSE_REWRITE: u64 = 1 << 30;

/// Maximum number of nodes that closing a store searches for the next pending messages.
const VISITS: u32 = 256;

/// Requests to the thread.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Numbers of requested and completed checkpoints.
    pub checkpoints: u64,
    pub made: u64,
    /// The log is full: a checkpoint is needed to move its tail.
    pub tail: bool,
    /// A writer lacks space: deletes must be flushed to free it.
    pub purge: bool,
    /// The next checkpoint closes the store.
    pub close: bool,
    pub stop: bool,
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Flusher {
    pub root: Link,
    pub space: Space,
    /// The superblock on the disk, except for `next_birth`, `buffered` and the counters, which are current.
    pub superblock: Superblock,
    /// The version of the tree.
    pub version: u64,
    /// The version of the tree on the disk.
    pub durable: u64,
    /// The number of buffered bytes for which a purge is not worthwhile.
    pub purged: u64,
    /// Whether a part of the frozen memtable is in the tree.
    pub halfway: bool,
    pub log_bytes_before: u64,
    pub given_before: u64,
}

/// Runs until the store closes.
pub(crate) fn run(shared: &Arc<Shared>) {
    loop {
        let (stop, checkpoints, tail, purge, close) = {
            let mut wanted = shared.wanted.lock();
            loop {
                let failed = shared.failed.lock().is_some();
                let frozen = shared.view.read().frozen.is_some();
                let asked = wanted.checkpoints > wanted.made || wanted.tail;
                if wanted.stop || (!failed && (frozen || asked)) {
                    let purge = std::mem::take(&mut wanted.purge);
                    break (wanted.stop, wanted.checkpoints, asked, purge, wanted.close);
                }
                shared.work.wait(&mut wanted);
            }
        };
        if stop {
            return;
        }
        if let Err(error) = catch_panic("writing the tree", || turn(shared, tail, purge, close)) {
            shared.fail(error);
            continue;
        }
        let mut wanted = shared.wanted.lock();
        if tail {
            wanted.made = wanted.made.max(checkpoints);
            wanted.tail = false;
        }
        shared.done.notify_all();
    }
}

/// Applies the frozen memtable to the tree, and writes a checkpoint if one is requested or due.
fn turn(shared: &Shared, checkpoint: bool, purge: bool, close: bool) -> Result<()> {
    let mut flusher = shared.flusher.lock();
    flusher.drain(shared)?;
    if purge {
        // A writer waits for space, and few bytes of deletes may free much: purge regardless of the number of buffered bytes.
        flusher.purge(shared)?;
    }
    if close && shared.contiguous_leaves {
        flusher.flush_pending(shared)?;
    }
    if checkpoint || shared.log.used() > CHECKPOINT {
        flusher.checkpoint(shared, close)?;
    }
    flusher.publish_room(shared);
    Ok(())
}

impl Flusher {
    /// Marks the store as in use: from here on the log has the next epoch.
    pub fn begin(&mut self, shared: &Shared) -> Result<()> {
        self.superblock.epoch = self.superblock.epoch.wrapping_add(1);
        self.checkpoint(shared, false)?;
        self.publish_room(shared);
        Ok(())
    }

    /// Applies the frozen memtable, if any, to the tree.
    pub fn drain(&mut self, shared: &Shared) -> Result<()> {
        let Some(memtable) = shared.view.read().frozen.clone() else { return Ok(()) };
        let mut from = Vec::new();
        loop {
            let slice = shared.params.node_bytes as usize / if self.is_tight(shared) { 16 } else { 8 };
            let (run, next) = memtable.read().run(&from, None, u64::MAX, slice, &shared.pager.cache.gauge);
            self.apply(shared, &run)?;
            shared.drained.fetch_add(run.bytes().len() as u64, Relaxed);
            self.halfway = true;
            let Some(key) = next else { break };
            from = key;
        }
        // Purge again only if buffers have grown considerably since the last purge.
        if self.spare_slots() < reserve(shared)
            && self.superblock.buffered > self.purged + shared.params.node() / 8
        {
            // Deletes use space in buffers, and free space at the leaves.
            self.purge(shared)?;
        }
        // Threads that wait for this check the view under the same lock.
        let next = {
            let _wanted = shared.wanted.lock();
            let mut view = shared.view.write();
            view.frozen = None;
            shared.drained.store(0, Relaxed);
            shared.done.notify_all();
            view.active.read().log_start
        };
        self.halfway = false;
        shared.log.drop_applied(next, DROP_FACTOR * shared.memtable_bytes);
        Ok(())
    }

    /// Applies messages to the tree.
    fn apply(&mut self, shared: &Shared, run: &Run) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        self.ensure_room(shared)?;
        let mut writer = Writer::new(&shared.pager, self.packing(shared));
        writer.spare = self.spare_for_rows();
        writer.share = if self.is_short(shared) { SHARE_IF_SHORT } else { SHARE };
        self.root = writer.apply_to_root(&self.root, run)?;
        let Writer { dropped, buffered, inner, .. } = writer;
        self.changed(shared, dropped, (buffered, inner))
    }

    /// Flushes all messages to the leaves where that may free space.
    fn purge(&mut self, shared: &Shared) -> Result<()> {
        if self.superblock.buffered == 0 {
            return Ok(());
        }
        let mut from: Option<Key> = Some(Arc::from([]));
        while let Some(mut key) = from {
            let packing = if shared.contiguous_leaves { Packing::Rows } else { Packing::Tight };
            // Each row that takes inserts may need one more slot, all at the same time; the reserve for copies must not supply them.
            let only_deletes = shared.contiguous_leaves && self.spare_slots() < reserve(shared);
            if only_deletes {
                let writer = Writer::new(&shared.pager, packing);
                let Some(deleting) = writer.next_deleting(&self.root, &key)? else { break };
                key = deleting;
            }
            from = self.purge_step(shared, &key, packing, only_deletes)?.0;
        }
        self.purged = self.superblock.buffered;
        Ok(())
    }

    /// Flushes messages from key `from` on to some leaves, all messages or only deletes. Returns the next key, and the bytes of leaves rewritten
    /// in rows.
    fn purge_step(
        &mut self,
        shared: &Shared,
        from: &[u8],
        packing: Packing,
        only_deletes: bool,
    ) -> Result<(Option<Key>, u64)> {
        self.ensure_room(shared)?;
        let mut writer = Writer::new(&shared.pager, packing);
        // While only deletes may reach the leaves, no row is rewritten for another reason.
        writer.spare = if only_deletes { 0 } else { self.spare_for_rows() };
        writer.only_deletes = only_deletes;
        let (root, next) = writer.purge(&self.root, from)?;
        self.root = root;
        let Writer { dropped, buffered, inner, made, .. } = writer;
        self.changed(shared, dropped, (buffered, inner))?;
        Ok((next, made))
    }

    /// Flushes pending messages before a store in rows is closed, up to [`CLOSE_REWRITE`] bytes, so that later scans read leaves only.
    fn flush_pending(&mut self, shared: &Shared) -> Result<()> {
        let mut left = CLOSE_REWRITE;
        let mut from: Option<Key> = Some(Arc::from([]));
        while let Some(key) = from
            && left > 0
            && !self.is_tight(shared)
        {
            let writer = Writer::new(&shared.pager, Packing::Rows);
            let Some(key) = writer.next_waiting(&self.root, &key, VISITS)? else { break };
            let (next, made) = self.purge_step(shared, &key, Packing::Rows, false)?;
            from = next;
            left = left.saturating_sub(made);
        }
        Ok(())
    }

    /// Ensures free slots for changed nodes, whose old extents are still held. If few are free, a checkpoint frees the old ones.
    fn ensure_room(&mut self, shared: &Shared) -> Result<()> {
        // A slice, or a purge step, changes a few nodes per level, and possibly all leaves of some.
        let levels = u64::from(level(&self.root));
        let needed = changed(&self.root)
            + if shared.contiguous_leaves { levels.max(1) * row_slots(shared) } else { 4 * (levels + 2) };
        if self.space.free_slots() < needed && self.space.dropped_slots() > 0 {
            self.checkpoint(shared, false)?;
        }
        // A scan or its prefetch may still hold an older tree, for a short time.
        let began = Instant::now();
        while self.space.free_slots() < needed
            && self.space.dropped_slots() > 0
            && began.elapsed() < shared.reader_timeout
        {
            std::thread::sleep(Duration::from_millis(1));
            self.release(shared);
        }
        Ok(())
    }

    fn packing(&self, shared: &Shared) -> Packing {
        match shared.contiguous_leaves {
            true => Packing::Rows,
            false if self.is_tight(shared) => Packing::Tight,
            false => Packing::Split,
        }
    }

    fn is_tight(&self, shared: &Shared) -> bool {
        self.spare_slots() < 2 * reserve(shared)
    }

    /// Whether buffered messages use space that writers may need.
    fn is_short(&self, shared: &Shared) -> bool {
        shared.room.load(Relaxed) < capacity(shared) as i64 / 8
    }

    /// Slots that are free after the next checkpoint.
    fn spare_slots(&self) -> u64 {
        (self.space.free_slots() + self.space.dropped_slots()).saturating_sub(changed(&self.root))
    }

    /// Slots that are free now, of which rewrites of rows that could wait may use some.
    fn spare_for_rows(&self) -> u64 {
        self.space.free_slots().saturating_sub(changed(&self.root))
    }

    /// Records the effects of a tree change, and publishes the tree.
    fn changed(
        &mut self,
        shared: &Shared,
        dropped: Vec<Pointer>,
        (buffered, inner): (i64, i64),
    ) -> Result<()> {
        self.version += 1;
        for extent in dropped {
            self.space.drop_extent(extent.at, extent.bytes, self.version);
        }
        self.superblock.buffered = self.superblock.buffered.wrapping_add_signed(buffered);
        self.superblock.inner = self.superblock.inner.wrapping_add_signed(inner);
        self.publish(shared);
        self.limit_memory(shared)?;
        self.release(shared);
        self.publish_room(shared);
        Ok(())
    }

    /// Writes changed nodes when they take more than five sixteenths of the memory: first leaves, which change less often than inner nodes; of the
    /// others only the excess, because they will soon change again.
    fn limit_memory(&mut self, shared: &Shared) -> Result<()> {
        let most = shared.pager.cache.budget() / 8 * 5;
        for up_to in [0, 1, u8::MAX] {
            let excess = self.unwritten_bytes(shared).saturating_sub(most);
            if excess == 0 {
                break;
            }
            self.write_back(shared, up_to, excess as u64)?;
            self.publish(shared);
        }
        shared.pager.cache.make_room();
        Ok(())
    }

    /// Bytes of changed nodes in memory.
    fn unwritten_bytes(&self, shared: &Shared) -> usize {
        let view = shared.view.read();
        let memtables: usize =
            view.active.read().bytes() + view.frozen.as_ref().map_or(0, |frozen| frozen.read().bytes());
        let cache = &shared.pager.cache;
        cache.gauge.bytes().saturating_sub(cache.bytes() + memtables)
    }

    fn write_back(&mut self, shared: &Shared, up_to: u8, inner_bytes: u64) -> Result<()> {
        let writer = Writer::new(&shared.pager, Packing::Split);
        let mut writing = Writing {
            space: &mut self.space,
            next_birth: &mut self.superblock.next_birth,
            written: &mut self.superblock.counters.nodes,
            up_to,
            inner_bytes,
            hint: 0,
        };
        writer.write_back(&mut self.root, &mut writing)
    }

    /// Writes the tree, and the superblock that points to it.
    pub fn checkpoint(&mut self, shared: &Shared, close: bool) -> Result<()> {
        let (tail, next) = {
            let view = shared.view.read();
            // Separate reads: both may be the same memtable, and a writer may take the lock in between.
            let tail = view.frozen.as_ref().unwrap_or(&view.active).read().log_start;
            let next = view.active.read().log_start;
            (tail, next)
        };
        if self.halfway {
            // The tree has a part of the records after the tail; recovery must find all of them.
            shared.log.write_before(next)?;
        }
        self.write_back(shared, u8::MAX, u64::MAX)?;
        self.version += 1;
        self.publish(shared);
        let Link::Disk(root) = self.root else { unreachable!("the whole tree was written") };
        let map = self.write_map(shared)?;
        shared.pager.flush()?;
        let superblock = &mut self.superblock;
        superblock.closed = close;
        superblock.generation += 1;
        superblock.tail = tail;
        superblock.root = root;
        superblock.map = map;
        superblock.counters.log = self.log_bytes_before + shared.log.written_bytes();
        superblock.counters.given = self.given_before + shared.given.load(Relaxed);
        superblock.counters.frame += u64::from(map.bytes) + 4096;
        superblock.write(&*shared.pager.storage)?;
        shared.pager.flush()?;
        self.durable = self.version;
        shared.log.set_tail(tail);
        self.release(shared);
        Ok(())
    }

    fn write_map(&mut self, shared: &Shared) -> Result<Pointer> {
        let old = self.superblock.map;
        self.space.drop_extent(old.at, old.bytes, self.version);
        let bytes = shared.params.blocks(self.space.map_bytes() as usize);
        let at = self.space.take_last(bytes as u64).ok_or(Error::NoSpace { bytes: bytes as u64 })?;
        let birth = self.superblock.next_birth;
        self.superblock.next_birth += 1;
        let map = self.space.encode();
        let mut out = Aligned::zeroed(bytes);
        out[..map.len()].copy_from_slice(&map);
        let sum = shared.pager.layout.header_sum(at, birth, &map);
        shared.pager.storage.write_at(&out, at).map_err(|e| Error::io("writing", at, bytes, &e))?;
        Ok(Pointer { at, birth, bytes: bytes as u32, header: map.len() as u32, sum, level: Pointer::MAP })
    }

    /// Publishes the current tree to readers.
    fn publish(&self, shared: &Shared) {
        let version = Arc::new(Version { root: self.root.clone() });
        shared.versions.lock().push_back((self.version, Arc::downgrade(&version)));
        let before = std::mem::replace(&mut shared.view.write().version, version);
        drop(before);
    }

    /// Frees the extents that neither the tree on the disk nor any reader uses.
    fn release(&mut self, shared: &Shared) {
        let oldest = {
            let mut versions = shared.versions.lock();
            let dead = |version: &(u64, Weak<Version>)| version.1.strong_count() == 0;
            while versions.front().is_some_and(dead) {
                versions.pop_front();
            }
            versions.front().map_or(self.version, |(number, _)| *number)
        };
        self.space.release(oldest.min(self.durable));
    }

    /// Updates the writable bytes. Some slots are reserved for the copies of a checkpoint, so that deletes always succeed. Each inner node may need
    /// a slot for its buffers, except in rows, where buffers stay small.
    pub fn publish_room(&self, shared: &Shared) {
        let buffers = if shared.contiguous_leaves { 0 } else { self.superblock.inner };
        let spare = self.spare_slots() as i64 - (reserve(shared) + buffers) as i64;
        shared.room.store(bytes_in(shared, spare) - self.superblock.buffered as i64, Relaxed);
        shared.buffered.store(self.superblock.buffered.saturating_sub(self.purged), Relaxed);
    }
}

/// Bytes of keys and values that fit in `slots` in the worst case: half, as split leaves are half full; in rows eleven sixteenths, as the last
/// of five leaves may be empty, and the row has a node above it.
fn bytes_in(shared: &Shared, slots: i64) -> i64 {
    let sixteenths = if shared.contiguous_leaves { 11 } else { 8 };
    slots * shared.params.node() as i64 / 16 * sixteenths
}

/// Bytes of keys and values that fit into an empty store in the worst case.
pub(crate) fn capacity(shared: &Shared) -> u64 {
    let slots = shared.pager.layout.area.1.saturating_sub(reserve(shared));
    bytes_in(shared, slots as i64) as u64
}

/// Slots of a row of leaves and the nodes above it.
fn row_slots(shared: &Shared) -> u64 {
    u64::from(shared.params.fanout) + 2
}

/// Slots that inserts must not use.
fn reserve(shared: &Shared) -> u64 {
    let leaves = if shared.contiguous_leaves { u64::from(shared.params.fanout) } else { 0 };
    (shared.pager.layout.area.1 / 16).max(12 + leaves)
}

/// Number of changed nodes of a tree.
fn changed(link: &Link) -> u64 {
    match link {
        Link::Memory(node) => 1 + node.entries.iter().map(|entry| changed(&entry.child)).sum::<u64>(),
        Link::Disk(_) | Link::None => 0,
    }
}

fn level(link: &Link) -> u8 {
    match link {
        Link::Memory(node) => node.level,
        Link::Disk(pointer) => pointer.level,
        Link::None => 0,
    }
}
