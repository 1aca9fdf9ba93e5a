//! Nodes in memory. A published node is never changed: the writer creates a new version.

use std::sync::Arc;

use crate::pointer::Pointer;
use crate::run::Run;

/// A key of a child or basement, shared by the versions of a node.
pub(crate) type Key = Arc<[u8]>;

/// The location of a part on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartPlace {
    /// Address on the disk.
    pub at: u64,
    pub bytes: u32,
    pub sum: u64,
    /// Address and birth of the node; the seed of the sum has both and the part number.
    pub node: u64,
    pub birth: u64,
    pub number: u32,
}

/// A run in memory or on the disk.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// No messages.
    Empty,
    Memory(Arc<Run>),
    Disk(PartPlace),
}

impl Part {
    /// Bytes on the disk.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Memory(run) => run.bytes().len(),
            Self::Disk(place) => place.bytes as usize,
        }
    }

    /// The weight: its bytes, plus those that its deletes free at the leaves.
    pub fn weight(&self) -> usize {
        match self {
            Self::Memory(run) => run.bytes().len() + run.freed(),
            Self::Empty | Self::Disk(_) => self.bytes(),
        }
    }

    /// The part with this run; `Empty` if the run has no messages.
    pub fn of(run: Run) -> Self {
        if run.is_empty() { Self::Empty } else { Self::Memory(Arc::new(run)) }
    }
}

/// A child in memory or on the disk.
#[derive(Debug, Clone)]
pub(crate) enum Link {
    /// No child: the entry of a basement.
    None,
    /// Changed since it was last written, or never written.
    Memory(Arc<Node>),
    Disk(Pointer),
}

/// A basement of a leaf, or a child of an inner node with its buffer.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The lower bound of its keys; empty in the first entry, whose bound is that of the node.
    pub key: Key,
    pub part: Part,
    pub child: Link,
}

/// A leaf (level 0) or an inner node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub level: u8,
    pub entries: Vec<Entry>,
}

/// Bytes of a header before its entries.
pub(crate) const NODE_HEAD: usize = 40;

impl Node {
    pub fn empty_leaf() -> Self {
        Self { level: 0, entries: Vec::new() }
    }

    /// Bytes of the header.
    pub fn header_bytes(&self) -> usize {
        let entry = entry_bytes(self.level);
        NODE_HEAD + self.entries.iter().map(|e| entry + e.key.len()).sum::<usize>()
    }

    /// Bytes of the whole node on the disk, in blocks of `block` bytes.
    pub fn disk_bytes(&self, block: usize) -> usize {
        self.header_bytes().next_multiple_of(block)
            + self.entries.iter().map(|e| e.part.bytes().next_multiple_of(block)).sum::<usize>()
    }

    /// Bytes of the node on the disk, plus those that its deletes free.
    pub fn weight(&self, block: usize) -> usize {
        self.disk_bytes(block) + self.entries.iter().map(|e| e.part.weight() - e.part.bytes()).sum::<usize>()
    }

    /// The entry with bounds that contain `key`, which must be within the node.
    pub fn entry_of(&self, key: &[u8]) -> usize {
        // The first key represents the lower bound of the node and is not compared.
        self.entries[1..].partition_point(|entry| &*entry.key <= key)
    }

    /// The upper bound of entry `i`, if it is within the node.
    pub fn upper(&self, i: usize) -> Option<&[u8]> {
        self.entries.get(i + 1).map(|entry| &*entry.key)
    }
}

/// Bytes of a header entry without its key.
pub(crate) fn entry_bytes(level: u8) -> usize {
    if level == 0 { 24 } else { 24 + Pointer::BYTES }
}
