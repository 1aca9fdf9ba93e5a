//! Memtables: the newest writes, in memory. They are the top buffer of the tree, and the only one changed in place.
//!
//! Each write has a number. A snapshot sees the writes up to its own number; older messages of a key are kept only while a snapshot may
//! see them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::arena::{Arena, ArenaSlice};
use crate::batch::{Op, Value};
use crate::memory::{Charge, Gauge};
use crate::payload::{LONG, Payload};
use crate::run::{Kind, Run, RunBuilder, join_patches, patched, single_patch};

/// Memory of a map entry besides its key and message.
const ENTRY: usize = 136;

type Bytes = Box<[u8]>;

/// A key, with its first bytes as a number that decides most comparisons.
#[derive(Debug)]
struct Key {
    prefix: u64,
    /// In the arena of the memtable.
    kept: ArenaSlice,
}

impl Key {
    fn bytes(&self) -> &[u8] {
        // SAFETY: a key is dropped with its memtable and thus with the arena; the bytes of keys are never written to.
        unsafe { self.kept.get() }
    }
}

/// A key for lookups.
trait AsKey {
    fn parts(&self) -> (u64, &[u8]);
}

impl AsKey for Key {
    fn parts(&self) -> (u64, &[u8]) {
        (self.prefix, self.bytes())
    }
}

impl AsKey for (u64, &[u8]) {
    fn parts(&self) -> (u64, &[u8]) {
        *self
    }
}

impl<'a> Borrow<dyn AsKey + 'a> for Key {
    fn borrow(&self) -> &(dyn AsKey + 'a) {
        self
    }
}

impl Ord for dyn AsKey + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}
impl PartialOrd for dyn AsKey + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for dyn AsKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}
impl Eq for dyn AsKey + '_ {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| self.bytes().cmp(other.bytes()))
    }
}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}
impl Eq for Key {}

/// The first eight bytes, padded with zeros, as a number with the same order.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let n = key.len().min(8);
    first[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(first)
}

/// The payload of a message.
#[derive(Debug)]
enum Body {
    /// In the arena of the memtable.
    ArenaSlice(ArenaSlice),
    /// A long value.
    Shared(Arc<Payload>),
}

#[derive(Debug)]
struct Message {
    number: u64,
    kind: Kind,
    body: Body,
}

impl Message {
    fn payload(&self) -> &[u8] {
        match &self.body {
            // SAFETY: a message is dropped with its memtable, and changed only while the memtable is borrowed exclusively.
            Body::ArenaSlice(kept) => unsafe { kept.get() },
            Body::Shared(value) => value,
        }
    }

    /// The payload for changes in place, unless it is shared.
    fn payload_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.body {
            // SAFETY: the memtable is borrowed exclusively, as this message is, so no other reference to the bytes exists.
            Body::ArenaSlice(kept) => Some(unsafe { kept.get_mut() }),
            Body::Shared(value) => Arc::get_mut(value).map(Payload::bytes_mut),
        }
    }
}

#[derive(Debug)]
struct Messages {
    newest: Message,
    /// Older messages that a snapshot may see, the oldest first.
    older: Vec<Message>,
}

impl Messages {
    fn at(&self, number: u64) -> Option<&Message> {
        if self.newest.number <= number {
            return Some(&self.newest);
        }
        self.older.iter().rev().find(|message| message.number <= number)
    }
}

/// The result of a lookup in a memtable.
#[derive(Debug)]
pub(crate) enum Lookup {
    Value(Vec<u8>),
    Absent,
    /// This patch, applied to the value below.
    Patch(Vec<u8>),
    /// No message: the value below is current.
    Nothing,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Memtable {
    /// Dropped before the arena, which holds its keys.
    messages: BTreeMap<Key, Messages>,
    arena: Arena,
    /// Disjoint ranges: lower key to upper key and the number of the write.
    ranges: BTreeMap<Bytes, (Bytes, u64)>,
    /// Bytes outside the arena.
    extra: usize,
    /// Bytes of long values, which have their own charge.
    shared: usize,
    gauge: Arc<Gauge>,
    /// The number of the last snapshot; no other thread sees newer messages.
    seen: u64,
    /// The first log sector with a record of this memtable.
    pub log_start: u64,
    charge: Charge,
}

impl Memtable {
    pub fn new(log_start: u64, gauge: &Arc<Gauge>) -> Self {
        Self {
            messages: BTreeMap::new(),
            arena: Arena::default(),
            ranges: BTreeMap::new(),
            extra: 0,
            shared: 0,
            gauge: Arc::clone(gauge),
            seen: 0,
            log_start,
            charge: Charge::new(gauge, 0),
        }
    }

    /// Approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        self.own_bytes() + self.shared
    }

    fn own_bytes(&self) -> usize {
        self.extra + self.arena.bytes()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.ranges.is_empty()
    }

    /// Keeps messages visible at `number` from now on.
    pub fn protect(&mut self, number: u64) {
        self.seen = self.seen.max(number);
    }

    /// Applies write `number`, which must be higher than all before.
    pub fn apply(&mut self, number: u64, op: &Op<'_>) {
        match *op {
            Op::Insert(key, Value::Bytes(value)) => self.set_bytes(number, key, Kind::Insert, value),
            Op::Insert(key, Value::Shared(value)) => self.set_shared(number, key, Arc::clone(value)),
            Op::Delete(key, freed) => self.set_bytes(number, key, Kind::Delete, freed),
            Op::Patch(key, offset, bytes) => self.patch(number, key, offset, bytes),
            Op::DeleteRange(from, to) => self.delete_range(number, from, to),
        }
        self.charge.set(self.own_bytes());
    }

    fn patch(&mut self, number: u64, key: &[u8], offset: u32, bytes: &[u8]) {
        let seen = self.seen;
        let deleted = self.deletes(key, u64::MAX);
        let newest = self.messages.get_mut(&(prefix(key), key) as &dyn AsKey).map(|found| &mut found.newest);
        let at = offset as usize..offset as usize + bytes.len();
        let (kind, payload) = match newest {
            // A message that no snapshot sees is changed in place.
            Some(old) => {
                if old.kind == Kind::Insert
                    && old.number > seen
                    && let Some(place) = old.payload_mut().and_then(|value| value.get_mut(at))
                {
                    place.copy_from_slice(bytes);
                    old.number = number;
                    return;
                }
                let patch = single_patch(offset, bytes);
                match old.kind {
                    Kind::Insert => (Kind::Insert, patched(Some(old.payload()), &patch)),
                    Kind::Delete => (Kind::Insert, patched(None, &patch)),
                    Kind::Patch => (Kind::Patch, join_patches(&patch, old.payload())),
                }
            }
            None if deleted => (Kind::Insert, patched(None, &single_patch(offset, bytes))),
            None => (Kind::Patch, single_patch(offset, bytes)),
        };
        self.set_bytes(number, key, kind, &payload);
    }

    fn set_bytes(&mut self, number: u64, key: &[u8], kind: Kind, payload: &[u8]) {
        if kind == Kind::Insert && payload.len() >= LONG {
            return self.set_shared(number, key, Arc::new(Payload::new(payload)));
        }
        let body = Body::ArenaSlice(self.arena.keep(payload));
        self.set(key, Message { number, kind, body });
    }

    fn set_shared(&mut self, number: u64, key: &[u8], value: Arc<Payload>) {
        value.charge(&self.gauge);
        self.shared += value.len();
        self.set(key, Message { number, kind: Kind::Insert, body: Body::Shared(value) });
    }

    fn set(&mut self, key: &[u8], message: Message) {
        if let Some(messages) = self.messages.get_mut(&(prefix(key), key) as &dyn AsKey) {
            let before = std::mem::replace(&mut messages.newest, message);
            if before.number <= self.seen {
                messages.older.push(before);
                self.extra += size_of::<Message>();
            } else if let Body::Shared(value) = before.body {
                self.shared -= value.len();
            }
        } else {
            let key = Key { prefix: prefix(key), kept: self.arena.keep(key) };
            self.messages.insert(key, Messages { newest: message, older: Vec::new() });
            self.extra += ENTRY;
        }
    }

    fn delete_range(&mut self, number: u64, from: &[u8], to: &[u8]) {
        let (low, high) = ((prefix(from), from), (prefix(to), to));
        let bounds = (Bound::Included(&low as &dyn AsKey), Bound::Excluded(&high as &dyn AsKey));
        let keys: Vec<Box<[u8]>> =
            self.messages.range::<dyn AsKey, _>(bounds).map(|(key, _)| key.bytes().into()).collect();
        for key in keys {
            let found = (prefix(&key), &*key);
            let messages = &self.messages[&found as &dyn AsKey];
            if messages.older.is_empty() && messages.newest.number > self.seen {
                self.extra -= ENTRY;
                if let Some(Messages { newest: Message { body: Body::Shared(value), .. }, .. }) =
                    self.messages.remove(&found as &dyn AsKey)
                {
                    self.shared -= value.len();
                }
            } else if messages.newest.kind != Kind::Delete {
                self.set_bytes(number, &key, Kind::Delete, &[]);
            }
        }
        // Only the parts outside existing ranges are new: keys in existing ranges are deleted already.
        let mut gap = from;
        let mut new: Vec<(Bytes, Bytes)> = Vec::new();
        let before = self.ranges.range::<[u8], _>((Bound::Unbounded, Bound::Included(from))).next_back();
        if let Some((_, (end, _))) = before {
            gap = gap.max(&**end);
        }
        for (start, (end, _)) in self.ranges.range::<[u8], _>((Bound::Excluded(from), Bound::Excluded(to))) {
            if gap < &**start {
                new.push((gap.into(), start.clone()));
            }
            gap = gap.max(&**end);
        }
        if gap < to {
            new.push((gap.into(), to.into()));
        }
        for (from, to) in new {
            self.extra += ENTRY + from.len() + to.len();
            self.ranges.insert(from, (to, number));
        }
    }

    /// Whether a range deletes `key` in a snapshot of `number`.
    fn deletes(&self, key: &[u8], number: u64) -> bool {
        let range = self.ranges.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        range.is_some_and(|(_, (to, at))| key < &**to && *at <= number)
    }

    /// Looks up `key` in a snapshot of `number`.
    pub fn get(&self, key: &[u8], number: u64) -> Lookup {
        let message = self.messages.get(&(prefix(key), key) as &dyn AsKey).and_then(|m| m.at(number));
        match message.map(|message| (message.kind, message.payload())) {
            Some((Kind::Insert, value)) => Lookup::Value(value.to_vec()),
            Some((Kind::Delete, _)) => Lookup::Absent,
            Some((Kind::Patch, payload)) => Lookup::Patch(payload.to_vec()),
            None if self.deletes(key, number) => Lookup::Absent,
            None => Lookup::Nothing,
        }
    }

    /// The run of messages in a snapshot of `number`, from `from` up to but without `to`, until it has about `bytes` bytes; and the key at which
    /// to continue, or `None` at the end.
    pub fn run(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        number: u64,
        bytes: usize,
        gauge: &Arc<Gauge>,
    ) -> (Run, Option<Vec<u8>>) {
        let mut out = RunBuilder::default();
        let low = (prefix(from), from);
        let beyond = self.ranges_end(from, to, bytes);
        let high = beyond.or(to).map(|key| (prefix(key), key));
        let bounds: (Bound<&dyn AsKey>, Bound<&dyn AsKey>) =
            (Bound::Included(&low), high.as_ref().map_or(Bound::Unbounded, |high| Bound::Excluded(high)));
        let mut end = beyond;
        for (key, messages) in self.messages.range::<dyn AsKey, _>(bounds) {
            if out.len() >= bytes {
                end = Some(key.bytes());
                break;
            }
            if let Some(message) = messages.at(number) {
                match &message.body {
                    Body::ArenaSlice(_) => out.push(key.bytes(), message.kind, message.payload()),
                    Body::Shared(value) => out.push_shared(key.bytes(), value),
                }
            }
        }
        let until = end.or(to);
        let mut open: Option<(&[u8], &[u8])> = None;
        for (start, stop, _) in self.ranges_from(from, until).filter(|(.., at)| *at <= number) {
            let start = start.max(from);
            let stop = until.map_or(stop, |until| until.min(stop));
            match &mut open {
                _ if start >= stop => {}
                Some((_, last)) if *last == start => *last = stop,
                _ => {
                    if let Some((a, b)) = open.replace((start, stop)) {
                        out.push_range(a, b);
                    }
                }
            }
        }
        if let Some((a, b)) = open {
            out.push_range(a, b);
        }
        (out.finish(gauge), end.map(<[u8]>::to_vec))
    }

    /// Ranges that end above `from` and start below `to`, with the numbers of their writes.
    fn ranges_from<'a>(
        &'a self,
        from: &'a [u8],
        to: Option<&'a [u8]>,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], u64)> {
        let before = self.ranges.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(from))).next_back();
        let upper = to.map_or(Bound::Unbounded, Bound::Excluded);
        let within = self.ranges.range::<[u8], _>((Bound::Included(from), upper));
        before.into_iter().chain(within).map(|(from, (to, at))| (&**from, &**to, *at))
    }

    /// The key at which the ranges from `from` on exceed `bytes`, if they do.
    fn ranges_end<'a>(&'a self, from: &'a [u8], to: Option<&'a [u8]>, bytes: usize) -> Option<&'a [u8]> {
        let mut sum = 0;
        self.ranges_from(from, to).find_map(|(a, b, _)| {
            let full = sum >= bytes && a > from;
            sum += a.len() + b.len() + 12;
            full.then_some(a)
        })
    }
}
