//! The extent file system in small cases. A group has 32,768 blocks of 4 KB, of which 4 hold maps and 512 hold inodes, so data starts at
//! block 516; the root directory takes the first block for small files of its group.

use crate::common::*;
use ffs::extents::{BestFit, BuddySearch, ExtentFs, FirstFit, Placement};
use ffs::{Volume, measure};
use trace::{FileId, Op, ROOT};

fn extents<P: Placement>(placement: P, window_bytes: u64) -> Volume<ExtentFs<P>> {
    Volume::with_window(ExtentFs::new(256 << 20, placement).unwrap(), window_bytes)
}

/// Two files that grow alternately, eight blocks at a time.
fn by_turns<P: Placement>(volume: &mut Volume<ExtentFs<P>>) {
    apply(volume, &[create(1, 0), create(2, 0)]);
    for _ in 0..8 {
        apply(volume, &[append(1, 32 * KB), append(2, 32 * KB)]);
    }
    apply(volume, &[Op::Checkpoint { number: 1 }]);
}

#[test]
fn window_collects_appends() {
    let mut gathered = extents(BuddySearch, 16 << 20);
    by_turns(&mut gathered);
    assert_eq!((extents_of(&gathered, 1).len(), extents_of(&gathered, 2).len()), (1, 1));
    let mut at_once = extents(BuddySearch, 0);
    by_turns(&mut at_once);
    assert!(extents_of(&at_once, 1).len() > 1, "{:?}", extents_of(&at_once, 1));
    assert!(measure(&at_once).layout_score < measure(&gathered).layout_score);
}

#[test]
fn file_deleted_in_the_window_never_has_blocks() {
    let mut volume = extents(BuddySearch, 16 << 20);
    apply(&mut volume, &[create(1, 64 * KB)]);
    let free = measure(&volume).free.bytes;
    apply(&mut volume, &[create(2, 1 << 20)]);
    assert!(extents_of(&volume, 2).is_empty());
    apply(&mut volume, &[delete(2), Op::Fsync { file: FileId(1), parent: ROOT }]);
    assert_eq!(free - measure(&volume).free.bytes, 64 * KB);
}

#[test]
fn small_files_of_a_group_are_contiguous() {
    let mut volume = extents(BuddySearch, 0);
    apply(&mut volume, &[create(1, 4 * KB), create(2, 1 << 20), create(3, 8 * KB), create(4, 4 * KB)]);
    let at = |file| extents_of(&volume, file)[0].1;
    assert_eq!((at(3), at(4)), (at(1) + 1, at(1) + 3), "the large file is not between them");
}

/// Alternating files of 128 and 256 blocks; then all files of 128 blocks except the last are deleted, and the first of 256. This leaves runs of 128
/// and one of 512.
fn holed<P: Placement>(placement: P) -> Volume<ExtentFs<P>> {
    let mut volume = extents(placement, 0);
    for file in 0..8 {
        let size = if file % 2 == 0 { 128 } else { 256 };
        apply(&mut volume, &[create(10 + file, size * 4 * KB)]);
    }
    apply(&mut volume, &[delete(11), delete(10), delete(12), delete(14)]);
    volume
}

#[test]
fn best_fit_takes_the_shortest_run_and_first_fit_the_first() {
    let freed = |volume: &Volume<ExtentFs<BestFit>>, file| extents_of(volume, file)[0].1;
    let mut best = holed(BestFit);
    let fourth = freed(&best, 13) + 256;
    apply(&mut best, &[create(1, 120 * 4 * KB)]);
    assert_eq!(extents_of(&best, 1), [(0, fourth, 120)], "the hole of 128 between the files of 256");
    let mut first = holed(FirstFit);
    apply(&mut first, &[create(1, 120 * 4 * KB)]);
    assert!(extents_of(&first, 1)[0].1 < fourth, "the hole of 512 is before it");
}
