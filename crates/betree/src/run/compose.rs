//! Composition of two runs into one with the effect of both.

use super::{Kind, Run, RunBuilder, join_patches, patched};

/// The messages and ranges of a run within bounds.
#[derive(Debug, Clone)]
pub(crate) struct Slice<'a> {
    pub run: &'a Run,
    /// The first message, and the one behind the last.
    pub first: usize,
    pub last: usize,
    /// Ranges, cut to the bounds.
    pub ranges: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Slice<'a> {
    /// All of `run`.
    pub fn all(run: &'a Run) -> Self {
        Self {
            run,
            first: 0,
            last: run.messages(),
            ranges: (0..run.ranges()).map(|i| run.range(i)).collect(),
        }
    }

    /// The part of this slice from `from` up to but without `to`; messages before `start` are known to be below `from`.
    pub fn sub(&self, start: usize, from: Option<&'a [u8]>, to: Option<&'a [u8]>) -> Self {
        let start = start.max(self.first);
        let first = from.map_or(start, |key| self.run.lower_bound(start, key).min(self.last));
        let last = to.map_or(self.last, |key| self.run.lower_bound(first, key).min(self.last));
        let skipped = from.map_or(0, |key| self.ranges.partition_point(|(_, b)| *b <= key));
        let ranges = self.ranges[skipped..].iter().map_while(|(a, b)| {
            let a = from.map_or(*a, |key| key.max(a));
            let b = to.map_or(*b, |key| key.min(b));
            (a < b).then_some((a, b))
        });
        Self { run: self.run, first, last, ranges: ranges.collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.first == self.last && self.ranges.is_empty()
    }
}

/// The output of a composition.
pub(crate) trait Target {
    /// Whether the output is a leaf, with nothing beneath it, so that only values are needed.
    const LEAF: bool;
    fn push(&mut self, key: &[u8], kind: Kind, payload: &[u8]);
    fn copy(&mut self, run: &Run, i: usize, j: usize);
}

impl Target for RunBuilder {
    const LEAF: bool = false;

    fn push(&mut self, key: &[u8], kind: Kind, payload: &[u8]) {
        Self::push(self, key, kind, payload);
    }

    fn copy(&mut self, run: &Run, i: usize, j: usize) {
        Self::copy(self, run, i, j);
    }
}

/// Passes the messages of `newer` over `older` to `out`, in order. Ranges are not passed: see [`union`].
pub(crate) fn compose<T: Target>(newer: &Slice<'_>, older: &Slice<'_>, out: &mut T) {
    let (new, old) = (newer.run, older.run);
    let mut ranges = newer.ranges.iter().peekable();
    let (mut j, mut i) = (older.first, newer.first);
    while i < newer.last {
        let key = new.key(i);
        let next = old.lower_bound(j, key).min(older.last);
        copy_kept(old, j, next, &mut ranges, out);
        j = next;
        let mut found = None;
        if j < older.last && old.key(j) == key {
            if !is_deleted(key, &mut ranges) {
                found = Some(j);
            }
            j += 1;
        }
        let beneath = |key: &[u8]| T::LEAF || deleted_by(&older.ranges, key);
        match (new.kind(i), found) {
            (Kind::Insert, _) => out.copy(new, i, i + 1),
            (Kind::Delete, _) if T::LEAF => {}
            (Kind::Delete, _) => out.copy(new, i, i + 1),
            (Kind::Patch, Some(k)) => match old.kind(k) {
                Kind::Insert => out.push(key, Kind::Insert, &patched(Some(old.payload(k)), new.payload(i))),
                Kind::Delete => out.push(key, Kind::Insert, &patched(None, new.payload(i))),
                Kind::Patch => out.push(key, Kind::Patch, &join_patches(new.payload(i), old.payload(k))),
            },
            (Kind::Patch, None) if beneath(key) => {
                out.push(key, Kind::Insert, &patched(None, new.payload(i)))
            }
            (Kind::Patch, None) => out.copy(new, i, i + 1),
        }
        i += 1;
    }
    copy_kept(old, j, older.last, &mut ranges, out);
}

type Ranges<'a, 'b> = std::iter::Peekable<std::slice::Iter<'b, (&'a [u8], &'a [u8])>>;

/// Whether a range deletes `key`; skips the ranges that end before it.
fn is_deleted(key: &[u8], ranges: &mut Ranges<'_, '_>) -> bool {
    while ranges.next_if(|(_, to)| *to <= key).is_some() {}
    ranges.peek().is_some_and(|(from, _)| *from <= key)
}

fn deleted_by(ranges: &[(&[u8], &[u8])], key: &[u8]) -> bool {
    let i = ranges.partition_point(|(_, to)| *to <= key);
    ranges.get(i).is_some_and(|(from, _)| *from <= key)
}

/// Copies messages `i..j` of the older run, except for those that a newer range deletes.
fn copy_kept<T: Target>(old: &Run, mut i: usize, j: usize, ranges: &mut Ranges<'_, '_>, out: &mut T) {
    while i < j {
        while ranges.next_if(|(_, to)| *to <= old.key(i)).is_some() {}
        let Some((from, to)) = ranges.peek() else { break };
        let kept = old.lower_bound(i, from).min(j);
        out.copy(old, i, kept);
        i = old.lower_bound(kept, to).min(j);
    }
    if i < j {
        out.copy(old, i, j);
    }
}

/// The ranges of both, merged where they touch.
pub(crate) fn union<'a>(a: &[(&'a [u8], &'a [u8])], b: &[(&'a [u8], &'a [u8])]) -> Vec<(&'a [u8], &'a [u8])> {
    let mut all: Vec<_> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut out: Vec<(&[u8], &[u8])> = Vec::with_capacity(all.len());
    for (from, to) in all {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}
