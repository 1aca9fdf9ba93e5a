//! Runs: messages in key order and the ranges deleted beneath them, in memory in their disk format, except for long values, which may be
//! shared.

mod build;
mod compose;
mod message;

use std::ops::{Deref, Range};
use std::sync::Arc;

pub(crate) use build::RunBuilder;
pub(crate) use compose::{Slice, Target, compose, union};
pub(crate) use message::{Kind, join_patches, patch, patched, single_patch};

use crate::aligned::SharedBuffer;
use crate::codec::{get_u32, set_u32};
use crate::error::{Error, Result};
use crate::memory::{Charge, Gauge};
use crate::payload::Payload;

/// Bytes before the index of a run.
const HEAD: usize = 16;

/// The index of a message, and its shared value.
type Shared = (u32, Arc<Payload>);

/// The memory of a run: its own, or a part of a buffer read from the disk with other runs.
#[derive(Debug)]
pub(crate) enum Bytes {
    Own(Box<[u8]>),
    Part(Arc<SharedBuffer>, Range<usize>),
}

impl Deref for Bytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Part(common, range) => &common[range.clone()],
        }
    }
}

/// One run. `FORMAT.md` describes its layout.
#[derive(Debug)]
pub(crate) struct Run {
    /// The disk format without shared values; offsets in the index refer to these bytes.
    bytes: Bytes,
    /// Shared values, each with the index of its message.
    shared: Box<[Shared]>,
    messages: usize,
    ranges: usize,
    body: usize,
    /// Upper bound of the bytes that its deletes free, as estimated by their writers.
    freed: usize,
    _charge: Charge,
}

impl Run {
    /// Parses the run in `bytes`, which are at `offset` on the disk and have a correct sum.
    ///
    /// # Errors
    /// If it is invalid, so that later accesses need no checks.
    pub fn parse(bytes: Bytes, offset: u64, gauge: &Arc<Gauge>) -> Result<Self> {
        let wrong = |why: &str| Error::damaged("run", offset, why);
        if bytes.len() < HEAD {
            return Err(wrong("it is shorter than its header"));
        }
        let (messages, ranges) = (get_u32(&bytes, 0) as usize, get_u32(&bytes, 4) as usize);
        let body = HEAD as u64 + 4 * (messages as u64 + ranges as u64);
        if body + u64::from(get_u32(&bytes, 8)) != bytes.len() as u64 || get_u32(&bytes, 12) != 0 {
            return Err(wrong("its lengths are inconsistent"));
        }
        let own = if let Bytes::Own(bytes) = &bytes { bytes.len() } else { 0 };
        let charge = Charge::new(gauge, own);
        let mut run = Self {
            messages,
            ranges,
            body: body as usize,
            freed: 0,
            bytes,
            shared: [].into(),
            _charge: charge,
        };
        run.freed = run.validate().map_err(wrong)?;
        Ok(run)
    }

    /// Validates the run; returns the bytes that its deletes free.
    fn validate(&self) -> std::result::Result<usize, &'static str> {
        let body = &self.bytes[self.body..];
        let (mut end, mut freed) = (0, 0);
        for i in 0..self.messages + self.ranges {
            let at = self.at(i);
            if at != end || body.len() - at < 8 {
                return Err("a message does not start at the end of the previous one");
            }
            let (first, second) = (get_u32(body, at), get_u32(body, at + 4));
            let first = if i < self.messages { first & 0x00ff_ffff } else { first };
            let len = 8 + u64::from(first) + u64::from(second);
            if len > (body.len() - at) as u64 {
                return Err("a message is longer than its run");
            }
            end = at + len as usize;
        }
        if end != body.len() {
            return Err("there is data after its messages");
        }
        for i in 0..self.messages {
            if i > 0 && self.key(i - 1) >= self.key(i) {
                return Err("its keys are not ascending");
            }
            let Some(kind) = Kind::of(self.bytes[self.body + self.at(i) + 3]) else {
                return Err("a message is of an unknown kind");
            };
            match kind {
                Kind::Patch if !message::is_patch(self.payload(i)) => return Err("a patch is not in order"),
                Kind::Delete if !matches!(self.payload(i).len(), 0 | 4) => {
                    return Err("a delete is not in order");
                }
                Kind::Delete => freed += message::freed(self.payload(i)),
                Kind::Insert | Kind::Patch => {}
            }
        }
        for i in 0..self.ranges {
            let (from, to) = self.range(i);
            if from >= to || (i > 0 && self.range(i - 1).1 >= from) {
                return Err("its ranges are not ascending");
            }
        }
        Ok(freed)
    }

    /// Assembles a run from parts that are already in order.
    fn assemble(
        index: &[u32],
        body: &[u8],
        range_index: &[u32],
        range_body: &[u8],
        shared: Box<[Shared]>,
        freed: usize,
        gauge: &Arc<Gauge>,
    ) -> Self {
        let start = HEAD + 4 * (index.len() + range_index.len());
        let len = start + body.len() + range_body.len();
        let mut bytes = Vec::with_capacity(len);
        bytes.resize(HEAD, 0);
        set_u32(&mut bytes, 0, index.len() as u32);
        set_u32(&mut bytes, 4, range_index.len() as u32);
        set_u32(&mut bytes, 8, (body.len() + range_body.len()) as u32);
        bytes.extend(index.iter().flat_map(|at| at.to_le_bytes()));
        bytes.extend(range_index.iter().flat_map(|at| (at + body.len() as u32).to_le_bytes()));
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(range_body);
        let charge = Charge::new(gauge, len);
        Self {
            bytes: Bytes::Own(bytes.into_boxed_slice()),
            shared,
            messages: index.len(),
            ranges: range_index.len(),
            body: start,
            freed,
            _charge: charge,
        }
    }

    /// A copy of the run in its own memory, if it uses a part of a shared buffer.
    pub fn apart(&self, gauge: &Arc<Gauge>) -> Option<Self> {
        let Bytes::Part(..) = self.bytes else { return None };
        Some(Self {
            bytes: Bytes::Own((*self.bytes).into()),
            shared: self.shared.clone(),
            _charge: Charge::new(gauge, self.bytes.len()),
            ..*self
        })
    }

    /// The run in the disk format.
    pub fn bytes(&self) -> OnDisk<'_> {
        OnDisk(self)
    }

    /// Bytes of shared values before message `i`.
    fn shared_before(&self, i: usize) -> usize {
        let before = self.shared.partition_point(|(message, _)| (*message as usize) < i);
        self.shared[..before].iter().map(|(_, value)| value.len()).sum()
    }

    /// Upper bound of the bytes that its deletes free, as estimated by their writers.
    pub fn freed(&self) -> usize {
        self.freed
    }

    /// Number of messages.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Whether it deletes anything.
    pub fn has_deletes(&self) -> bool {
        self.ranges > 0 || (0..self.messages).any(|message| self.kind(message) == Kind::Delete)
    }

    /// Number of deleted ranges.
    pub fn ranges(&self) -> usize {
        self.ranges
    }

    pub fn is_empty(&self) -> bool {
        self.messages + self.ranges == 0
    }

    #[inline]
    fn at(&self, i: usize) -> usize {
        get_u32(&self.bytes, HEAD + 4 * i) as usize
    }

    /// Start of message `i` in the body in memory; for `i` behind the last message, the end of all.
    #[inline]
    fn start(&self, i: usize) -> usize {
        if i < self.messages + self.ranges { self.at(i) } else { self.bytes.len() - self.body }
    }

    /// Bytes of messages `i..j` on the disk, including their index entries.
    pub fn bytes_of(&self, i: usize, j: usize) -> usize {
        let shared = if self.shared.is_empty() { 0 } else { self.shared_before(j) - self.shared_before(i) };
        self.start(j) - self.start(i) + shared + 4 * (j - i)
    }

    #[inline]
    pub fn key(&self, i: usize) -> &[u8] {
        let at = self.body + self.at(i);
        let len = (get_u32(&self.bytes, at) & 0x00ff_ffff) as usize;
        &self.bytes[at + 8..at + 8 + len]
    }

    pub fn kind(&self, i: usize) -> Kind {
        Kind::of(self.bytes[self.body + self.at(i) + 3]).expect("the run was validated")
    }

    /// The bytes after the key of message `i`.
    pub fn payload(&self, i: usize) -> &[u8] {
        if let Ok(found) = self.shared.binary_search_by_key(&(i as u32), |(message, _)| *message) {
            return &self.shared[found].1;
        }
        let at = self.body + self.at(i);
        let key = (get_u32(&self.bytes, at) & 0x00ff_ffff) as usize;
        let len = get_u32(&self.bytes, at + 4) as usize;
        &self.bytes[at + 8 + key..at + 8 + key + len]
    }

    /// Range `i`: its lower key, and its upper key, which is excluded.
    pub fn range(&self, i: usize) -> (&[u8], &[u8]) {
        let at = self.body + self.at(self.messages + i);
        let (a, b) = (get_u32(&self.bytes, at) as usize, get_u32(&self.bytes, at + 4) as usize);
        (&self.bytes[at + 8..at + 8 + a], &self.bytes[at + 8 + a..at + 8 + a + b])
    }

    /// The first message at or above `key`, at index `from` or later.
    pub fn lower_bound(&self, from: usize, key: &[u8]) -> usize {
        // Galloping search: merges mostly ask for near positions.
        let (mut low, mut step) = (from, 1);
        while low + step <= self.messages && self.key(low + step - 1) < key {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.messages);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The index of the message at `key`, if any.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.messages);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The first range that ends above `key`.
    pub fn range_above(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ranges);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.range(middle).1 <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether a range deletes `key`.
    pub fn deletes(&self, key: &[u8]) -> bool {
        let i = self.range_above(key);
        i < self.ranges && self.range(i).0 <= key
    }
}

/// A run in the disk format, including its shared values.
pub(crate) struct OnDisk<'a>(&'a Run);

impl OnDisk<'_> {
    /// Total bytes.
    pub fn len(&self) -> usize {
        self.0.bytes.len() + self.0.shared_before(usize::MAX)
    }

    /// Writes the run to `out`, which has its length.
    pub fn write_to(&self, out: &mut [u8]) {
        let run = self.0;
        let (mut from, mut to) = (0, 0);
        for (message, value) in &run.shared {
            let end = run.body + run.start(*message as usize + 1);
            for piece in [&run.bytes[from..end], value] {
                out[to..to + piece.len()].copy_from_slice(piece);
                to += piece.len();
            }
            from = end;
        }
        out[to..].copy_from_slice(&run.bytes[from..]);
        set_u32(out, 8, (out.len() - run.body) as u32);
        let mut shared = run.shared.iter().peekable();
        let mut moved = 0;
        for i in 0..run.messages + run.ranges {
            set_u32(out, HEAD + 4 * i, (run.at(i) + moved) as u32);
            if let Some((_, value)) = shared.next_if(|(message, _)| *message as usize == i) {
                moved += value.len();
            }
        }
    }
}
