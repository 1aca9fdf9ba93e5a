//! The exact layout of the synthetic history under each policy, as one digest each. A digest changes if the policy changes, and must not change
//! if the laboratory only becomes faster.

use ffs::extents::{BestFit, BuddySearch, ExtentFs, FirstFit, Placement};
use ffs::policy::{Baseline, BestCluster, NoSwitch, Original, Policy, SmartFrag};
use ffs::{Allocator, FastFs, Geometry, History, Layout, Volume};
use std::thread;
use trace::Source as _;

const DISK: u64 = 256 << 20;
const WINDOW_BYTES: u64 = 16 << 20;

/// Ages a file system and returns the digest of the layout.
type Aging = fn() -> u64;

/// FNV-1a by words.
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
}

fn digest_of(layout: &Layout, beside: u64) -> u64 {
    let mut hash =
        [u64::from(layout.inode), layout.size, beside].into_iter().fold(0xcbf2_9ce4_8422_2325, mix);
    for extent in &layout.extents {
        hash = [extent.logical, extent.start, extent.len]
            .into_iter()
            .fold(hash, |hash, word| mix(hash, word.into()));
    }
    layout.indirect.iter().fold(hash, |hash, &word| mix(hash, word.into()))
}

/// The sum over all files and directories after the history, independent of their order.
fn digest<A: Allocator>(mut volume: Volume<A>) -> u64 {
    let (mut history, mut batch) = (History::new(DISK, 1), Vec::new());
    while history.next_batch(&mut batch).is_ok() && !batch.is_empty() {
        batch.iter().for_each(|op| volume.apply(op).unwrap());
    }
    let mut sum = 0u64;
    volume.each_file(|file| {
        let beside = [file.file, file.directory.into(), file.day.into()].into_iter().fold(0, mix);
        sum = sum.wrapping_add(digest_of(file.layout, beside));
    });
    volume.each_directory(|layout| sum = sum.wrapping_add(digest_of(layout, 0)));
    volume.allocator().check().unwrap();
    sum
}

fn fast<P: Policy>(policy: P) -> u64 {
    digest(Volume::new(FastFs::new(Geometry::of(DISK).unwrap(), policy)))
}

fn extents<P: Placement>(placement: P, window_bytes: u64) -> u64 {
    digest(Volume::with_window(ExtentFs::new(DISK, placement).unwrap(), window_bytes))
}

#[test]
fn layouts_of_the_history_match_their_digests() {
    let digests: [(&str, Aging, u64); 9] = [
        ("baseline", || fast(Baseline), 0xceb6_c938_edb8_8fc1),
        ("original", || fast(Original), 0x181e_0ba4_f9f1_4c24),
        ("no_switch", || fast(NoSwitch), 0xe14e_a6a4_ee34_7f9e),
        ("smart_frag", || fast(SmartFrag), 0x449a_c31c_63c9_8dfd),
        ("best_cluster", || fast(BestCluster), 0x0863_9791_05a5_9412),
        ("buddy", || extents(BuddySearch, WINDOW_BYTES), 0x6305_366e_d545_23b8),
        ("first_fit", || extents(FirstFit, WINDOW_BYTES), 0x927f_a6bb_0320_2068),
        ("best_fit", || extents(BestFit, WINDOW_BYTES), 0x8fae_d2e2_035c_1692),
        ("buddy_no_window", || extents(BuddySearch, 0), 0xdba4_34c7_92a9_7e6e),
    ];
    thread::scope(|scope| {
        let agings = digests.map(|(policy, age, expected)| (policy, scope.spawn(age), expected));
        let found = agings.map(|(policy, aging, expected)| (policy, aging.join().unwrap(), expected));
        let changed = found.into_iter().filter(|(_, digest, expected)| digest != expected);
        let changed: Vec<String> =
            changed.map(|(policy, digest, _)| format!("{policy} is {digest:#018x}")).collect();
        assert!(changed.is_empty(), "layouts changed: {changed:?}");
    });
}
