//! The file system: state and functions that all operations share.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::time::{Duration, Instant};

use betree::{Batch, Options, Storage, Store};
use parking_lot::{Mutex, RwLock};

use crate::dir::Streams;
use crate::error::{Error, Result, fail};
use crate::inode::{Inode, Name, RecordLocation, State};
use crate::key;
use crate::record::{Entry, Place, Record};
use crate::stream::Stream;
use crate::superblock::Super;
use crate::table::Table;

/// The inode number of the root.
pub const ROOT: u64 = 1;

/// The largest tree that a move copies, to keep it in order: the zone size of BetrFS 0.3.
const ZONE_BYTES: u64 = 512 << 10;
/// The longest prefix of a directory.
const PREFIX_MAX: usize = 2048;
/// The fraction of the store reserved for deletes and moves.
const RESERVE: u64 = 50;
/// Inode numbers reserved at a time.
const NUMBERS: u64 = 4096;
/// Bytes of entries that one request reads: a tree walk also needs the neighbouring entries, between reads of data.
pub(crate) const ENTRIES_AHEAD: usize = 1 << 20;

/// Default interval between two searches for free space in a full store.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A new search is due once this fraction of the capacity was deleted or is pending in buffers: it may become free space.
const MUCH: u64 = 64;
/// Maximum number of searches per write.
const LOOKS: u32 = 8;

/// The caller of a system call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller {
    /// User number.
    pub uid: u32,
    /// Group number.
    pub gid: u32,
}

#[derive(Default)]
struct Numbers {
    next: u64,
    /// The store records numbers from here on as unused.
    reserved: u64,
}

/// An open file system. Operations are named after the system calls they serve; any number of threads may call them.
///
/// Inodes are named by numbers. Every operation that returns the [`Attr`](crate::Attr) of a name increments the lookup count of the
/// inode; [`forget`](Self::forget) decrements it.
pub struct Fs {
    pub(crate) store: Store,
    /// Bytes of a data block.
    pub(crate) block: u64,
    /// The largest tree that a move copies.
    pub(crate) zone: u64,
    /// The largest file that a move copies: one leaf.
    pub(crate) leaf: u64,
    /// Held for reading by operations that use keys, for writing by operations that change prefixes.
    pub(crate) tree: RwLock<()>,
    /// Counts changes of the prefixes of inodes that may be in memory.
    epoch: AtomicU64,
    pub(crate) table: Table,
    pub(crate) directories: Streams,
    pub(crate) stream: Stream,
    numbers: Mutex<Numbers>,
    prefix_max: usize,
    read_only: bool,
    /// The file system's own record; `numbers` has newer inode numbers.
    found: Super,
    /// Bytes reserved for deletes.
    pub(crate) reserve: u64,
    /// The time of the last search for free space in the full store, and the interval until the next one.
    looked: Mutex<Option<Instant>>,
    look_again: Duration,
    /// Approximate bytes of the blocks deleted since then.
    pub(crate) freed: AtomicU64,
    /// Whether anything was written since the last search.
    changed: AtomicBool,
}

impl Fs {
    /// Opens the file system on a disk, and deletes files that were open without a name when it was last used.
    ///
    /// # Errors
    /// If the disk has no file system, or one that is of a later version, damaged, or in use.
    pub fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let fs = Self::start(storage, options, false)?;
        fs.delete_orphans()?;
        Ok(fs)
    }

    /// Opens the file system for reading: every operation that would write fails with `EROFS`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_read_only(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        Self::start(storage, options, true)
    }

    fn start(storage: Arc<dyn Storage>, options: Options, read_only: bool) -> Result<Self> {
        let store = Store::open(storage, options)?;
        let found = Super::read(&store)?;
        let params = *store.params();
        let bytes = found.bytes.saturating_sub(params.log_bytes);
        let fs = Self {
            block: found.block_bytes.into(),
            zone: ZONE_BYTES.min(params.max_batch_bytes() as u64 / 2),
            leaf: u64::from(params.node_bytes).min(params.max_batch_bytes() as u64 / 2),
            tree: RwLock::new(()),
            epoch: AtomicU64::new(0),
            table: Table::default(),
            directories: Streams::default(),
            stream: Stream::default(),
            numbers: Mutex::new(Numbers { next: found.next_number, reserved: found.next_number }),
            prefix_max: PREFIX_MAX.min(params.max_key_bytes() / 4),
            reserve: bytes / RESERVE,
            looked: Mutex::new(None),
            look_again: LOOK_AGAIN,
            freed: AtomicU64::new(0),
            changed: AtomicBool::new(false),
            found,
            read_only,
            store,
        };
        let root = fs.store.get(key::ROOT)?.ok_or_else(|| Error::Damaged("the root is missing".into()))?;
        let (record, place) = Entry::decode_record(&root)?;
        if record.ino != ROOT || !record.is_dir() {
            return Err(Error::Damaged("the root is not a directory".into()));
        }
        let root = fs
            .table
            .enter(ROOT, 0, || Inode::new(record, RecordLocation::Root, place))
            .expect("no inode was forgotten yet");
        fs.table.hold(&root);
        Ok(fs)
    }

    /// Sets the interval between two searches for free space in a full file system (default 1 s); each search is a checkpoint.
    pub fn set_reclaim_interval(&mut self, interval: Duration) {
        self.look_again = interval;
    }

    /// Closes the file system, with all changes on the disk.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn close(self) -> Result<()> {
        if self.read_only {
            return Ok(self.store.close()?);
        }
        let numbers = self.numbers.lock().next;
        self.superblock(numbers).write(&self.store)?;
        Ok(self.store.close()?)
    }

    /// Makes all completed operations durable.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn sync(&self) -> Result<()> {
        Ok(self.store.sync()?)
    }

    /// Whether anything was written since the last call.
    pub fn take_changed(&self) -> bool {
        self.changed.swap(false, Relaxed)
    }

    /// Writes a checkpoint, which empties the log into the tree.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.store.checkpoint()?)
    }

    /// Decrements the lookup count of an inode by `n`.
    pub fn forget(&self, ino: u64, n: u64) {
        self.table.forget(ino, n);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    /// The caller holds `tree` for writing.
    pub(crate) fn next_epoch(&self) {
        self.epoch.fetch_add(1, SeqCst);
    }

    /// The inode with a number that the kernel knows.
    pub(crate) fn inode(&self, ino: u64) -> Result<Arc<Inode>> {
        self.table.get(ino).map_or_else(|| fail(libc::ESTALE), Ok)
    }

    /// The directory with a number that the kernel knows, unless it was deleted.
    pub(crate) fn directory(&self, ino: u64) -> Result<Arc<Inode>> {
        let inode = self.inode(ino)?;
        if !inode.is_dir() {
            return fail(libc::ENOTDIR);
        }
        if inode.is_gone() { fail(libc::ENOENT) } else { Ok(inode) }
    }

    /// Looks up `name` in `parent`. The caller holds `tree`.
    pub(crate) fn child(&self, parent: &Arc<Inode>, name: &[u8]) -> Result<Option<Arc<Inode>>> {
        let key = key::meta(&parent.prefix(self.epoch())?, name);
        loop {
            let forgotten = self.table.forgotten();
            let Some(value) = self.store.get_with_read_around(&key, ENTRIES_AHEAD)? else { return Ok(None) };
            if let Some(inode) = self.instantiate(parent, name, Entry::decode(&value)?, forgotten)? {
                return Ok(Some(inode));
            }
        }
    }

    /// The inode of an entry that was read after the call of `forgotten`; `None` if the entry must be read again.
    pub(crate) fn instantiate(
        &self,
        parent: &Arc<Inode>,
        name: &[u8],
        entry: Entry,
        forgotten: u64,
    ) -> Result<Option<Arc<Inode>>> {
        match entry {
            Entry::Record(record, place) => Ok(self.table.enter(record.ino, forgotten, || {
                Inode::new(record, RecordLocation::Name(Name::new(parent, name)), place)
            })),
            Entry::Redirect { ino, .. } => {
                if let Some(inode) = self.table.get(ino) {
                    return Ok(Some(inode));
                }
                let Some(value) = self.store.get(&key::number(key::LINKED, ino))? else {
                    return Err(Error::Damaged(format!(
                        "a name refers to inode {ino}, which does not exist"
                    )));
                };
                let (record, place) = Entry::decode_record(&value)?;
                Ok(self
                    .table
                    .enter(ino, forgotten, || Inode::new(record, RecordLocation::Linked(Vec::new()), place)))
            }
        }
    }

    /// The home of an object that gets the name `name` in a directory.
    pub(crate) fn place_in(&self, prefix: &[u8], displaced: bool, name: &[u8], ino: u64, dir: bool) -> Place {
        if dir && prefix.len() + name.len() + 10 > self.prefix_max {
            return Place::Away(key::far_prefix(ino).into());
        }
        if displaced { Place::Tagged } else { Place::Home }
    }

    fn superblock(&self, next_number: u64) -> Super {
        Super { next_number, label: self.found.label.clone(), ..self.found }
    }

    /// Allocates an inode number.
    pub(crate) fn new_number(&self) -> Result<u64> {
        let mut numbers = self.numbers.lock();
        if numbers.next == numbers.reserved {
            let reserved = numbers.reserved + NUMBERS;
            self.superblock(reserved).write(&self.store)?;
            numbers.reserved = reserved;
        }
        numbers.next += 1;
        Ok(numbers.next - 1)
    }

    /// Writes a batch that needs more space, if the space beyond the reserve suffices.
    pub(crate) fn grow(&self, batch: &Batch) -> Result<()> {
        let needed = self.reserve + batch.bytes() as u64;
        let mut looks = 0;
        while self.store.free_bytes() < needed {
            let mut looked = self.looked.lock();
            // Another thread may have found space in the meantime.
            if self.store.free_bytes() >= needed {
                break;
            }
            let time = looks == 0 && looked.is_none_or(|at| at.elapsed() >= self.look_again);
            if !(time || self.may_reclaim() && looks < LOOKS) {
                return fail(libc::ENOSPC);
            }
            looks += 1;
            // Another thread may take what is found first: then search again.
            self.reclaim(&mut looked)?;
        }
        self.write_batch(batch)
    }

    /// Searches for free space if enough was deleted since the last search.
    pub(crate) fn reclaim_deleted(&self) -> Result<()> {
        let mut looked = self.looked.lock();
        if self.may_reclaim() { self.reclaim(&mut looked) } else { Ok(()) }
    }

    /// Whether so much was deleted, or is in buffers, since the last search for free space that another one may find some.
    fn may_reclaim(&self) -> bool {
        let pending = self.freed.load(Relaxed) + self.store.buffered_bytes();
        !self.read_only && pending >= self.store.capacity_bytes() / MUCH
    }

    /// Flushes messages in buffers, which may need less space than they seem to, or free some.
    fn reclaim(&self, looked: &mut Option<Instant>) -> Result<()> {
        self.freed.store(0, Relaxed);
        self.store.reclaim()?;
        *looked = Some(Instant::now());
        Ok(())
    }

    /// Writes a batch.
    pub(crate) fn write_batch(&self, batch: &Batch) -> Result<()> {
        if self.read_only {
            return fail(libc::EROFS);
        }
        self.store.write(batch)?;
        self.stream.wrote();
        self.changed.store(true, Relaxed);
        Ok(())
    }

    /// Updates the record of an inode in memory, after it was written.
    pub(crate) fn apply_written(&self, inode: &Inode, state: &mut State, record: Record) {
        state.record = record;
        inode.changed.store(true, Relaxed);
        inode.touched();
    }

    /// The size limit of a batch.
    pub(crate) fn batch_max(&self) -> usize {
        self.store.params().max_batch_bytes() / 2
    }
}
