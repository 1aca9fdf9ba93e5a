//! The number of pieces in which a file grew. A file system allocates blocks at write-back, so the blocks of
//! a file written over a longer time interleave with those of other files. Snapshots give bounds for the time
//! in which a file was written.

use snapshot::{Kind, Snapshot};

use super::data::{Update, is_full};
use super::options::Options;
use crate::BLOCK_BYTES;

/// Limit of the parts of a file between two snapshots; more have no visible effect.
const MAX_PARTS: i64 = 256;

/// A number of bytes appended to a file at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Time in nanoseconds since 1970.
    pub at: i64,
    /// Number of bytes.
    pub len: u64,
}

/// The parts of the new file at `place`, if several: from its birth to its last modification.
pub(super) fn of_new(
    options: &Options,
    (snapshot, place): (&Snapshot, u32),
    from: i64,
    to: i64,
) -> Vec<Part> {
    let entry = &snapshot.entries()[place as usize];
    let Some(born) = entry.born_ns.filter(|born| (from..=to).contains(born)) else { return Vec::new() };
    if entry.kind != Kind::File || !is_full(options, snapshot, place) {
        return Vec::new();
    }
    parts(options, entry.size, born, entry.modified_ns.min(to))
}

/// The parts appended to the file at `place` of the later snapshot, if several: from the earlier snapshot to
/// its last modification at `last`.
pub(super) fn of_appended(
    options: &Options,
    (snapshot, place): (&Snapshot, u32),
    update: Update,
    from: i64,
    last: i64,
) -> Option<Vec<Part>> {
    let Update::Appended { from: size } = update else { return None };
    if !is_full(options, snapshot, place) {
        return None;
    }
    let parts = parts(options, snapshot.entries()[place as usize].size - size, from, last);
    (!parts.is_empty()).then_some(parts)
}

/// Parts of `len` bytes written from `first` to `last`; empty if one suffices.
fn parts(options: &Options, len: u64, first: i64, last: i64) -> Vec<Part> {
    let Some(write_back_ns) = options.write_back_ns else { return Vec::new() };
    let span = last.saturating_sub(first).max(0);
    let most = i64::try_from(len.div_ceil(BLOCK_BYTES)).unwrap_or(MAX_PARTS).min(MAX_PARTS);
    let count = (span / write_back_ns.max(1)).saturating_add(1).min(most);
    if count < 2 {
        return Vec::new();
    }
    let edge = |n: i64| (u128::from(len) * n as u128 / count as u128) as u64;
    let at = |n: i64| first + (i128::from(span) * i128::from(n) / i128::from(count - 1)) as i64;
    (0..count).map(|n| Part { at: at(n), len: edge(n + 1) - edge(n) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_writes_are_split_into_parts() {
        let options = Options { write_back_ns: Some(10), ..Options::full_metadata(1) };
        let of = |len, first, last| parts(&options, len, first, last);
        let three = of(3 * BLOCK_BYTES + 1, 100, 120);
        assert_eq!(three.iter().map(|part| part.at).collect::<Vec<_>>(), [100, 110, 120]);
        assert_eq!(three.iter().map(|part| part.len).sum::<u64>(), 3 * BLOCK_BYTES + 1);
        assert_eq!(of(2 * BLOCK_BYTES, 100, 9_000).len(), 2, "a part is at least one block");
        assert!(of(9 * BLOCK_BYTES, 100, 109).is_empty() && of(9 * BLOCK_BYTES, 100, 90).is_empty());
        assert_eq!(of(u64::MAX, i64::MIN, i64::MAX).len(), MAX_PARTS as usize);
        assert!(parts(&Options::published(1), 1 << 30, 0, i64::MAX).is_empty());
    }
}
