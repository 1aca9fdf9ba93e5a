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
        ("baseline", || fast(Baseline), 0xb21f_b191_407c_cc4b),
        ("original", || fast(Original), 0xf9ed_062c_5f65_0c93),
        ("no_switch", || fast(NoSwitch), 0xd95e_9606_fa74_45a9),
        ("smart_frag", || fast(SmartFrag), 0x1d67_affc_d84d_2f72),
        ("best_cluster", || fast(BestCluster), 0x5666_b132_d8e2_1d71),
        ("buddy", || extents(BuddySearch, WINDOW_BYTES), 0x522f_3675_19c1_5c37),
        ("first_fit", || extents(FirstFit, WINDOW_BYTES), 0xc9b2_fd81_5df0_3308),
        ("best_fit", || extents(BestFit, WINDOW_BYTES), 0x22ce_1647_6094_3d63),
        ("buddy_no_window", || extents(BuddySearch, 0), 0x32a3_4239_af6e_d5a8),
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
