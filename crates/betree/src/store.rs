//! The store as its users see it: writes into the log and memory, reads from a view.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::flusher::{Flusher, Wanted, capacity};
use crate::log::{Log, Synced};
use crate::memtable::Memtable;
use crate::pager::Pager;
use crate::params::Params;
use crate::prefetch::Prefetcher;
use crate::scan::Scan;
use crate::stat::{Stat, stat_of};
use crate::view::{Snapshot, Version, View};

/// What the threads of a store share.
pub(crate) struct Shared {
    pub pager: Pager,
    pub params: Params,
    pub log: Log,
    pub view: RwLock<View>,
    /// The number of the last write. Held while writing.
    pub writer: Mutex<u64>,
    /// Trees that were published, the oldest first.
    pub versions: Mutex<VecDeque<(u64, Weak<Version>)>>,
    pub flusher: Mutex<Flusher>,
    pub wanted: Mutex<Wanted>,
    /// Signalled when there is something to do for the thread that flushes.
    pub work: Condvar,
    /// Signalled when it has done something.
    pub done: Condvar,
    /// Bytes that can still be written beyond what is in memory.
    pub room: AtomicI64,
    /// Bytes that came into buffers since they were last emptied to give room.
    pub buffered: AtomicU64,
    /// Bytes of the frozen memtable that are in the tree.
    pub drained: AtomicU64,
    /// Bytes of keys and values that were given since the store was opened.
    pub given: AtomicU64,
    pub memtable_bytes: usize,
    /// See [`Options`](crate::Options).
    pub in_rows: bool,
    /// See [`Options`](crate::Options).
    pub reader_patience: Duration,
    /// What failed, and whether somebody was told.
    pub failed: Mutex<Option<(Error, bool)>>,
    pub prefetcher: Prefetcher,
}

impl Shared {
    /// An error if writing failed before: what happened the first time, and from then on that the store is read-only.
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

    /// From now on nothing is written.
    pub fn fail(&self, error: Error) {
        self.failed.lock().get_or_insert((error, false));
        let _wanted = self.wanted.lock();
        self.work.notify_all();
        self.done.notify_all();
    }

    /// `result`, after which nothing is written if it is an error.
    pub fn failing<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = result {
            self.fail(error);
            self.usable()?;
            unreachable!("it has just failed");
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
    /// That which flushes, and that which writes the log.
    pub(crate) threads: Option<[JoinHandle<()>; 2]>,
}

impl Store {
    /// The sizes that it was made with, and the limits that follow from them.
    pub fn params(&self) -> &Params {
        &self.shared.params
    }

    /// The value of `key`, as of now.
    ///
    /// # Errors
    /// If the disk fails or is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_around(key, 0)
    }

    /// The same. If it has to be read from the disk, so many bytes around it are read with one request, for small things that are looked up one after
    /// the other, with something else between.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_around(&self, key: &[u8], bytes: usize) -> Result<Option<Vec<u8>>> {
        self.shared.view().get(&self.shared.pager, key, bytes)
    }

    /// The store as it is now, for reading while others write.
    pub fn snapshot(&self) -> Snapshot {
        let shared = Arc::clone(&self.shared);
        let number = self.shared.writer.lock();
        let mut view = self.shared.view();
        view.number = *number;
        view.active.write().protect(*number);
        drop(number);
        Snapshot { shared, view }
    }

    /// All keys from `from` up to but without `to`, in order, as they are now; without an end if `to` is `None`.
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

    /// Takes `key` away; it need not be there.
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

    /// Takes away all keys from `from` up to but without `to`, at the cost of one message.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn delete_range(&self, from: &[u8], to: &[u8]) -> Result<()> {
        self.write(Batch::new().delete_range(from, to))
    }

    /// Applies a batch: readers see all of it or nothing, and so does whoever opens the store after a crash. It
    /// survives a crash for sure after the next [`sync`](Self::sync).
    ///
    /// # Errors
    /// If something in it is too long; if the store is full, in which case nothing of it was done, and batches of deletes alone still
    /// pass; if writing failed, now or before.
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

    /// Waits until a batch fits into memory, the log and the disk; gives the right to write.
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
                // What is in memory may turn out to need less, or to give room.
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

    /// Makes all that was written before last through a crash. Callers at the same time share one flush of the disk. Where much was written, most
    /// of which is in the tree already, this is a checkpoint.
    ///
    /// # Errors
    /// If writing failed, now or before: then nothing is known of what was written since the last success.
    pub fn sync(&self) -> Result<()> {
        self.shared.usable()?;
        match self.shared.failing(self.shared.log.sync())? {
            Synced::Done => Ok(()),
            Synced::NeedsCheckpoint => self.shared.checkpoint(false),
        }
    }

    /// Brings all that was written before into the tree on the disk, and empties the log.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.checkpoint(false)
    }

    /// The same, and sends deletes down to the leaves first, where they give back the room of what they delete. A write that does not fit does this by
    /// itself.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn reclaim(&self) -> Result<()> {
        self.shared.wanted.lock().purge = true;
        self.checkpoint()
    }

    /// Ends with a checkpoint. A store that is dropped instead does the same, and keeps to itself what fails.
    ///
    /// # Errors
    /// If writing failed, now or before; the store is on the disk as after a crash then.
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

    /// What it holds and how it lies.
    ///
    /// # Errors
    /// If the disk fails or is damaged.
    pub fn stat(&self) -> Result<Stat> {
        self.checkpoint()?;
        stat_of(&self.shared)
    }

    /// Bytes of memory that nodes and writes take now, and the most they ever took.
    pub fn memory_bytes(&self) -> (usize, usize) {
        let gauge = &self.shared.pager.cache.gauge;
        (gauge.bytes(), gauge.peak())
    }

    /// About how many bytes of keys and values it takes when it is empty.
    pub fn capacity_bytes(&self) -> u64 {
        capacity(&self.shared)
    }

    /// About how many bytes of keys and values can still be written; deletes do not need any.
    pub fn room_bytes(&self) -> u64 {
        (self.shared.room.load(Relaxed) - self.memtable_bytes() as i64).max(0) as u64
    }

    /// About how many bytes came since the last [`reclaim`](Self::reclaim) and are not in leaves yet: it may make room of some of them.
    pub fn waiting_bytes(&self) -> u64 {
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
    /// Begins a new memtable and leaves the old one to the thread that flushes. There must be no other on its way.
    pub fn freeze(&self, _writer: &mut u64) {
        let next = self.log.cut();
        let fresh = Memtable::new(next, &self.pager.cache.gauge);
        let mut view = self.view.write();
        debug_assert!(view.frozen.is_none(), "one memtable at a time goes into the tree");
        let full = std::mem::replace(&mut view.active, Arc::new(RwLock::new(fresh)));
        view.frozen = Some(full);
        drop(view);
        let _wanted = self.wanted.lock();
        self.work.notify_one();
    }

    /// Waits for a checkpoint of all that was written before.
    fn checkpoint(&self, close: bool) -> Result<()> {
        // What is written from here on may stay in memory: whoever writes on and on is not waited for.
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
