//! Reads and writes nodes, through the cache.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::aligned::{Pool, PooledBuffer, SharedBuffer};
use crate::cache::{Cache, Item, Loading, Name};
use crate::error::{Error, Result};
use crate::node::{Entry, Link, Node, Part, PartPlace};
use crate::node_format::Layout;
use crate::pointer::Pointer;
use crate::run::{Bytes, Run, RunBuilder};
use crate::storage::Storage;
use crate::write_behind::WriteBehind;

/// Inner nodes are small and stored together, apart from the leaves: one request reads those within this distance.
const NEAR: u64 = 128 << 10;

/// See the module documentation.
pub(crate) struct Pager {
    pub storage: Arc<dyn Storage>,
    pub layout: Layout,
    pub cache: Cache,
    /// Bytes of nodes read since the store was opened, and the number of requests.
    pub read_bytes: AtomicU64,
    pub reads: AtomicU64,
    /// Buffers for reading and writing nodes.
    pool: Arc<Pool>,
    behind: WriteBehind,
    empty: Arc<Run>,
}

impl Pager {
    pub fn new(storage: Arc<dyn Storage>, layout: Layout, cache_bytes: usize) -> Self {
        let cache = Cache::new(cache_bytes);
        let empty = Arc::new(RunBuilder::default().finish(&cache.gauge));
        let behind = WriteBehind::new(Arc::clone(&storage));
        Self {
            storage,
            layout,
            cache,
            read_bytes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            pool: Arc::default(),
            behind,
            empty,
        }
    }

    /// Reads whole blocks.
    fn read(&self, at: u64, bytes: usize) -> Result<PooledBuffer> {
        let mut buffer = self.pool.lend(self.layout.params.blocks(bytes));
        self.behind.wait_for(at, buffer.len());
        self.storage.read_at(&mut buffer, at).map_err(|e| Error::io("reading", at, bytes, &e))?;
        self.read_bytes.fetch_add(buffer.len() as u64, Relaxed);
        self.reads.fetch_add(1, Relaxed);
        Ok(buffer)
    }

    /// The node at `pointer`, without reading its parts.
    pub fn header(&self, pointer: &Pointer) -> Result<Arc<Node>> {
        let load = || {
            let bytes = self.read(pointer.at, pointer.header as usize)?;
            Ok(Item::Header(Arc::new(self.layout.decode(pointer, &bytes)?)))
        };
        match self.cache.get_or((pointer.at, pointer.birth), load)? {
            Item::Header(node) => Ok(node),
            Item::Run(_) => Err(Error::damaged("node", pointer.at, "it contains a part of another node")),
        }
    }

    /// Reads the header of child `i`, unless it is a leaf, into the cache, and with the same request those of nearby siblings, so that a scan
    /// does not seek back from the leaves of each child. Read errors are ignored; a later access reports them.
    pub fn prefetch_headers(&self, node: &Node, i: usize) {
        let Link::Disk(wanted) = &node.entries[i].child else { return };
        if wanted.level == 0 || self.cache.get((wanted.at, wanted.birth)).is_some() {
            return;
        }
        let near: Vec<(&Pointer, Loading<'_>)> = node
            .entries
            .iter()
            .filter_map(|entry| match &entry.child {
                Link::Disk(pointer) if pointer.at / NEAR == wanted.at / NEAR => Some(pointer),
                _ => None,
            })
            .filter_map(|pointer| Some((pointer, self.cache.begin_loading((pointer.at, pointer.birth))?)))
            .collect();
        let start = near.iter().map(|(pointer, _)| pointer.at).min();
        let end = near.iter().map(|(pointer, _)| pointer.at + u64::from(pointer.header)).max();
        if let (Some(start), Some(end)) = (start, end)
            && let Ok(bytes) = self.read(start, (end - start) as usize)
        {
            for (pointer, _loading) in &near {
                if let Ok(node) = self.layout.decode(pointer, &bytes[(pointer.at - start) as usize..]) {
                    self.cache.put((pointer.at, pointer.birth), Item::Header(Arc::new(node)));
                }
            }
        }
    }

    /// The node of a link, without reading its parts.
    pub fn node(&self, link: &Link) -> Result<Arc<Node>> {
        match link {
            Link::Memory(node) => Ok(Arc::clone(node)),
            Link::Disk(pointer) => self.header(pointer),
            Link::None => unreachable!("a basement has no child"),
        }
    }

    /// The run of a part.
    pub fn run(&self, part: &Part) -> Result<Arc<Run>> {
        match part {
            Part::Empty => Ok(Arc::clone(&self.empty)),
            Part::Memory(run) => Ok(Arc::clone(run)),
            Part::Disk(place) => {
                let load = || {
                    let bytes = self.read(place.at, place.bytes as usize)?;
                    Ok(Item::Run(Arc::new(self.parse(place, &bytes)?)))
                };
                match self.cache.get_or(name(place), load)? {
                    Item::Run(run) => Ok(run),
                    Item::Header(_) => Err(Error::damaged("node part", place.at, "it contains a node")),
                }
            }
        }
    }

    /// Parses the part at `place`, with which `bytes` begin.
    fn parse(&self, place: &PartPlace, bytes: &[u8]) -> Result<Run> {
        self.parse_in(place, Bytes::Own(bytes[..place.bytes as usize].into()))
    }

    fn parse_in(&self, place: &PartPlace, bytes: Bytes) -> Result<Run> {
        if self.layout.part_sum(place.node, place.birth, place.number, &bytes) != place.sum {
            return Err(Error::damaged("node part", place.at, "checksum mismatch"));
        }
        Run::parse(bytes, place.at, &self.cache.gauge)
    }

    /// Adds parts that one request read from `start` on to the cache, and ends their loading one by one, as a reader may wait for the first. They
    /// share the buffer if they fill most of it.
    fn put_parts(
        &self,
        places: Vec<(PartPlace, Loading<'_>)>,
        start: u64,
        bytes: PooledBuffer,
    ) -> Result<()> {
        let used = places.iter().map(|(place, _)| place.bytes as usize).sum();
        let common = SharedBuffer::of(bytes, used, &self.cache.gauge);
        let mut done = Ok(());
        for (place, _loading) in places {
            let at = (place.at - start) as usize;
            let run = match &common {
                Ok(common) => {
                    self.parse_in(&place, Bytes::Part(Arc::clone(common), at..at + place.bytes as usize))
                }
                Err(bytes) => self.parse(&place, &bytes[at..]),
            };
            let put = run.map(|run| self.cache.put_ahead(name(&place), Item::Run(Arc::new(run))));
            done = done.and(put);
        }
        done
    }

    /// Reads a node with all its parts, for the writer. Takes its parts out of the cache and reads the others with one request, uncached: the node
    /// is about to change, and its old version would displace live ones. A reader that still needs the old version reads it from the disk.
    pub fn whole(&self, pointer: &Pointer) -> Result<Node> {
        let mut node = match self.cache.take((pointer.at, pointer.birth)) {
            Some(Item::Header(node)) => (*node).clone(),
            _ => {
                let bytes = self.read(pointer.at, pointer.bytes as usize)?;
                let mut node = self.layout.decode(pointer, &bytes)?;
                self.layout.expect_zero_padding(&node, pointer, &bytes)?;
                self.fill(&mut node.entries, pointer.at, &bytes)?;
                return Ok(node);
            }
        };
        for entry in &mut node.entries {
            if let Part::Disk(place) = entry.part
                && let Some(Item::Run(run)) = self.cache.take(name(&place))
            {
                entry.part = Part::Memory(run);
            }
        }
        let missing = |entry: &Entry| matches!(entry.part, Part::Disk(_));
        if let Some(first) = node.entries.iter().position(missing) {
            let last = node.entries.iter().rposition(missing).expect("a missing part exists");
            let (start, end) = span(&node.entries[first..=last]).expect("parts on the disk");
            let bytes = self.read(start, (end - start) as usize)?;
            self.fill(&mut node.entries[first..=last], start, &bytes)?;
        }
        Ok(node)
    }

    /// Parses the parts on the disk from `bytes`, which start at `start`.
    fn fill(&self, entries: &mut [Entry], start: u64, bytes: &[u8]) -> Result<()> {
        for entry in entries {
            if let Part::Disk(place) = entry.part {
                let run = self.parse(&place, &bytes[(place.at - start) as usize..])?;
                entry.part = Part::Memory(Arc::new(run));
            }
        }
        Ok(())
    }

    /// Reads parts of a node into the cache, with one request from the first to the last missing one. Returns the bytes read.
    pub fn prefetch(&self, node: &Node, range: Range<usize>) -> Result<usize> {
        let wanted = self.begin_loading(&node.entries[range]);
        let (Some((first, _)), Some((last, _))) = (wanted.first(), wanted.last()) else { return Ok(0) };
        let start = first.at;
        let bytes = self.read(start, (last.at - start) as usize + last.bytes as usize)?;
        let len = bytes.len();
        self.put_parts(wanted, start, bytes).map(|()| len)
    }

    /// Marks the parts that are neither cached nor loading as loading, and returns them.
    fn begin_loading(&self, entries: &[Entry]) -> Vec<(PartPlace, Loading<'_>)> {
        let place = |entry: &Entry| match entry.part {
            Part::Disk(place) => Some((place, self.cache.begin_loading(name(&place))?)),
            _ => None,
        };
        entries.iter().filter_map(place).collect()
    }

    /// Reads `bytes` bytes of a node around part `i` into the cache with one request, if any of it is missing.
    pub fn prefetch_around(&self, node: &Node, i: usize, bytes: usize) -> Result<()> {
        let Part::Disk(place) = &node.entries[i].part else { return Ok(()) };
        if self.cache.get(name(place)).is_some() {
            return Ok(());
        }
        let pieces = node.entries.iter().scan(0, |sum: &mut usize, entry| {
            *sum += entry.part.bytes();
            Some(sum.saturating_sub(1) / bytes.max(1))
        });
        let pieces: Vec<usize> = pieces.collect();
        let first = pieces.partition_point(|piece| *piece < pieces[i]);
        let end = pieces.partition_point(|piece| *piece <= pieces[i]);
        self.prefetch(node, first..end).map(drop)
    }

    /// Reads a whole node into the cache with one request; if its header is cached, only the parts below `to`.
    pub fn prefetch_node(&self, pointer: &Pointer, to: Option<&[u8]>) -> Result<()> {
        let own = (pointer.at, pointer.birth);
        let Some(loading) = self.cache.begin_loading(own) else {
            let node = self.header(pointer)?;
            let end = to.map_or(node.entries.len(), |to| node.entries.partition_point(|e| &*e.key < to));
            return self.prefetch(&node, 0..end).map(drop);
        };
        let bytes = self.read(pointer.at, pointer.bytes as usize)?;
        let node = self.layout.decode(pointer, &bytes)?;
        let wanted = self.begin_loading(&node.entries);
        self.cache.put(own, Item::Header(Arc::new(node)));
        drop(loading);
        self.put_parts(wanted, pointer.at, bytes)
    }

    /// Evicts the parts of a node, except for those used more than once.
    pub fn evict(&self, node: &Node) {
        for entry in &node.entries {
            if let Part::Disk(place) = &entry.part {
                self.cache.evict(name(place));
            }
        }
    }

    /// Waits until all nodes are written, and makes them durable.
    ///
    /// # Errors
    /// If a write or the flush fails.
    pub fn flush(&self) -> Result<()> {
        self.behind.drain()?;
        self.storage.flush().map_err(|e| Error::io("flushing writes,", 0, 0, &e))
    }

    /// Writes a node with all its parts in memory, and keeps it in the cache. The next [`flush`](Self::flush) makes it durable.
    pub fn write(&self, node: &Node, at: u64, birth: u64) -> Result<Pointer> {
        let bytes = node.disk_bytes(self.layout.params.block_bytes as usize);
        let mut out = self.pool.lend(bytes);
        let pointer = self.layout.encode(node, at, birth, &mut out);
        let kept = self.layout.decode(&pointer, &out)?;
        self.behind.write(at, out, &self.cache.gauge)?;
        for (entry, old) in kept.entries.iter().zip(&node.entries) {
            if let (Part::Disk(place), Part::Memory(run)) = (&entry.part, &old.part) {
                self.cache.put(name(place), Item::Run(Arc::clone(run)));
            }
        }
        self.cache.put((at, birth), Item::Header(Arc::new(kept)));
        Ok(pointer)
    }
}

fn name(place: &PartPlace) -> Name {
    (place.at, place.birth)
}

/// Start and end of the parts on the disk.
fn span(entries: &[Entry]) -> Option<(u64, u64)> {
    let mut places = entries.iter().filter_map(|entry| match &entry.part {
        Part::Disk(place) => Some((place.at, place.at + u64::from(place.bytes))),
        _ => None,
    });
    let first = places.next()?;
    Some(places.fold(first, |(start, _), (_, end)| (start, end)))
}
