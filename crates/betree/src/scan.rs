//! Scans: keys in order, merged from memory, the buffers on the path, and the leaves.
//!
//! A scan proceeds by basements. Within the bounds of one basement and one chunk from memory, it merges a handful of runs, the newest first.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::Result;
use crate::node::{Link, Node, Part};
use crate::pointer::Pointer;
use crate::run::{Kind, Run, patch};
use crate::store::Shared;
use crate::view::View;

/// Basements per read of a scan with far read-ahead.
const FAR: usize = 16;

/// Leaves that are prefetched while the scan is at the one before them.
pub(crate) const LEAVES: usize = 2;

/// Number of leaves, including the current one, that a one-pass scan keeps in the cache: other readers may be slightly behind it.
const BEHIND: usize = 2;

/// Bytes taken from memory at a time.
const CHUNK: usize = 128 << 10;

/// A run between the bounds of a window.
struct Source {
    run: Arc<Run>,
    at: usize,
    end: usize,
}

/// A run from a memtable, and the key up to which it is complete.
struct Chunk {
    run: Arc<Run>,
    until: Option<Vec<u8>>,
}

/// An iterator over keys and values in order, as of its creation.
pub struct Scan {
    shared: Arc<Shared>,
    view: View,
    /// The start of the next window; `None` at the end.
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    chunks: Vec<Chunk>,
    sources: Vec<Source>,
    /// Whether a run above the lowest has ranges.
    ranges: bool,
    /// The result of applying patches.
    value: Vec<u8>,
    /// The last returned entry.
    found: Option<EntryPosition>,
    ahead: Ahead,
    /// Bytes around each needed position to read with it, instead of reading ahead; 0 to read ahead.
    around: usize,
}

/// The state of the read-ahead.
#[derive(Default)]
struct Ahead {
    /// Basements per read; doubled each time.
    basements: usize,
    /// The last leaf that the scan visited.
    leaf: Option<Pointer>,
    /// Number of finished leaves.
    leaves: usize,
    /// Whether this is a one-pass scan; and the finished leaves that may still be cached, the last one first.
    once: bool,
    behind: VecDeque<Arc<Node>>,
    /// Number of basements that the scan visited in this leaf, and whether the next leaves were requested.
    gone: usize,
    asked: bool,
}

/// An entry: the positions of its value and its key.
type EntryPosition = (ValuePosition, (usize, usize));

/// The position of the next entry's value.
#[derive(Clone, Copy)]
enum ValuePosition {
    Value,
    Run { source: usize, message: usize },
}

impl Scan {
    pub(crate) fn new(shared: Arc<Shared>, view: View, from: &[u8], to: Option<&[u8]>) -> Self {
        let empty = to.is_some_and(|to| to <= from);
        Self {
            shared,
            view,
            from: (!empty).then(|| from.to_vec()),
            to: to.map(<[u8]>::to_vec),
            chunks: Vec::new(),
            sources: Vec::new(),
            ranges: false,
            value: Vec::new(),
            found: None,
            ahead: Ahead::default(),
            around: 0,
        }
    }

    /// Reads far ahead from the start, and evicts finished leaves: for a large scan that runs once.
    pub fn read_sequentially(&mut self) {
        self.ahead.basements = FAR;
        self.ahead.once = true;
    }

    /// Disables read-ahead. Instead, one request reads `bytes` bytes around each needed position of a leaf: for many short scans of nearby keys, with
    /// other reads in between, as [`Store::get_with_read_around`](crate::Store::get_with_read_around) does for lookups.
    pub fn read_around(&mut self, bytes: usize) {
        self.around = bytes;
    }

    /// The next key and its value, without copying them.
    ///
    /// # Errors
    /// If the disk fails or is damaged. The scan has ended then.
    pub fn next_entry(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.found = None;
        loop {
            if let Some(found) = self.step() {
                self.found = Some(found);
                break;
            }
            if self.from.is_none() {
                return Ok(None);
            }
            if let Err(error) = self.next_window() {
                self.from = None;
                self.sources.clear();
                return Err(error);
            }
        }
        Ok(self.entry())
    }

    /// The last result of [`next_entry`](Self::next_entry).
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.found.map(|(at, (source, message))| {
            let key = self.sources[source].run.key(message);
            match at {
                ValuePosition::Run { source, message } => (key, self.sources[source].run.payload(message)),
                ValuePosition::Value => (key, &*self.value),
            }
        })
    }

    /// The next entry of this window.
    fn step(&mut self) -> Option<EntryPosition> {
        loop {
            let mut least: Option<(usize, &[u8])> = None;
            let mut several = false;
            for (i, source) in self.sources.iter().enumerate() {
                if source.at < source.end {
                    let key = source.run.key(source.at);
                    match least {
                        Some((_, other)) if other < key => {}
                        Some((_, other)) if other == key => several = true,
                        _ => (least, several) = (Some((i, key)), false),
                    }
                }
            }
            let (first, key) = least?;
            let message = self.sources[first].at;
            let place = (first, message);
            // The common case: a single message, an insert, and no newer range that deletes it.
            if !several && self.sources[first].run.kind(message) == Kind::Insert {
                let deleted =
                    self.ranges && self.sources[..first].iter().any(|source| source.run.deletes(key));
                self.sources[first].at += 1;
                if deleted {
                    continue;
                }
                return Some((ValuePosition::Run { source: first, message }, place));
            }
            if let Some(at) = self.resolve(first) {
                return Some((at, place));
            }
        }
    }

    /// The value at the current key of source `first`, if any; advances past that key.
    fn resolve(&mut self, first: usize) -> Option<ValuePosition> {
        let lead = Arc::clone(&self.sources[first].run);
        let key = lead.key(self.sources[first].at);
        let mut patches: Vec<(usize, usize)> = Vec::new();
        let mut base = None;
        let mut decided = false;
        for (i, source) in self.sources.iter_mut().enumerate() {
            let here = source.at < source.end && source.run.key(source.at) == key;
            if here {
                let message = source.at;
                source.at += 1;
                if !decided {
                    match source.run.kind(message) {
                        Kind::Insert => (base, decided) = (Some((i, message)), true),
                        Kind::Delete => decided = true,
                        Kind::Patch => patches.push((i, message)),
                    }
                }
            }
            decided |= self.ranges && !here && source.run.deletes(key);
        }
        if patches.is_empty() {
            return base.map(|(source, message)| ValuePosition::Run { source, message });
        }
        self.value.clear();
        if let Some((source, message)) = base {
            self.value.extend_from_slice(self.sources[source].run.payload(message));
        }
        for (source, message) in patches.into_iter().rev() {
            patch(&mut self.value, self.sources[source].run.payload(message));
        }
        Some(ValuePosition::Value)
    }

    /// Collects the runs for the next window.
    fn next_window(&mut self) -> Result<()> {
        let Some(from) = self.from.take() else { return Ok(()) };
        self.sources.clear();
        let mut until = self.to.clone();
        let lower = |until: &mut Option<Vec<u8>>, bound: Option<&[u8]>| {
            if let Some(bound) = bound
                && until.as_deref().is_none_or(|until| bound < until)
            {
                *until = Some(bound.to_vec());
            }
        };
        self.fill_chunks(&from);
        let mut runs: Vec<Arc<Run>> = Vec::with_capacity(8);
        for chunk in &self.chunks {
            runs.push(Arc::clone(&chunk.run));
            lower(&mut until, chunk.until.as_deref());
        }
        let pager = &self.shared.pager;
        let mut link = self.view.version.root.clone();
        let mut path: Vec<(Arc<Node>, usize)> = Vec::new();
        loop {
            if let Link::Disk(pointer) = &link {
                self.shared.prefetcher.arrived(pointer);
            }
            let node = pager.node(&link)?;
            if node.entries.is_empty() {
                break;
            }
            let i = node.entry_of(&from);
            lower(&mut until, node.upper(i));
            if node.level > 0 && self.ahead.leaves > 0 && self.reaches(node.upper(i)) {
                pager.prefetch(&node, i..node.entries.len())?;
            } else if node.level == 0 && self.around > 0 {
                pager.prefetch_around(&node, i, self.around)?;
            } else if node.level == 0 {
                Ahead::read(
                    &mut self.ahead,
                    &self.shared,
                    &self.view,
                    (&link, &node, i),
                    &path,
                    self.to.as_deref(),
                )?;
            }
            let part = &node.entries[i].part;
            if !matches!(part, Part::Empty) {
                runs.push(pager.run(part)?);
            }
            pager.prefetch_headers(&node, i);
            let child = node.entries[i].child.clone();
            path.push((node, i));
            if matches!(child, Link::None) {
                break;
            }
            link = child;
        }
        self.ranges = runs.iter().any(|run| run.ranges() > 0);
        for run in runs {
            let at = run.lower_bound(0, &from);
            let end = until.as_deref().map_or(run.messages(), |until| run.lower_bound(at, until));
            if at < end || run.ranges() > 0 {
                self.sources.push(Source { run, at, end });
            }
        }
        self.from = until.filter(|until| Some(until) != self.to.as_ref());
        Ok(())
    }

    /// Whether the scan continues beyond `bound`.
    fn reaches(&self, bound: Option<&[u8]>) -> bool {
        bound.is_some_and(|bound| self.to.as_deref().is_none_or(|to| bound < to))
    }

    /// Takes chunks from memory that start at `from`.
    fn fill_chunks(&mut self, from: &[u8]) {
        let gauge = &self.shared.pager.cache.gauge;
        let memtables = std::iter::once(&self.view.active).chain(&self.view.frozen);
        for (i, memtable) in memtables.enumerate() {
            let used_up = |chunk: &Chunk| chunk.until.as_deref().is_some_and(|until| until <= from);
            if self.chunks.get(i).is_none_or(used_up) {
                let (run, until) =
                    memtable.read().run(from, self.to.as_deref(), self.view.number, CHUNK, gauge);
                let chunk = Chunk { run: Arc::new(run), until };
                if i < self.chunks.len() { self.chunks[i] = chunk } else { self.chunks.push(chunk) }
            }
        }
    }
}

impl Ahead {
    /// Reads the current basement and some after it with one request. Prefetches the next leaves once the scan has finished a leaf, or half of its
    /// first one.
    fn read(
        ahead: &mut Self,
        shared: &Arc<Shared>,
        view: &View,
        (link, node, i): (&Link, &Arc<Node>, usize),
        path: &[(Arc<Node>, usize)],
        to: Option<&[u8]>,
    ) -> Result<()> {
        let Link::Disk(pointer) = link else { return Ok(()) };
        let within = |bound: &[u8]| to.is_none_or(|to| bound < to);
        if ahead.leaf != Some(*pointer) {
            ahead.leaves += usize::from(ahead.leaf.is_some());
            ahead.leaf = Some(*pointer);
            (ahead.gone, ahead.asked) = (0, false);
            if ahead.once {
                ahead.behind.push_front(Arc::clone(node));
                if let Some(gone) = ahead.behind.get(BEHIND) {
                    shared.pager.evict(gone);
                    ahead.behind.truncate(BEHIND);
                }
            }
        }
        ahead.gone += 1;
        if ahead.leaves > 0 {
            ahead.basements = node.entries.len();
        }
        let end = node.entries.len().min(i + ahead.basements.max(1));
        let end = (i + 1..end).find(|j| !within(&node.entries[*j].key)).unwrap_or(end);
        if shared.pager.prefetch(node, i..end)? > 0 {
            ahead.basements = (2 * ahead.basements).max(2);
        }
        // After the read above, so that the disk gets requests in key order, which is block order.
        let far = ahead.leaves > 0 || 2 * ahead.gone >= node.entries.len();
        if far && !std::mem::replace(&mut ahead.asked, true) {
            let mut left = LEAVES;
            // The last leaf of a node is followed by the first leaf below its neighbour.
            for (node, child) in path.iter().rev() {
                let next =
                    node.entries.iter().skip(child + 1).take(left).take_while(|entry| within(&entry.key));
                let next = next.filter_map(|entry| first_on_disk(&entry.child));
                next.for_each(|pointer| {
                    left -= 1;
                    shared.prefetcher.ask(shared, pointer, &view.version, to);
                });
                if left == 0 || (node.level > 1 && left < LEAVES) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The topmost node on the left edge of a tree that is on the disk.
fn first_on_disk(mut link: &Link) -> Option<Pointer> {
    loop {
        match link {
            Link::Disk(pointer) => return Some(*pointer),
            Link::Memory(node) => link = &node.entries.first()?.child,
            Link::None => return None,
        }
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).transpose()
    }
}
