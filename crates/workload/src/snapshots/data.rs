//! The data of files: holes, and changes to the contents of modified files.

use snapshot::{Entry, Extent, Kind, Snapshot};
use trace::{Content, DirId, FileId, Op};

use super::options::{Options, Updates};
use crate::BLOCK_BYTES;

/// A change to the contents of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Update {
    /// Truncated to 0 and rewritten.
    Rewritten,
    /// Appended to.
    Appended {
        /// The size before.
        from: u64,
    },
    /// Truncated.
    Cut,
    /// Overwritten in place.
    Overwritten,
    /// Partly rewritten, at new places on a copy-on-write file system: every range that does not lie where it
    /// lay in the file at `a` of the earlier snapshot.
    Partly {
        /// The place of the file in the earlier snapshot.
        a: u32,
    },
}

/// The change to the contents of the file at `a` of the one snapshot and `b` of the other, if any.
pub(super) fn update(
    options: &Options,
    (before, a): (&Snapshot, u32),
    (after, b): (&Snapshot, u32),
) -> Option<Update> {
    let (earlier, later) = (&before.entries()[a as usize], &after.entries()[b as usize]);
    let is_touched = match options.updates {
        Updates::Rewrite => earlier.changed_ns != later.changed_ns,
        Updates::Inferred => earlier.modified_ns != later.modified_ns,
    };
    if later.kind != Kind::File || !is_touched && earlier.size == later.size {
        return None;
    }
    if options.updates == Updates::Rewrite {
        return Some(Update::Rewritten);
    }
    let (old, new) = (before.extents(a), after.extents(b));
    let known = |entry: &Entry, extents: &[Extent]| !extents.is_empty() || entry.size == 0;
    let both_known = known(earlier, old) && known(later, new);
    let common = earlier.size.min(later.size);
    let moved = if both_known { moved(old, new, common) } else { Vec::new() };
    let in_place = both_known && moved.is_empty();
    // A write cannot create a hole.
    let is_written = moved.iter().all(|range| is_covered(new, *range));
    let stays = both_known && is_written && moved.iter().map(|(from, to)| to - from).sum::<u64>() < common;
    Some(if later.size > earlier.size && (in_place || !both_known) {
        Update::Appended { from: earlier.size }
    } else if later.size < earlier.size && in_place {
        Update::Cut
    } else if later.size == earlier.size && later.size > 0 && in_place {
        Update::Overwritten
    } else if stays {
        Update::Partly { a }
    } else {
        Update::Rewritten
    })
}

/// The ranges of the first `size` bytes that have moved on disk, in order and with gaps between them.
fn moved(old: &[Extent], new: &[Extent], size: u64) -> Vec<(u64, u64)> {
    /// The place on disk of byte `at` of the file, or `None` for a hole, and the end of the extent or hole.
    fn piece(extents: &[Extent], at: u64) -> (Option<u64>, u64) {
        let next = extents.partition_point(|extent| extent.logical + extent.len <= at);
        match extents.get(next) {
            Some(extent) if extent.logical <= at => {
                (Some(extent.physical + (at - extent.logical)), extent.logical + extent.len)
            }
            Some(extent) => (None, extent.logical),
            None => (None, u64::MAX),
        }
    }
    let mut moved: Vec<(u64, u64)> = Vec::new();
    let mut at = 0;
    while at < size {
        let ((old_place, old_end), (new_place, new_end)) = (piece(old, at), piece(new, at));
        let end = old_end.min(new_end).min(size);
        match moved.last_mut() {
            _ if old_place == new_place => {}
            Some((_, last)) if *last == at => *last = end,
            _ => moved.push((at, end)),
        }
        at = end;
    }
    moved
}

/// Whether a range has no holes.
fn is_covered(extents: &[Extent], (from, to): (u64, u64)) -> bool {
    let mut at = from;
    let next = extents.partition_point(|extent| extent.logical + extent.len <= from);
    for extent in &extents[next..] {
        if extent.logical > at {
            break;
        }
        at = extent.logical + extent.len;
    }
    at >= to
}

/// The operations that create the file at `place`.
pub(super) fn create(
    options: &Options,
    snapshot: &Snapshot,
    place: u32,
    (file, parent): (FileId, DirId),
    ops: &mut impl Extend<Op>,
) {
    let entry = &snapshot.entries()[place as usize];
    let size = entry.size;
    if entry.kind == Kind::Symlink {
        ops.extend([Op::Create { file, parent, size, content: Content::Symlink }]);
    } else if is_full(options, snapshot, place) {
        ops.extend([Op::Create { file, parent, size, content: Content::Auto }]);
    } else {
        ops.extend([Op::Create { file, parent, size, content: Content::Hole }]);
        write(options, snapshot, place, 0, (file, parent), ops);
    }
}

/// The operation that creates the first part of a file.
pub(super) fn begin((file, parent): (FileId, DirId), size: u64, ops: &mut impl Extend<Op>) {
    ops.extend([Op::Create { file, parent, size, content: Content::Auto }]);
}

/// The operations that apply `update` to the file at `place` of `snapshot`, which follows `before`.
pub(super) fn change(
    options: &Options,
    (before, snapshot): (&Snapshot, &Snapshot),
    place: u32,
    update: Update,
    (file, parent): (FileId, DirId),
    ops: &mut impl Extend<Op>,
) {
    let size = snapshot.entries()[place as usize].size;
    let name = (file, parent);
    let is_full = is_full(options, snapshot, place);
    match update {
        Update::Cut => ops.extend([Op::Truncate { file, parent, size }]),
        Update::Appended { from } if is_full => ops.extend([Op::Append { file, parent, len: size - from }]),
        Update::Appended { from } => {
            ops.extend([Op::Truncate { file, parent, size }]);
            write(options, snapshot, place, from, name, ops);
        }
        Update::Overwritten => write(options, snapshot, place, 0, name, ops),
        Update::Partly { a } => {
            let old_size = before.entries()[a as usize].size;
            if size < old_size || !is_full && size > old_size {
                ops.extend([Op::Truncate { file, parent, size }]);
            }
            for (from, to) in moved(before.extents(a), snapshot.extents(place), size.min(old_size)) {
                write_range(options, snapshot, place, (from, to), name, ops);
            }
            write_range(options, snapshot, place, (old_size, size), name, ops);
        }
        Update::Rewritten => {
            ops.extend([Op::Truncate { file, parent, size: 0 }]);
            if !is_full {
                ops.extend([Op::Truncate { file, parent, size }]);
            }
            write(options, snapshot, place, 0, name, ops);
        }
    }
}

/// Writes the file from byte `from` on, without its holes.
fn write(
    options: &Options,
    snapshot: &Snapshot,
    place: u32,
    from: u64,
    name: (FileId, DirId),
    ops: &mut impl Extend<Op>,
) {
    let size = snapshot.entries()[place as usize].size;
    write_range(options, snapshot, place, (from, size), name, ops);
}

/// Writes the file from byte `from` up to `size`, exclusive, without its holes.
fn write_range(
    options: &Options,
    snapshot: &Snapshot,
    place: u32,
    (from, size): (u64, u64),
    (file, parent): (FileId, DirId),
    ops: &mut impl Extend<Op>,
) {
    let op = |start: u64, end: u64| {
        (start < end).then_some(Op::Write { file, parent, offset: start, len: end.saturating_sub(start) })
    };
    if is_full(options, snapshot, place) {
        return ops.extend(op(from, size));
    }
    let mut run: Option<(u64, u64)> = None;
    for extent in snapshot.extents(place) {
        let (start, end) = (extent.logical.max(from), (extent.logical + extent.len).min(size));
        run = match run {
            Some((first, last)) if last == start => Some((first, end)),
            before => {
                ops.extend(before.and_then(|(first, last)| op(first, last)));
                Some((start, end))
            }
        };
    }
    ops.extend(run.and_then(|(first, last)| op(first, last)));
}

/// Whether a file has no holes. A file without extents and without allocated space is all hole if it is too
/// large for inline data.
pub(super) fn is_full(options: &Options, snapshot: &Snapshot, place: u32) -> bool {
    let entry = &snapshot.entries()[place as usize];
    if !options.holes || entry.size == 0 {
        return true;
    }
    let extents = snapshot.extents(place);
    if extents.is_empty() {
        return entry.allocated > 0 || entry.size < snapshot.info().block_bytes.max(BLOCK_BYTES);
    }
    let mut end = 0;
    for extent in extents {
        if extent.logical > end {
            return false;
        }
        end = end.max(extent.logical + extent.len);
    }
    end >= entry.size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, physical: u64, len: u64) -> Extent {
        Extent { logical, physical, len }
    }

    #[test]
    fn moved_ranges_are_found_across_extent_splits() {
        let one = [extent(0, 100, 12), extent(16, 200, 4)];
        let other = [extent(0, 100, 8), extent(8, 108, 4), extent(16, 200, 8)];
        assert_eq!(moved(&one, &other, 20), []);
        assert_eq!(moved(&one, &other, 24), [(20, 24)]);
        assert_eq!(moved(&one, &[extent(0, 100, 12), extent(16, 201, 4)], 20), [(16, 20)]);
        assert_eq!(moved(&one, &[extent(0, 100, 20)], 20), [(12, 20)], "a filled hole counts as moved");
        assert_eq!(moved(&one, &[extent(0, 100, 20)], 12), []);
        let pages = [extent(0, 100, 4), extent(4, 300, 4), extent(8, 108, 4), extent(16, 400, 4)];
        assert_eq!(moved(&one, &pages, 20), [(4, 8), (16, 20)]);
        assert!(is_covered(&one, (3, 12)) && is_covered(&pages, (2, 12)) && !is_covered(&one, (8, 17)));
    }
}
