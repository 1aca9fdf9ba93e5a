//! The store of a modelled disk: a directory with the contents of the disk in copy-on-write chunks.
//!
//! `disk.json` describes the disk ([`super::settings`]), `model.toml` its costs ([`crate::model`]), `map` maps its parts to chunks
//! ([`super::map`]), `data` contains the chunks ([`super::chunks`]), `flash` the state of a flash drive ([`super::flash`]), and `snapshots/`
//! one map and one state per snapshot. Invariants: a chunk with several references never changes; a map lists a chunk only after its space
//! is allocated and its bytes are written; a chunk that no map lists is free. A process that is killed therefore leaves a consistent store
//! with everything it had written, because the kernel keeps the written file data.
//!
//! A system crash is different: only snapshots are synced to the host's disk. The file `attached` in the store names the boot in which the
//! store was last opened, and is removed when the store is closed. It identifies a store that was in use during a crash; such a store can
//! only be opened at a snapshot, because nothing else in it, in particular its map, is reliable.

use super::chunks::Chunks;
use super::flash;
use super::in_use::{self, take_lock};
use super::map::{ChunkMap, HOLE};
use super::settings::DiskSettings;
use super::write_cache::{LostWrites, OldContents, UndoRecord, WriteCache};
use crate::SECTOR_BYTES;
use crate::checksum::Digesting;
use crate::error::{Error, IoContext};
use crate::file_lock::FileLock;
use crate::image::read_data;
use crate::model::{FlashState, Model, SharedFtl, lock};
use crate::zeros::zeros;
use digest::Digest;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Size of a chunk: the unit of copying at the first write after a snapshot, and the unit that discards free.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Name of the file with the model.
const MODEL: &str = "model.toml";

/// A store that this process uses exclusively.
#[derive(Debug)]
pub struct Store {
    pub(super) dir: PathBuf,
    pub(super) settings: DiskSettings,
    pub(super) map: ChunkMap,
    pub(super) chunks: Chunks,
    cache: WriteCache,
    pub(super) flash: Option<SharedFtl>,
    /// Number of write and discard requests so far.
    requests: u64,
    _lock: FileLock,
}

impl Store {
    /// Refuses a directory that is neither new nor empty, which [`create`](Store::create) would refuse too.
    pub fn check_new(dir: &Path) -> Result<(), Error> {
        if dir.exists() && std::fs::read_dir(dir).context("reading", dir)?.next().is_some() {
            let why = "it is not empty; name a new directory".to_owned();
            return Err(Error::Store { dir: dir.to_owned(), why });
        }
        Ok(())
    }

    /// Creates a store in `dir`, which must be new or empty. On failure nothing is left behind.
    pub fn create(dir: &Path, settings: &DiskSettings) -> Result<(), Error> {
        let model = Model::find(&settings.model)?;
        let new = !dir.exists();
        std::fs::create_dir_all(dir).context("creating the store", dir)?;
        Store::check_new(dir)?;
        let mut settings = settings.clone();
        settings.model = model.name().to_owned();
        let made = fill_new(dir, &settings, &model);
        if made.is_err() {
            for file in ["disk.json", MODEL, "map", "map.new", "data", "flash", "flash.new", "lock"] {
                let _ = std::fs::remove_file(dir.join(file));
            }
            let _ = std::fs::remove_dir(dir.join("snapshots"));
            if new {
                let _ = std::fs::remove_dir(dir);
            }
        }
        made
    }

    /// Opens the store in `dir`.
    pub fn open(dir: &Path) -> Result<Store, Error> {
        Store::take(dir, current_map, |dir, model, size_bytes| {
            flash::read(&flash::current(dir), model, size_bytes)
        })
    }

    /// Opens the store in `dir`, whatever the state of its flash is, with a fresh one.
    pub(super) fn open_with_fresh_flash(dir: &Path) -> Result<Store, Error> {
        Store::take(dir, current_map, |_, model, size_bytes| Ok(model.ftl(size_bytes)))
    }

    /// Opens the store in `dir` at a snapshot, even after a system crash.
    pub fn open_at(dir: &Path, snapshot: &str) -> Result<Store, Error> {
        let map = |dir: &Path, parts| {
            let entries = super::snapshots::read(dir, snapshot, parts)?;
            if !in_use::is_marked(dir) {
                // A crash from here on may leave an arbitrary map; a store that was in use during an earlier crash keeps its mark.
                in_use::mark(dir)?;
            }
            Chunks::repair(&dir.join("data"), parts)?;
            ChunkMap::create(&dir.join("map"), entries)
        };
        let store = Store::take(dir, map, |dir, model, size_bytes| {
            flash::read(&flash::of_snapshot(&super::snapshots::path_of(dir, snapshot)?), model, size_bytes)
        })?;
        store.save_flash()?;
        Ok(store)
    }

    fn take(
        dir: &Path,
        map: impl FnOnce(&Path, usize) -> Result<ChunkMap, Error>,
        flash: impl FnOnce(&Path, &Model, u64) -> Result<Option<SharedFtl>, Error>,
    ) -> Result<Store, Error> {
        let dir = &std::fs::canonicalize(dir).context("opening the store", dir)?;
        let settings = DiskSettings::read(dir)?;
        let lock = take_lock(dir)?;
        let parts = parts(&settings);
        let map = map(dir, parts)?;
        let flash = flash(dir, &model_of(dir)?, settings.size_bytes)?;
        let mut maps = super::snapshots::read_all(dir, parts)?;
        maps.push(map.entries().to_vec());
        let maps: Vec<&[u32]> = maps.iter().map(Vec::as_slice).collect();
        let chunks = Chunks::open(&dir.join("data"), parts, &maps)?;
        in_use::mark(dir)?;
        let cache = WriteCache::new(settings.write_cache_bytes);
        Ok(Store { dir: dir.clone(), settings, map, chunks, cache, flash, requests: 0, _lock: lock })
    }

    /// The settings of the disk.
    pub fn settings(&self) -> &DiskSettings {
        &self.settings
    }

    /// The device model of the disk, as it was when the disk was created.
    pub fn model(&self) -> Result<Model, Error> {
        model_of(&self.dir)
    }

    /// The data file, for syncing it while the store is in use.
    pub fn data(&self) -> Result<File, Error> {
        self.chunks.handle().context("opening the data of", &self.dir)
    }

    /// Releases the space of some free chunks; false if there are none.
    pub fn reclaim(&mut self) -> io::Result<bool> {
        self.chunks.reclaim()
    }

    /// Bytes used by the disk and its snapshots.
    pub fn used_bytes(&self) -> u64 {
        self.chunks.used_bytes()
    }

    /// Reads `len` bytes at offset `at`; assembled in `scratch` if they are not contiguous in the data file.
    pub fn read<'a>(&'a self, at: u64, len: usize, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let mut pieces = pieces(at, len as u64).map(|piece| (self.map.entries()[piece.part], piece));
        let (chunk, first) = pieces.next().expect("a range has a piece");
        let in_row = |(i, (next, _)): (usize, (u32, Piece))| match chunk {
            HOLE => next == HOLE,
            _ => next == chunk + 1 + i as u32,
        };
        if pieces.enumerate().all(in_row) && (chunk != HOLE || len <= zeros().len()) {
            return if chunk == HOLE {
                Ok(&zeros()[..len])
            } else {
                self.chunks.read(chunk, first.within, len)
            };
        }
        scratch.clear();
        for piece in self::pieces(at, len as u64) {
            match self.map.entries()[piece.part] {
                HOLE => scratch.resize(scratch.len() + piece.len, 0),
                chunk => scratch.extend_from_slice(self.chunks.read(chunk, piece.within, piece.len)?),
            }
        }
        Ok(scratch)
    }

    /// The checksum of the contents of the disk.
    pub fn digest(&self) -> Result<Digest, Error> {
        let size = self.settings.size_bytes;
        let mut digesting = Digesting::default();
        let held = self.map.entries().iter().enumerate().filter(|(_, chunk)| **chunk != HOLE);
        for (part, chunk) in held {
            let at = (part * CHUNK_BYTES) as u64;
            let len = CHUNK_BYTES.min((size - at) as usize);
            let read = self.chunks.read(*chunk, 0, len).and_then(|data| digesting.add(at, data));
            read.context("reading the checksum of", &self.dir)?;
        }
        Ok(digesting.finish(size))
    }

    /// The ranges of the disk with data, in bytes from start to end.
    pub(super) fn used_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let size = self.settings.size_bytes;
        let held = self.map.entries().iter().enumerate().filter(|(_, chunk)| **chunk != HOLE);
        held.map(move |(part, _)| {
            let start = (part * CHUNK_BYTES) as u64;
            (start, size.min(start + CHUNK_BYTES as u64))
        })
    }

    /// Copies an image of the same size to a new disk. Its flash then holds it as if all of it was written once, zeros too.
    pub fn import_image(&mut self, image: &Path) -> Result<(), Error> {
        let from = input::open_disk(image).context("opening the image", image)?;
        let size = self.settings.size_bytes;
        let found = from.metadata().context("checking", image)?.len();
        if found != size {
            let why = format!("it has {size} bytes, but {} has {found}", image.display());
            return Err(Error::Store { dir: self.dir.clone(), why });
        }
        let is_zero = |data: &[u8]| data.iter().all(|byte| *byte == 0);
        let put =
            read_data(&from, size, |at, data| if is_zero(data) { Ok(()) } else { self.write(at, data) });
        self.flush();
        put.context("copying to the modelled disk from", image)?;
        self.precondition_flash(FlashState::Filled);
        Ok(())
    }

    /// Writes `data` at offset `at`.
    pub fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        self.requests += 1;
        let mut data = data;
        for piece in pieces(at, data.len() as u64) {
            let (now, rest) = data.split_at(piece.len);
            self.overwrite(&piece, now)?;
            data = rest;
        }
        Ok(())
    }

    /// Zeros `len` bytes at offset `at`; chunks that are completely inside the range are freed at the next flush.
    pub fn discard(&mut self, at: u64, len: u64) -> io::Result<()> {
        self.requests += 1;
        for piece in pieces(at, len) {
            let chunk = self.map.entries()[piece.part];
            if chunk == HOLE {
                continue;
            }
            if piece.len < CHUNK_BYTES {
                self.overwrite(&piece, &zeros()[..piece.len])?;
                continue;
            }
            self.map.set(piece.part, HOLE)?;
            let mut freed = Vec::new();
            if self.cache.is_off() {
                freed.push(chunk);
            } else {
                self.cache.push_chunk(self.requests, piece.at(), chunk, &mut freed);
            }
            self.chunks.release(freed);
        }
        Ok(())
    }

    /// Marks all writes as stable: a power cut no longer affects them.
    pub fn flush(&mut self) {
        let freed = self.cache.commit();
        self.chunks.release(freed);
    }

    /// Rolls back the unflushed writes except for those that survive. On an error the remaining writes are still rolled back, and the first
    /// error is returned.
    pub fn power_cut(&mut self, loss: LostWrites) -> io::Result<()> {
        if let Some(flash) = &self.flash {
            lock(flash).power_cut();
        }
        let mut records = self.cache.take_records();
        let survivors = loss.survivors(&records, SECTOR_BYTES);
        let mut done = Ok(());
        for record in records.iter_mut().rev() {
            done = done.and(self.swap(record));
        }
        let mut freed = Vec::new();
        for (mut record, survives) in records.into_iter().zip(survivors) {
            match record.old {
                OldContents::Chunk(_) if survives == record.len => done = done.and(self.swap(&mut record)),
                OldContents::Chunk(_) => {}
                OldContents::Zeros | OldContents::Bytes => {
                    record.len = survives;
                    let bytes = self.cache.bytes_mut(&record).to_vec();
                    let piece = pieces(record.at_bytes, u64::from(survives)).next();
                    done = done.and(piece.map_or(Ok(()), |piece| self.restore(&piece, &bytes)));
                }
            }
            if let OldContents::Chunk(chunk) = record.old {
                freed.push(chunk);
            }
        }
        self.chunks.release(freed);
        done
    }

    /// Closes the store when no more requests arrive: everything is synced to the host's disk.
    pub fn close(&mut self) -> Result<(), Error> {
        self.flush();
        self.save_flash()?;
        self.chunks
            .reclaim_all()
            .and_then(|_| self.chunks.sync())
            .and_then(|()| self.map.sync())
            .context("closing", &self.dir)?;
        in_use::unmark(&self.dir)
    }

    /// Writes a piece, and saves its old contents for a power cut.
    fn overwrite(&mut self, piece: &Piece, data: &[u8]) -> io::Result<()> {
        let chunk = self.map.entries()[piece.part];
        let in_place = chunk != HOLE && !self.chunks.shared(chunk);
        self.record(piece)?;
        let written = self.put(piece, data);
        if written.is_err() && !in_place {
            // Nothing was overwritten.
            self.cache.pop();
        }
        written
    }

    /// Saves the contents of `piece` for a power cut.
    fn record(&mut self, piece: &Piece) -> io::Result<()> {
        if self.cache.is_off() {
            return Ok(());
        }
        let chunk = self.map.entries()[piece.part];
        let old = (chunk != HOLE).then(|| self.chunks.read(chunk, piece.within, piece.len)).transpose()?;
        let mut freed = Vec::new();
        self.cache.push_bytes(self.requests, piece.at(), piece.len, old, &mut freed);
        self.chunks.release(freed);
        Ok(())
    }

    /// Writes a piece, in a new chunk if its chunk is shared.
    fn put(&mut self, piece: &Piece, data: &[u8]) -> io::Result<()> {
        let old = self.map.entries()[piece.part];
        if old != HOLE && !self.chunks.shared(old) {
            return self.chunks.write(old, piece.within, data);
        }
        match self.put_elsewhere(old, piece, data) {
            // Free chunks may still have space allocated.
            Err(e) if e.kind() == io::ErrorKind::StorageFull && self.chunks.reclaim_all()? => {
                self.put_elsewhere(old, piece, data)
            }
            written => written,
        }
    }

    fn put_elsewhere(&mut self, old: u32, piece: &Piece, data: &[u8]) -> io::Result<()> {
        let new = self.chunks.allocate(piece.part)?;
        let written = self.put_new(old, new, piece, data).and_then(|()| self.map.set(piece.part, new));
        self.chunks.release([if written.is_ok() { old } else { new }]);
        written
    }

    /// Restores the old contents of a piece. Zeros need no space, so they can be restored even if the backing store is full.
    fn restore(&mut self, piece: &Piece, bytes: &[u8]) -> io::Result<()> {
        if self.map.entries()[piece.part] == HOLE && bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        self.put(piece, bytes)
    }

    fn put_new(&mut self, old: u32, new: u32, piece: &Piece, data: &[u8]) -> io::Result<()> {
        if data.len() < CHUNK_BYTES {
            if old == HOLE {
                self.chunks.reserve(new)?;
            } else {
                self.chunks.copy(old, new)?;
            }
        }
        self.chunks.write(new, piece.within, data)
    }

    /// Swaps the contents of a record and of the disk.
    fn swap(&mut self, record: &mut UndoRecord) -> io::Result<()> {
        let Some(piece) = pieces(record.at_bytes, u64::from(record.len)).next() else { return Ok(()) };
        let chunk = self.map.entries()[piece.part];
        match record.old {
            OldContents::Chunk(old) => {
                self.map.set(piece.part, old)?;
                record.old = OldContents::Chunk(chunk);
            }
            OldContents::Zeros | OldContents::Bytes => {
                let mut bytes = self.cache.bytes_mut(record).to_vec();
                if record.old == OldContents::Zeros {
                    bytes.fill(0);
                }
                let now = if chunk == HOLE {
                    &zeros()[..piece.len]
                } else {
                    self.chunks.read(chunk, piece.within, piece.len)?
                };
                self.cache.bytes_mut(record).copy_from_slice(now);
                record.old = OldContents::Bytes;
                self.restore(&piece, &bytes)?;
            }
        }
        Ok(())
    }
}

/// A range within one part of the disk.
#[derive(Clone, Copy, Debug)]
struct Piece {
    part: usize,
    /// Offset in the chunk.
    within: usize,
    len: usize,
}

impl Piece {
    fn at(&self) -> u64 {
        (self.part * CHUNK_BYTES + self.within) as u64
    }
}

/// Splits a range at chunk boundaries.
fn pieces(at: u64, len: u64) -> impl Iterator<Item = Piece> {
    let (start, end) = (at as usize, (at + len) as usize);
    let range: Range<usize> = if len == 0 { 0..0 } else { start / CHUNK_BYTES..end.div_ceil(CHUNK_BYTES) };
    range.map(move |part| {
        let from = start.max(part * CHUNK_BYTES);
        let to = end.min((part + 1) * CHUNK_BYTES);
        Piece { part, within: from % CHUNK_BYTES, len: to - from }
    })
}

/// The number of parts of a disk; the last one may extend beyond its end.
pub fn parts(settings: &DiskSettings) -> usize {
    settings.size_bytes.div_ceil(CHUNK_BYTES as u64) as usize
}

fn fill_new(dir: &Path, settings: &DiskSettings, model: &Model) -> Result<(), Error> {
    let snapshots = dir.join("snapshots");
    std::fs::create_dir(&snapshots).context("creating", &snapshots)?;
    // The settings are written first because this validates them.
    settings.write(dir)?;
    let path = dir.join(MODEL);
    std::fs::write(&path, model.to_toml()).context("writing", &path)?;
    flash::write(&flash::current(dir), model.ftl(settings.size_bytes).as_ref())?;
    ChunkMap::create(&dir.join("map"), vec![HOLE; parts(settings)])?;
    Chunks::create(&dir.join("data"), parts(settings))
}

/// Opens the active map, unless a crash of the system left it unreliable.
fn current_map(dir: &Path, parts: usize) -> Result<ChunkMap, Error> {
    if in_use::was_left(dir)? {
        let why = "the machine crashed while it was in use; roll back to a consistent snapshot with `senesce \
                   disk rollback`, or create a new disk";
        return Err(Error::Store { dir: dir.to_owned(), why: why.to_owned() });
    }
    ChunkMap::open(&dir.join("map"), parts)
}

/// The device model of the store in `dir`.
pub fn model_of(dir: &Path) -> Result<Model, Error> {
    let path = dir.join(MODEL);
    Model::read(&input::read_to_string(&path).context("reading", &path)?, &path)
}
