//! The fast file system in small cases that can be worked out by hand.
//!
//! A group has 2,048 blocks. The first 66 hold metadata: superblock, the group's own block, and 4,096 inodes of 128 bytes, which
//! are 64 blocks. So data starts at block 66 of group 0, and at block 2,048 + 66 = 2,114 of group 1. The root directory takes
//! the first data fragment when its first entry is created: fragment 66 · 8 = 528.

use crate::common::*;
use ffs::policy::{Baseline, NoSwitch, Original, SmartFrag};
use ffs::{GroupSummary, measure};
use trace::{Content, DirId, FileId, Op, ROOT};

#[test]
fn fragments_share_a_block_and_blocks_are_whole() {
    let mut volume = fast(Baseline);
    // File 1 has 10 KB: a block and two fragments. The root's fragment has split block 66, so the block goes to 67, and
    // the two fragments go to the run of seven behind the root's in block 66: fragments 529 and 530.
    // File 2 has 3 KB: three of the five fragments left there, 531 to 533.
    // File 3 has 3 KB: two fragments are left in block 66, so block 68, behind the last one used, is split.
    apply(&mut volume, &[create(1, 10 * KB), create(2, 3 * KB), create(3, 3 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(67), 8), (8, 529, 2)]);
    assert_eq!(extents_of(&volume, 2), [(0, 531, 3)]);
    assert_eq!(extents_of(&volume, 3), [(0, block(68), 3)]);
    // In group 0, blocks 66, 67 and 68 are not completely free; 2 + 5 fragments are free in 66 and 68.
    let counts = volume.allocator().groups().summary(0);
    assert_eq!(counts, GroupSummary { blocks: 2048 - 69, fragments: 7, inodes: 4096 - 4, directories: 1 });
    // File 1 and the root have no part of block 68: without file 3 it is completely free again.
    apply(&mut volume, &[delete(3)]);
    assert!(volume.allocator().groups().is_free(68));
}

#[test]
fn shortest_sufficient_run_is_taken() {
    let mut volume = fast(Baseline);
    // Block 66: the root's fragment, then files 1 (2 KB: 529, 530), 2 (2 KB: 531, 532), 3 (3 KB: 533 to 535): full.
    // Without file 1 there is a run of two; file 4 (5 KB) splits block 67 and leaves a run of three, 541 to 543.
    apply(
        &mut volume,
        &[create(1, 2 * KB), create(2, 2 * KB), create(3, 3 * KB), create(4, 5 * KB), delete(1)],
    );
    assert_eq!(extents_of(&volume, 4), [(0, block(67), 5)]);
    // A file of one fragment uses the run of two, not that of three; then a file of three uses the run of three.
    apply(&mut volume, &[create(5, KB), create(6, 3 * KB)]);
    assert_eq!((extents_of(&volume, 5), extents_of(&volume, 6)), (vec![(0, 529, 1)], vec![(0, 541, 3)]));
}

#[test]
fn fragments_grow_in_place_or_move() {
    let mut volume = fast(Baseline);
    // File 1 (2 KB) is at 529; behind it 531 to 535 are free, so three more fragments extend it to 529 to 533.
    apply(&mut volume, &[create(1, 2 * KB), append(1, 3 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, 529, 5)]);
    // File 2 takes the two fragments left behind it. One more fragment then needs another place: to save time a whole block is
    // allocated, the next one from the start of the group, 67, so that further growth has room; two of its fragments are freed.
    apply(&mut volume, &[create(2, 2 * KB), append(1, KB)]);
    assert_eq!(
        (extents_of(&volume, 2), extents_of(&volume, 1)),
        (vec![(0, 534, 2)], vec![(0, block(67), 6)])
    );
    assert_eq!(volume.allocator().groups().summary(0).fragments, 5 + 2);
    // 11 KB: the fragments become block 67, and three fragments are found in the run of five that file 1 left at 529.
    apply(&mut volume, &[append(1, 5 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(67), 8), (8, 529, 3)]);
    // Truncated to 9 KB, it keeps one of the three.
    apply(&mut volume, &[truncate(1, 9 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(67), 8), (8, 529, 1)]);
}

/// Blocks 67, 69, 71 … are used and those between are free, up to block 80; everything behind it is free.
fn combed<P: ffs::policy::Policy>(policy: P) -> ffs::Volume<ffs::FastFs<P>> {
    let mut volume = fast(policy);
    let files: Vec<Op> = (0..14).map(|file| create(100 + file, 8 * KB)).collect();
    apply(&mut volume, &files);
    let holes: Vec<Op> = (0..14).filter(|file| file % 2 == 1).map(|file| delete(100 + file)).collect();
    apply(&mut volume, &holes);
    volume
}

#[test]
fn clusters_move_to_a_run_that_fits() {
    // Three blocks: first found at 68, 70 and 72. They are one cluster and move to the first run of three behind the start of the file.
    // Block 80 was freed too, so that run starts there: 80, 81, 82.
    let mut volume = combed(Baseline);
    apply(&mut volume, &[create(1, 24 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(80), 24)]);
    assert!([68, 70, 72].iter().all(|&block| volume.allocator().groups().is_free(block)));
    // Before 4.4BSD they stayed in place.
    let mut volume = combed(Original);
    apply(&mut volume, &[create(1, 24 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(68), 8), (8, block(70), 8), (16, block(72), 8)]);
}

#[test]
fn cluster_goes_on_in_the_next_write() {
    // The second block is found at 70, so both move to 80; the third follows.
    let mut volume = combed(Baseline);
    apply(&mut volume, &[create(1, 8 * KB), append(1, 8 * KB), append(1, 8 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(80), 24)]);
    // A ninth block begins another cluster: file 2 is behind the first one, which stays.
    let mut volume = combed(Baseline);
    apply(&mut volume, &[create(1, 64 * KB), create(2, 64 * KB), append(1, 8 * KB)]);
    assert_eq!(extents_of(&volume, 1)[0], (0, block(82), 64));
    assert_eq!(extents_of(&volume, 1).len(), 2);
}

#[test]
fn file_end_is_separate_or_adjacent_by_policy() {
    // 9 KB: a block at 68, and a fragment that goes to the run behind the root's, 529.
    let mut volume = combed(Baseline);
    apply(&mut volume, &[create(1, 9 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(68), 8), (8, 529, 1)]);
    assert_eq!(measure(&volume).layout_score_others, Some(0.0));
    // Block 69 behind it is not free, so SmartFrag does the same; it divides block 83, which is behind a cluster of three.
    let mut volume = combed(SmartFrag);
    apply(&mut volume, &[create(1, 9 * KB), create(2, 25 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(68), 8), (8, 529, 1)]);
    assert_eq!(extents_of(&volume, 2), [(0, block(80), 25)]);
    // The rest of block 83 is for file ends that do not follow their block, though a run of six at 530 is shorter: the next end has seven
    // fragments.
    apply(&mut volume, &[create(3, 15 * KB)]);
    assert_eq!(extents_of(&volume, 3), [(0, block(70), 8), (8, block(83) + 1, 7)]);
}

#[test]
fn file_of_thirteen_blocks_switches_groups() {
    // 104 KB are twelve direct blocks, 67 to 78, and one behind an indirect block. The indirect block goes to the next group, 1, where data
    // starts at 2,114, followed by the block it names.
    let mut volume = fast(Baseline);
    apply(&mut volume, &[create(1, 104 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(67), 96), (96, block(2115), 8)]);
    assert_eq!(volume.layout_of(FileId(1)).unwrap().indirect, [block(2114)]);
    // Its direct blocks are in the group of its inode: it is not split.
    assert_eq!(measure(&volume).split_files, 0);
    // Without the switch the indirect block is behind the twelfth, and the thirteenth behind that.
    let mut volume = fast(NoSwitch);
    apply(&mut volume, &[create(1, 104 * KB)]);
    assert_eq!(extents_of(&volume, 1), [(0, block(67), 96), (96, block(80), 8)]);
    assert_eq!(volume.layout_of(FileId(1)).unwrap().indirect, [block(79)]);
}

#[test]
fn switch_is_to_the_next_group_with_average_free_space() {
    // 80 files of 96 KB are in group 1, which so has less free space than the average. Group 0 has more than the average, but a file in it
    // leaves it for group 2, where data starts at block 4,162.
    let mut volume = fast(Baseline);
    apply(&mut volume, &[Op::Mkdir { dir: DirId(1), parent: ROOT }]);
    let files: Vec<Op> = (100..180).map(|file| create_in(file, 1, 96 * KB)).collect();
    apply(&mut volume, &files);
    let groups = volume.allocator().groups();
    let average = groups.total().blocks / 4;
    assert!(groups.summary(0).blocks > average && groups.summary(1).blocks < average);
    apply(&mut volume, &[create(1, 104 * KB)]);
    assert_eq!(extents_of(&volume, 1)[1], (96, block(4163), 8));
    assert_eq!(volume.layout_of(FileId(1)).unwrap().indirect, [block(4162)]);
}

#[test]
fn directories_are_spread_and_files_follow() {
    // Group 0 has the root. The first directory goes to the first group without one, 1; then 2, 3; and when each has one, to
    // 0.
    let mut volume = fast(Baseline);
    let mkdirs: Vec<Op> = (1..=4).map(|dir| Op::Mkdir { dir: DirId(dir), parent: ROOT }).collect();
    apply(&mut volume, &mkdirs);
    apply(&mut volume, &[create_in(1, 1, 8 * KB), create_in(2, 3, 8 * KB), create_in(3, 4, 8 * KB)]);
    // The fragments of the directories come first, so the files are in the second blocks of their groups; in group 0 the fragments of the root
    // and of the fourth directory share block 66.
    assert_eq!(extents_of(&volume, 1), [(0, block(2048 + 67), 8)]);
    assert_eq!(extents_of(&volume, 2), [(0, block(3 * 2048 + 67), 8)]);
    assert_eq!(extents_of(&volume, 3), [(0, block(67), 8)]);
}

#[test]
fn full_group_overflows_into_the_next() {
    // Group 0 has 2,048 − 66 = 1,982 blocks of data, one of which is split by the root. 1,981 files of a block fill it; the
    // next one is one group further, at block 2,114, and split: its inode stays in group 0.
    let mut volume = fast(Baseline);
    let files: Vec<Op> = (1..=1982).map(|file| create(file, 8 * KB)).collect();
    apply(&mut volume, &files);
    // The root has grown to 1,982 · 16 bytes, 31 KB: four blocks instead of one fragment, so three more files do not
    // fit.
    let measures = measure(&volume);
    assert_eq!(measures.split_files, 1 + 3);
    assert_eq!((measures.split_adjacent_share, measures.split_within_ten_share), (Some(1.0), Some(1.0)));
    assert_eq!(volume.allocator().groups().summary(0).blocks, 0);
    // With groups 1 and 2 full, a file of group 0 finds its block three groups further: groups 1, 2, 4 … further on are asked first.
    let mkdirs: Vec<Op> = (1..=3).map(|dir| Op::Mkdir { dir: DirId(dir), parent: ROOT }).collect();
    apply(&mut volume, &mkdirs);
    let fill = |dir: u32| (0..1980).map(move |file| create_in(u64::from(dir) * 10_000 + file, dir, 8 * KB));
    apply(&mut volume, &[1, 2].into_iter().flat_map(fill).collect::<Vec<Op>>());
    let spilled = measure(&volume).split_files;
    apply(&mut volume, &[create(5000, 8 * KB)]);
    let measures = measure(&volume);
    assert_eq!(measures.split_files, spilled + 1);
    assert!(measures.split_adjacent_share.unwrap() < measures.split_within_ten_share.unwrap());
}

#[test]
fn tenth_is_reserved_and_lack_of_space_is_counted() {
    let mut volume = fast(Baseline);
    apply(&mut volume, &[create(1, 40 << 20), create(2, 30 << 20), append(2, 4 * KB)]);
    assert_eq!(volume.counts().no_space, 1);
    // The failed write leaves nothing allocated: the file exists, and has the 4 KB that fit later.
    assert_eq!(extents_of(&volume, 2).iter().map(|extent| extent.2).sum::<u32>(), 4);
    ffs::Allocator::check(volume.allocator()).unwrap();
}

#[test]
fn holes_have_no_blocks_and_links_keep_a_file() {
    let mut volume = fast(Baseline);
    let hole = Op::Create { file: FileId(1), parent: ROOT, size: 80 * KB, content: Content::Hole };
    let link = Op::Link { file: FileId(1), parent: ROOT, to_file: FileId(2), to_parent: ROOT };
    let write = Op::Write { file: FileId(1), parent: ROOT, offset: 32 * KB, len: 8 * KB };
    apply(&mut volume, &[hole, write, link, delete(1)]);
    assert_eq!(extents_of(&volume, 2), [(32, block(67), 8)]);
    assert_eq!(measure(&volume).files, 1);
    apply(&mut volume, &[delete(2)]);
    assert!(volume.allocator().groups().is_free(67));
}

#[test]
fn impossible_operations_are_reported() {
    let mut volume = fast(Baseline);
    let error = volume.apply(&delete(7)).unwrap_err().to_string();
    assert!(error.contains("operation 0, delete f7 in d0, is impossible: no such file"), "{error}");
}
