//! How files get their bytes: where they have holes, and what was done to those that were modified.

use snapshot::{Entry, Extent, Kind, Snapshot};
use trace::{Content, DirId, FileId, Op};

use super::options::{Options, Updates};
use crate::sizes::BLOCK_BYTES;

/// What was done to the contents of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Update {
    /// It was cut to nothing and written anew.
    Rewritten,
    /// It was written behind what it had.
    Appended {
        /// The size that it had.
        from: u64,
    },
    /// Its end was cut off.
    Cut,
    /// It was written to where it had been.
    Overwritten,
    /// Some of it was written anew, which a file system that copies on write does elsewhere: all that does not lie where it
    /// lay in the file at `a` of the earlier snapshot.
    Partly {
        /// That file.
        a: u32,
    },
}

/// What was done to the contents of the file that is `a` in the one snapshot and `b` in the other, if anything.
pub(super) fn update(
    options: &Options,
    (before, a): (&Snapshot, u32),
    (after, b): (&Snapshot, u32),
) -> Option<Update> {
    let (earlier, later) = (&before.entries()[a as usize], &after.entries()[b as usize]);
    let is_touched = match options.updates {
        Updates::Rewrite => earlier.changed_ns != later.changed_ns,
        Updates::Told => earlier.modified_ns != later.modified_ns,
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
    // What has become a hole cannot be made by writing.
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

/// The ranges of the first `size` bytes that do not lie where they lay, in order and with gaps between them.
fn moved(old: &[Extent], new: &[Extent], size: u64) -> Vec<(u64, u64)> {
    /// What is at `at` of the file: the place on disk, or a hole, and up to where.
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

/// Whether a range has no hole.
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

/// The operations that make the file at `place`.
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

/// The operation that makes the beginning of a file.
pub(super) fn begin((file, parent): (FileId, DirId), size: u64, ops: &mut impl Extend<Op>) {
    ops.extend([Op::Create { file, parent, size, content: Content::Auto }]);
}

/// The operations that do `update` to the file that is at `place` of `snapshot`, which comes after `before`.
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

/// Writes what the file has from byte `from` on, holes left out.
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

/// Writes what the file has from byte `from` up to but without `size`, holes left out.
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

/// Whether all of a file's bytes are on disk. Of one without extents that takes nothing on disk, and is too large to lie in its
/// inode, nothing is.
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
    fn what_does_not_lie_where_it_lay_is_known_however_it_is_cut_into_extents() {
        let one = [extent(0, 100, 12), extent(16, 200, 4)];
        let other = [extent(0, 100, 8), extent(8, 108, 4), extent(16, 200, 8)];
        assert_eq!(moved(&one, &other, 20), []);
        assert_eq!(moved(&one, &other, 24), [(20, 24)]);
        assert_eq!(moved(&one, &[extent(0, 100, 12), extent(16, 201, 4)], 20), [(16, 20)]);
        assert_eq!(moved(&one, &[extent(0, 100, 20)], 20), [(12, 20)], "a hole was filled");
        assert_eq!(moved(&one, &[extent(0, 100, 20)], 12), []);
        let pages = [extent(0, 100, 4), extent(4, 300, 4), extent(8, 108, 4), extent(16, 400, 4)];
        assert_eq!(moved(&one, &pages, 20), [(4, 8), (16, 20)]);
        assert!(is_covered(&one, (3, 12)) && is_covered(&pages, (2, 12)) && !is_covered(&one, (8, 17)));
    }
}
