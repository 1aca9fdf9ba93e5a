//! The public interface of the store: writes go to the log and to memory, reads use a view.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::flusher::{Flusher, Requests, capacity};
use crate::log::{Log, Synced};
use crate::memtable::Memtable;
use crate::pager::Pager;
use crate::params::Params;
use crate::prefetch::Prefetcher;
use crate::scan::Scan;
use crate::stat::{Stat, stat_of};
use crate::view::{Snapshot, Version, View};

/// State shared by the threads of a store.
pub(crate) struct Shared {
    pub pager: Pager,
    pub params: Params,
    pub log: Log,
    pub view: RwLock<View>,
    /// The number of the last write. The lock is held while writing.
    pub writer: Mutex<u64>,
    /// Published trees, the oldest first.
    pub versions: Mutex<VecDeque<(u64, Weak<Version>)>>,
    pub flusher: Mutex<Flusher>,
    pub wanted: Mutex<Requests>,
    /// Signalled when the flusher thread has work.
    pub work: Condvar,
    /// Signalled when the flusher thread has finished some work.
    pub done: Condvar,
    /// Bytes that can still be written, in addition to those in memory.
    pub room: AtomicI64,
    /// Bytes added to buffers since the last purge.
    pub buffered: AtomicU64,
    /// Bytes of the frozen memtable that are in the tree.
    pub drained: AtomicU64,
    /// Bytes of keys and values written since the store was opened.
    pub given: AtomicU64,
    pub memtable_bytes: usize,
    /// See [`Options`](crate::Options).
    pub contiguous_leaves: bool,
    /// See [`Options`](crate::Options).
    pub reader_timeout: Duration,
    /// The first failure, and whether it was reported.
    pub failed: Mutex<Option<(Error, bool)>>,
    pub prefetcher: Prefetcher,
}

impl Shared {
    /// Returns an error if writing failed before: the first time the failure itself, then that the store is read-only.
    pub fn usable(&self) -> Result<()> {
        match &mut *self.failed.lock() {
            None => Ok(()),
            Some((error, told)) if !*told => {
                *told = true;
                Err(error.clone())
            }
            Some((error, _)) => Err(Error::ReadOnly(error.to_string())),
        }
    }

    /// Makes the store read-only.
    pub fn fail(&self, error: Error) {
        self.failed.lock().get_or_insert((error, false));
        let _wanted = self.wanted.lock();
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Returns `result`; an error makes the store read-only.
    pub fn failing<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = result {
            self.fail(error);
            self.usable()?;
            unreachable!("`fail` stores the error");
        }
        result
    }

    pub fn view(&self) -> View {
        self.view.read().clone()
    }
}

/// An open store. Its methods may be called from many threads at once.
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    /// The flusher thread and the log writer thread.
    pub(crate) threads: Option<[JoinHandle<()>; 2]>,
}

impl Store {
    /// The sizes given at creation, and the limits that follow from them.
    pub fn params(&self) -> &Params {
        &self.shared.params
    }

    /// The current value of `key`.
    ///
    /// # Errors
    /// If the disk fails or is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_with_read_around(key, 0)
    }

    /// The current value of `key`. If it must be read from the disk, one request reads `bytes` bytes around it: for lookups of many small nearby
    /// values, with other reads in between.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_with_read_around(&self, key: &[u8], bytes: usize) -> Result<Option<Vec<u8>>> {
        self.shared.view().get(&self.shared.pager, key, bytes)
    }

    /// A snapshot of the store, for reading during writes.
    pub fn snapshot(&self) -> Snapshot {
        let shared = Arc::clone(&self.shared);
        let number = self.shared.writer.lock();
        let mut view = self.shared.view();
        view.number = *number;
        view.active.write().protect(*number);
        drop(number);
        Snapshot { shared, view }
    }

    /// All current keys from `from` up to but without `to`, in order; without an end if `to` is `None`.
    pub fn scan(&self, from: &[u8], to: Option<&[u8]>) -> Scan {
        self.snapshot().scan(from, to)
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(Batch::new().insert(key, value))
    }

    /// Deletes `key`; it need not exist.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.write(Batch::new().delete(key))
    }

    /// Writes `bytes` at `offset` into the value of `key`, without reading it: see [`Batch::patch`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn patch(&self, key: &[u8], offset: u32, bytes: &[u8]) -> Result<()> {
        self.write(Batch::new().patch(key, offset, bytes))
    }

    /// Deletes all keys from `from` up to but without `to`, at the cost of one message.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn delete_range(&self, from: &[u8], to: &[u8]) -> Result<()> {
        self.write(Batch::new().delete_range(from, to))
    }

    /// Applies a batch atomically: readers, and recovery after a crash, see all of it or nothing. The next [`sync`](Self::sync) makes it
    /// durable.
    ///
    /// # Errors
    /// If a write of the batch exceeds a limit; if the store is full, which leaves it unchanged and still accepts batches of deletes only; if
    /// writing failed, now or earlier.
    pub fn write(&self, batch: &Batch) -> Result<()> {
        let shared = &*self.shared;
        if batch.is_empty() {
            return shared.usable();
        }
        batch.check(&shared.params)?;
        let mut writer = self.make_room(batch)?;
        shared.log.append(batch);
        *writer += 1;
        {
            let active = Arc::clone(&shared.view.read().active);
            let mut memtable = active.write();
            for op in batch.ops() {
                memtable.apply(*writer, &op);
            }
        }
        drop(writer);
        shared.given.fetch_add((batch.bytes() - 9 * batch.len()) as u64, Relaxed);
        shared.log.throttle();
        Ok(())
    }

    /// Waits until a batch fits into memory, the log and the disk; returns the writer lock.
    fn make_room(&self, batch: &Batch) -> Result<MutexGuard<'_, u64>> {
        let shared = &*self.shared;
        let mut tried = false;
        loop {
            let mut writer = shared.writer.lock();
            shared.usable()?;
            let (active, waiting) = {
                let view = shared.view.read();
                let waiting = view.frozen.as_ref().map(|frozen| frozen.read().bytes());
                (view.active.read().bytes(), waiting)
            };
            let pending = (active + waiting.unwrap_or(0) + batch.bytes()) as i64;
            if batch.grows() && pending > shared.room.load(Relaxed) {
                if tried {
                    return Err(Error::NoSpace { bytes: batch.bytes() as u64 });
                }
                // Data in memory may need less space than estimated, or free some.
                tried = true;
                drop(writer);
                self.reclaim()?;
                continue;
            }
            let log = shared.log.has_room(batch.bytes());
            if active < shared.memtable_bytes && log {
                return Ok(writer);
            }
            if waiting.is_none() && active > 0 {
                shared.freeze(&mut writer);
            } else {
                drop(writer);
                let mut wanted = shared.wanted.lock();
                wanted.tail |= !log;
                shared.work.notify_one();
                while if log { shared.view.read().frozen.is_some() } else { wanted.tail } {
                    shared.usable()?;
                    shared.done.wait(&mut wanted);
                }
            }
        }
    }

    /// Makes all completed writes durable. Concurrent callers share one flush of the disk. If much was written and most of it is in the tree already,
    /// this is a checkpoint.
    ///
    /// # Errors
    /// If writing failed, now or earlier; the state of the writes since the last success is unknown then.
    pub fn sync(&self) -> Result<()> {
        self.shared.usable()?;
        match self.shared.failing(self.shared.log.sync())? {
            Synced::Done => Ok(()),
            Synced::NeedsCheckpoint => self.shared.checkpoint(false),
        }
    }

    /// Writes a checkpoint: all completed writes are in the tree on the disk, and the log is empty.
    ///
    /// # Errors
    /// If writing failed, now or earlier.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.checkpoint(false)
    }

    /// Writes a checkpoint after flushing deletes to the leaves, where they free space. A write that does not fit does this by itself.
    ///
    /// # Errors
    /// If writing failed, now or earlier.
    pub fn reclaim(&self) -> Result<()> {
        self.shared.wanted.lock().purge = true;
        self.checkpoint()
    }

    /// Closes the store with a checkpoint. Dropping the store does the same, but ignores errors.
    ///
    /// # Errors
    /// If writing failed, now or earlier; the store on the disk is as after a crash then.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(threads) = self.threads.take() else { return Ok(()) };
        let closed = self.shared.checkpoint(true);
        self.shared.wanted.lock().stop = true;
        self.shared.work.notify_all();
        self.shared.log.stop();
        let ended = threads.map(JoinHandle::join);
        self.shared.prefetcher.stop();
        for thread in ended {
            thread.expect("a thread of the store does not panic");
        }
        closed
    }

    /// Writes a checkpoint and returns statistics of the content and layout.
    ///
    /// # Errors
    /// If the disk fails or is damaged.
    pub fn stat(&self) -> Result<Stat> {
        self.checkpoint()?;
        stat_of(&self.shared)
    }

    /// Bytes of memory of nodes and writes: current and peak.
    pub fn memory_bytes(&self) -> (usize, usize) {
        let gauge = &self.shared.pager.cache.gauge;
        (gauge.bytes(), gauge.peak())
    }

    /// Approximate bytes of keys and values that fit into the empty store.
    pub fn capacity_bytes(&self) -> u64 {
        capacity(&self.shared)
    }

    /// Approximate bytes of keys and values that can still be written; deletes need none.
    pub fn free_bytes(&self) -> u64 {
        (self.shared.room.load(Relaxed) - self.memtable_bytes() as i64).max(0) as u64
    }

    /// Approximate bytes written since the last [`reclaim`](Self::reclaim) that are not in leaves yet: it may turn some of them into free space.
    pub fn buffered_bytes(&self) -> u64 {
        self.shared.buffered.load(Relaxed) + self.memtable_bytes()
    }

    /// Bytes in memory that are not in the tree.
    fn memtable_bytes(&self) -> u64 {
        let view = self.shared.view();
        let frozen = view.frozen.map_or(0, |memtable| memtable.read().bytes() as u64);
        view.active.read().bytes() as u64 + frozen.saturating_sub(self.shared.drained.load(Relaxed))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Shared {
    /// Starts a new memtable and hands the old one to the flusher thread. No frozen memtable may exist.
    pub fn freeze(&self, _writer: &mut u64) {
        let next = self.log.cut();
        let fresh = Memtable::new(next, &self.pager.cache.gauge);
        let mut view = self.view.write();
        debug_assert!(view.frozen.is_none(), "a frozen memtable already exists");
        let full = std::mem::replace(&mut view.active, Arc::new(RwLock::new(fresh)));
        view.frozen = Some(full);
        drop(view);
        let _wanted = self.wanted.lock();
        self.work.notify_one();
    }

    /// Waits for a checkpoint of all completed writes.
    fn checkpoint(&self, close: bool) -> Result<()> {
        // Later writes may stay in memory, so that continuous writers do not delay this.
        let end = self.log.cut();
        loop {
            let mut writer = self.writer.lock();
            self.usable()?;
            let (active, frozen) = {
                let view = self.view.read();
                let active = view.active.read();
                (!active.is_empty() && active.log_start < end, view.frozen.is_some())
            };
            if active && frozen {
                drop(writer);
                let mut wanted = self.wanted.lock();
                while self.view.read().frozen.is_some() {
                    self.usable()?;
                    self.done.wait(&mut wanted);
                }
                continue;
            }
            if active {
                self.freeze(&mut writer);
            }
            let mut wanted = self.wanted.lock();
            drop(writer);
            wanted.close |= close;
            wanted.checkpoints += 1;
            let mine = wanted.checkpoints;
            self.work.notify_one();
            while wanted.made < mine {
                self.usable()?;
                self.done.wait(&mut wanted);
            }
            return Ok(());
        }
    }
}
