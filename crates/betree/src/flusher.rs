//! The thread that brings memory into the tree and makes checkpoints.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::aligned::Aligned;
use crate::error::{Error, Result};
use crate::node::{Key, Link};
use crate::pointer::Pointer;
use crate::run::Run;
use crate::space::Space;
use crate::store::Shared;
use crate::superblock::Superblock;
use crate::tree::{Packing, Writer, Writing};
use crate::view::Version;

/// A checkpoint is made when so much of the log is in use. What is left takes the writes that come meanwhile.
const CHECKPOINT: f64 = 0.7;

/// The log lets go of what is in the tree where it is so many times what memory takes.
const LET_GO: usize = 2;

/// The part of the leaves of a node that messages above them may weigh before the leaves are made anew in a row: a byte is written again
/// about that many times.
const SHARE: usize = 3;

/// The same where room is short.
const SHARE_WHERE_SHORT: usize = 10;

/// Bytes of leaves that are made anew at most when a store is closed: a few seconds of a disk.
const SETTLED: u64 = 1 << 30;

/// Nodes that are looked at, when a store is closed, for the next messages that wait.
const VISITS: u32 = 256;

/// What others want of the thread.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Checkpoints asked for and made, counted.
    pub checkpoints: u64,
    pub made: u64,
    /// The log is full: a checkpoint, so that its tail moves.
    pub tail: bool,
    /// Somebody lacks room: what is deleted is to give it back.
    pub purge: bool,
    /// The next checkpoint closes the store.
    pub close: bool,
    pub stop: bool,
}

/// What the thread works on.
#[derive(Debug)]
pub(crate) struct Flusher {
    pub root: Link,
    pub space: Space,
    /// As on the disk, but for `next_birth`, `buffered` and the counters, which are as of now.
    pub superblock: Superblock,
    /// The number of the tree.
    pub version: u64,
    /// The number of the tree that is on the disk.
    pub durable: u64,
    /// Bytes in buffers up to which a purge gives nothing.
    pub purged: u64,
    /// Whether a part of the frozen memtable is in the tree.
    pub halfway: bool,
    pub log_bytes_before: u64,
    pub given_before: u64,
}

/// Works until the store ends.
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
        if let Err(error) = turn(shared, tail, purge, close) {
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

/// Brings the frozen memtable into the tree, and makes a checkpoint where one is asked for or it is time.
fn turn(shared: &Shared, checkpoint: bool, purge: bool, close: bool) -> Result<()> {
    let mut flusher = shared.flusher.lock();
    flusher.drain(shared)?;
    if purge {
        // Few bytes of deletes may give back much, and somebody waits for it: whatever is in buffers is worth the trouble.
        flusher.purge(shared)?;
    }
    if close && shared.in_rows {
        flusher.settle(shared)?;
    }
    if checkpoint || shared.log.used() > CHECKPOINT {
        flusher.checkpoint(shared, close)?;
    }
    flusher.tell_room(shared);
    Ok(())
}

impl Flusher {
    /// Puts the store in use: from here on the log is of the next epoch.
    pub fn begin(&mut self, shared: &Shared) -> Result<()> {
        self.superblock.epoch = self.superblock.epoch.wrapping_add(1);
        self.checkpoint(shared, false)?;
        self.tell_room(shared);
        Ok(())
    }

    /// Brings the frozen memtable into the tree, if there is one.
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
        // It is worth the trouble again when there is much more.
        if self.spare_slots() < reserve(shared)
            && self.superblock.buffered > self.purged + shared.params.node() / 8
        {
            // Deletes take room in buffers; at the leaves they give it.
            self.purge(shared)?;
        }
        // What waits for the place looks under the same lock.
        let next = {
            let _wanted = shared.wanted.lock();
            let mut view = shared.view.write();
            view.frozen = None;
            shared.drained.store(0, Relaxed);
            shared.done.notify_all();
            view.active.read().log_start
        };
        self.halfway = false;
        shared.log.let_go(next, LET_GO * shared.memtable_bytes);
        Ok(())
    }

    /// Applies messages to the tree.
    fn apply(&mut self, shared: &Shared, run: &Run) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        self.have_room(shared)?;
        let mut writer = Writer::new(&shared.pager, self.packing(shared));
        writer.spare = self.space.free_slots().saturating_sub(changed(&self.root));
        writer.share = if self.is_short(shared) { SHARE_WHERE_SHORT } else { SHARE };
        self.root = writer.apply_to_root(&self.root, run)?;
        let Writer { dropped, buffered, inner, .. } = writer;
        self.changed(shared, dropped, (buffered, inner))
    }

    /// Sends all messages down to the leaves, where that may give room.
    fn purge(&mut self, shared: &Shared) -> Result<()> {
        if self.superblock.buffered == 0 {
            return Ok(());
        }
        let mut from: Option<Key> = Some(Arc::from([]));
        while let Some(mut key) = from {
            let packing = if shared.in_rows { Packing::Rows } else { Packing::Tight };
            // A row that takes in inserts may need a slot more, and all rows may at the same time: what is kept for copies is not for that.
            let only_deletes = shared.in_rows && self.spare_slots() < reserve(shared);
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

    /// Sends messages from `from` on down to some leaves, all or deletes alone. Tells where to go on, and how many bytes of leaves were made
    /// anew in rows.
    fn purge_step(
        &mut self,
        shared: &Shared,
        from: &[u8],
        packing: Packing,
        only_deletes: bool,
    ) -> Result<(Option<Key>, u64)> {
        self.have_room(shared)?;
        let mut writer = Writer::new(&shared.pager, packing);
        writer.only_deletes = only_deletes;
        let (root, next) = writer.purge(&self.root, from)?;
        self.root = root;
        let Writer { dropped, buffered, inner, made, .. } = writer;
        self.changed(shared, dropped, (buffered, inner))?;
        Ok((next, made))
    }

    /// Sends down what waits, before a store in rows is closed, up to [`SETTLED`]: who opens it next reads leaves alone.
    fn settle(&mut self, shared: &Shared) -> Result<()> {
        let mut left = SETTLED;
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

    /// Each changed node needs a new extent while its old one is still held. Makes a checkpoint, which gives the old ones back, when there are few.
    fn have_room(&mut self, shared: &Shared) -> Result<()> {
        // A slice, or a step of a purge, changes a few nodes on each level, and maybe all leaves of some.
        let levels = u64::from(level(&self.root));
        let needed = changed(&self.root)
            + if shared.in_rows { levels.max(1) * row_slots(shared) } else { 4 * (levels + 2) };
        if self.space.free_slots() < needed && self.space.dropped_slots() > 0 {
            self.checkpoint(shared, false)?;
        }
        // A scan, or what is read ahead for one, may still hold an older tree. It is soon done.
        let began = Instant::now();
        while self.space.free_slots() < needed
            && self.space.dropped_slots() > 0
            && began.elapsed() < shared.reader_patience
        {
            std::thread::sleep(Duration::from_millis(1));
            self.release(shared);
        }
        Ok(())
    }

    fn packing(&self, shared: &Shared) -> Packing {
        match shared.in_rows {
            true => Packing::Rows,
            false if self.is_tight(shared) => Packing::Tight,
            false => Packing::Split,
        }
    }

    fn is_tight(&self, shared: &Shared) -> bool {
        self.spare_slots() < 2 * reserve(shared)
    }

    /// Whether what waits in buffers takes room that others may want.
    fn is_short(&self, shared: &Shared) -> bool {
        shared.room.load(Relaxed) < capacity(shared) as i64 / 8
    }

    /// Slots that will be free after the next checkpoint.
    fn spare_slots(&self) -> u64 {
        (self.space.free_slots() + self.space.dropped_slots()).saturating_sub(changed(&self.root))
    }

    /// Takes note of what a change of the tree did, and shows it to readers.
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
        self.spare_memory(shared)?;
        self.release(shared);
        self.tell_room(shared);
        Ok(())
    }

    /// Writes changed nodes when they take more than five sixteenths of the memory: leaves first, which change more seldom than what is above
    /// them; of the rest only what is too much, because it will soon change again.
    fn spare_memory(&mut self, shared: &Shared) -> Result<()> {
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

    /// Bytes of nodes in memory that are not on the disk.
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

    /// Brings the tree to the disk, and the superblock that points to it.
    pub fn checkpoint(&mut self, shared: &Shared, close: bool) -> Result<()> {
        let (tail, next) = {
            let view = shared.view.read();
            // One after the other: they may be the same, and a writer may come between.
            let tail = view.frozen.as_ref().unwrap_or(&view.active).read().log_start;
            let next = view.active.read().log_start;
            (tail, next)
        };
        if self.halfway {
            // The tree has a part of what the log has from the tail on: whoever recovers must find all of that.
            shared.log.write_before(next)?;
        }
        self.write_back(shared, u8::MAX, u64::MAX)?;
        self.version += 1;
        self.publish(shared);
        let Link::Disk(root) = self.root else { unreachable!("all was written") };
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

    /// Lets readers see the tree as it is now.
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

    /// Says how much can still be written. Some slots stay for the copies that a checkpoint makes, so that deletes always pass. Each inner node
    /// may come to need a slot for its buffers, but in rows, where so much does not come to wait.
    pub fn tell_room(&self, shared: &Shared) {
        let buffers = if shared.in_rows { 0 } else { self.superblock.inner };
        let spare = self.spare_slots() as i64 - (reserve(shared) + buffers) as i64;
        shared.room.store(bytes_in(shared, spare) - self.superblock.buffered as i64, Relaxed);
        shared.buffered.store(self.superblock.buffered.saturating_sub(self.purged), Relaxed);
    }
}

/// Bytes of keys and values that so many slots surely hold: half of them, as a leaf that is split is half full; in rows eleven sixteenths,
/// as the last leaf of five may be empty, and they have a node above them.
fn bytes_in(shared: &Shared, slots: i64) -> i64 {
    let sixteenths = if shared.in_rows { 11 } else { 8 };
    slots * shared.params.node() as i64 / 16 * sixteenths
}

/// Bytes of keys and values that an empty store surely takes.
pub(crate) fn capacity(shared: &Shared) -> u64 {
    let slots = shared.pager.layout.area.1.saturating_sub(reserve(shared));
    bytes_in(shared, slots as i64) as u64
}

/// Slots that a row of leaves takes, with what is above it.
fn row_slots(shared: &Shared) -> u64 {
    u64::from(shared.params.fanout) + 2
}

/// Slots that inserts must leave.
fn reserve(shared: &Shared) -> u64 {
    let leaves = if shared.in_rows { u64::from(shared.params.fanout) } else { 0 };
    (shared.pager.layout.area.1 / 16).max(12 + leaves)
}

/// How many nodes of a tree are not on the disk.
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
