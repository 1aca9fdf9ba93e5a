//! Creating, opening and recovering a store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};

use parking_lot::{Condvar, Mutex, RwLock};

use crate::aligned::Aligned;
use crate::batch::{check, ops};
use crate::error::{Error, Result};
use crate::flusher::{Flusher, Requests, run};
use crate::log::{Log, Ring, recover};
use crate::memtable::Memtable;
use crate::node::{Link, Node};
use crate::node_format::Layout;
use crate::pager::Pager;
use crate::params::{Options, Params, SECTOR, SUPER_AREA};
use crate::pointer::Pointer;
use crate::prefetch::Prefetcher;
use crate::space::Space;
use crate::storage::Storage;
use crate::store::{Shared, Store};
use crate::sum::new_uuid;
use crate::superblock::{Counters, Superblock};
use crate::view::{Version, View};

impl Store {
    /// Creates an empty store on the whole of `storage`, and destroys its content.
    ///
    /// # Errors
    /// If the sizes are invalid, or a write fails.
    pub fn create(storage: &dyn Storage, params: Params) -> Result<()> {
        let image_bytes = storage.len().map_err(|e| Error::io("measuring the image, reading", 0, 0, &e))?;
        let area = params.area(image_bytes)?;
        let layout = Layout { params, uuid: new_uuid(), area };
        let write = |bytes: &[u8], at: u64| {
            storage.write_at(bytes, at).map_err(|e| Error::io("writing", at, bytes.len(), &e))
        };
        let flush = || storage.flush().map_err(|e| Error::io("flushing writes,", 0, 0, &e));
        // Erases old superblocks first, so that an interrupted creation does not leave a store.
        write(&Aligned::zeroed(SUPER_AREA as usize), 0)?;
        flush()?;
        let zeros = Aligned::zeroed(1 << 20);
        let mut at = SUPER_AREA;
        while at < SUPER_AREA + params.log_bytes {
            let n = (SUPER_AREA + params.log_bytes - at).min(zeros.len() as u64);
            write(&zeros[..n as usize], at)?;
            at += n;
        }
        let mut space = Space::new(params, area);
        let no_room = || Error::Params("an empty store does not fit".into());
        let leaf = Node::empty_leaf();
        let mut out = Aligned::zeroed(leaf.disk_bytes(params.block_bytes as usize));
        let at = space.take(out.len() as u64, 0).ok_or_else(no_room)?;
        let root = layout.encode(&leaf, at, 1, &mut out);
        write(&out, at)?;
        let bytes = params.blocks(space.map_bytes() as usize);
        let at = space.take_last(bytes as u64).ok_or_else(no_room)?;
        let map = space.encode();
        let mut out = Aligned::zeroed(bytes);
        out[..map.len()].copy_from_slice(&map);
        write(&out, at)?;
        let sum = layout.header_sum(at, 2, &map);
        let map =
            Pointer { at, birth: 2, bytes: bytes as u32, header: map.len() as u32, sum, level: Pointer::MAP };
        flush()?;
        let mut superblock = Superblock {
            closed: true,
            uuid: layout.uuid,
            image_bytes,
            params,
            log_start: SUPER_AREA,
            area,
            generation: 1,
            tail: 0,
            epoch: 0,
            next_birth: 3,
            root,
            map,
            buffered: 0,
            inner: 0,
            counters: Counters::default(),
        };
        superblock.write(storage)?;
        superblock.generation = 2;
        superblock.write(storage)?;
        flush()
    }

    /// Opens a store. A store that was not closed recovers to its last sync, or to a later write.
    ///
    /// # Errors
    /// If there is no store, or it is of a later version, truncated or damaged, or the disk fails.
    pub fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let found = Superblock::read(&*storage)?;
        let params = found.params;
        let pager = Pager::new(Arc::clone(&storage), found.layout(), options.cache_bytes);
        let space = read_map(&pager, &found)?;
        let ring = ring(&found);
        // The old log stays until all of its records are in a checkpoint of the next epoch.
        let (next, epoch) = (found.tail, found.epoch.wrapping_add(1));
        let memtable_bytes = (params.log_bytes as usize / 4)
            .min(options.cache_bytes / 16)
            .clamp(params.node_bytes as usize / 4, 64 << 20);
        let version = Arc::new(Version { root: Link::Disk(found.root) });
        let gauge = Arc::clone(&pager.cache.gauge);
        let active = Arc::new(RwLock::new(Memtable::new(next, &gauge)));
        let versions = VecDeque::from([(1, Arc::downgrade(&version))]);
        let flusher = Flusher {
            root: Link::Disk(found.root),
            space,
            superblock: found,
            version: 1,
            durable: 1,
            purged: 0,
            halfway: false,
            log_bytes_before: found.counters.log,
            given_before: found.counters.given,
        };
        let shared = Arc::new(Shared {
            params,
            log: Log::new(Arc::clone(&storage), ring, epoch, next),
            view: RwLock::new(View { active, frozen: None, version, number: u64::MAX }),
            writer: Mutex::new(0),
            versions: Mutex::new(versions),
            flusher: Mutex::new(flusher),
            wanted: Mutex::new(Requests::default()),
            work: Condvar::new(),
            done: Condvar::new(),
            room: AtomicI64::new(0),
            buffered: AtomicU64::new(0),
            drained: AtomicU64::new(0),
            given: AtomicU64::new(0),
            memtable_bytes,
            contiguous_leaves: options.contiguous_leaves,
            reader_timeout: options.reader_timeout,
            failed: Mutex::new(None),
            prefetcher: Prefetcher::default(),
            pager,
        });
        if !found.closed {
            shared.replay(&found, &ring)?;
        }
        shared.flusher.lock().begin(&shared)?;
        let (to_flush, to_log) = (Arc::clone(&shared), Arc::clone(&shared));
        let write_log = move || {
            if let Err(error) = to_log.log.write_until_stop() {
                to_log.fail(error);
            }
        };
        let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let started = std::thread::Builder::new().name(name.into()).spawn(work);
            started.map_err(|e| Error::io("starting a thread, writing", 0, 0, &e))
        };
        let writes = thread("betree-log", Box::new(write_log))?;
        let flushes = thread("betree-flush", Box::new(move || run(&to_flush)));
        if flushes.is_err() {
            shared.log.stop();
        }
        Ok(Self { shared, threads: Some([flushes?, writes]) })
    }
}

impl Shared {
    /// Applies the records of the log to the tree.
    fn replay(&self, found: &Superblock, ring: &Ring) -> Result<()> {
        let most = self.params.max_batch_bytes();
        let mut number = 0;
        recover(&*self.pager.storage, ring, (found.tail, found.epoch), most, |record| {
            number += 1;
            let memtable = Arc::clone(&self.view.read().active);
            for op in ops(record) {
                let op = op?;
                check(&op, &self.params)
                    .map_err(|e| Error::damaged("log record", ring.start, e.to_string()))?;
                memtable.write().apply(number, &op);
            }
            if memtable.read().bytes() >= self.memtable_bytes {
                self.flush_replayed(found.tail)
            } else {
                Ok(())
            }
        })?;
        *self.writer.lock() = number;
        self.flush_replayed(found.tail)
    }

    /// Applies the replayed records to the tree in memory.
    fn flush_replayed(&self, tail: u64) -> Result<()> {
        {
            let fresh = Memtable::new(tail, &self.pager.cache.gauge);
            let mut view = self.view.write();
            let full = std::mem::replace(&mut view.active, Arc::new(RwLock::new(fresh)));
            view.frozen = Some(full);
        }
        self.flusher.lock().drain(self)
    }
}

/// The location of a store's log.
pub(crate) fn ring(superblock: &Superblock) -> Ring {
    Ring {
        uuid: superblock.uuid,
        start: superblock.log_start,
        sectors: superblock.params.log_bytes / SECTOR as u64,
        block: superblock.params.block() / SECTOR as u64,
    }
}

/// Reads the space map of a checkpoint.
pub(crate) fn read_map(pager: &Pager, superblock: &Superblock) -> Result<Space> {
    let map = &superblock.map;
    let mut bytes = Aligned::zeroed(map.bytes as usize);
    pager.storage.read_at(&mut bytes, map.at).map_err(|e| Error::io("reading", map.at, bytes.len(), &e))?;
    let header = &bytes[..map.header as usize];
    if pager.layout.header_sum(map.at, map.birth, header) != map.sum {
        return Err(Error::damaged("space map", map.at, "checksum mismatch"));
    }
    Space::decode(header, map.at, superblock.params, superblock.area)
}
