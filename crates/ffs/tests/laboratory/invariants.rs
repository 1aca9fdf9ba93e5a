//! Invariants under a million random operations over all policies, with periodic recounts.

use crate::common::KB;
use ffs::extents::{BestFit, BuddySearch, ExtentFs, FirstFit, Placement};
use ffs::geometry::FRAGMENTS;
use ffs::policy::{Baseline, BestCluster, NoSwitch, Original, Policy, SmartFrag};
use ffs::{Allocator, FastFs, Geometry, Layout, Volume};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use trace::{Content, DirId, FileId, Op, ROOT};

const OPERATIONS: u64 = 120_000;
const CHECK_EVERY: u64 = 4_000;
const DISK: u64 = 64 << 20;

/// The effect of an operation on the model.
type Effect = Box<dyn FnOnce(&mut Model)>;

/// Generates possible random operations, and tracks the sizes that files must have.
struct Model {
    random: ChaCha8Rng,
    files: Vec<(FileId, DirId, u64)>,
    directories: Vec<(DirId, u64)>,
    next: u64,
}

impl Model {
    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    /// Mostly small, sometimes megabytes, seldom beyond the single indirect block.
    fn size(&mut self) -> u64 {
        let most = match self.below(300) {
            0 => 20 << 20,
            1..10 => 2 << 20,
            10..100 => 150 * KB,
            _ => 30 * KB,
        };
        if self.below(3) == 0 { self.below(most / (8 * KB)) * 8 * KB } else { self.below(most) }
    }

    fn count(&mut self, dir: DirId, by: i64) {
        let entry = self.directories.iter_mut().find(|(other, _)| *other == dir).unwrap();
        entry.1 = entry.1.wrapping_add_signed(by);
    }

    /// An operation, and its effect on the model if there is space.
    fn step(&mut self) -> (Op, Effect) {
        self.next += 1;
        let id = FileId(self.next);
        let at = self.below(self.directories.len() as u64) as usize;
        let parent = self.directories[at].0;
        let size = self.size();
        if self.files.len() < 20 || (self.files.len() < 1500 && self.below(5) < 2) {
            let content = if self.below(20) == 0 { Content::Hole } else { Content::Written };
            return (
                Op::Create { file: id, parent, size, content },
                Box::new(move |model| {
                    model.files.push((id, parent, size));
                    model.count(parent, 1);
                }),
            );
        }
        let index = self.below(self.files.len() as u64) as usize;
        let (file, parent, old) = self.files[index];
        let resized = move |new: u64| Box::new(move |model: &mut Model| model.files[index].2 = new);
        match self.below(12) {
            0..4 => (
                Op::Delete { file, parent },
                Box::new(move |model| {
                    model.files.swap_remove(index);
                    model.count(parent, -1);
                }),
            ),
            4 | 5 => (Op::Append { file, parent, len: size / 4 }, resized(old + size / 4)),
            6 => {
                let offset = self.below(old + 30 * KB);
                (
                    Op::Write { file, parent, offset, len: size },
                    resized(if size > 0 { old.max(offset + size) } else { old }),
                )
            }
            7 => (Op::Truncate { file, parent, size }, resized(size)),
            8 => (Op::Punch { file, parent, offset: self.below(old + 1), len: size }, resized(old)),
            9 => {
                let at = self.below(self.directories.len() as u64) as usize;
                let to = self.directories[at].0;
                (
                    Op::Rename { file, parent, to_file: id, to_parent: to },
                    Box::new(move |model| {
                        model.files[index] = (id, to, old);
                        model.count(parent, -1);
                        model.count(to, 1);
                    }),
                )
            }
            10 if self.directories.len() < 12 => {
                let dir = DirId(self.next as u32);
                (Op::Mkdir { dir, parent: ROOT }, Box::new(move |model| model.directories.push((dir, 0))))
            }
            10 => match self.directories.iter().position(|&(dir, entries)| dir != ROOT && entries == 0) {
                Some(at) => {
                    let dir = self.directories[at].0;
                    (
                        Op::Rmdir { dir, parent: ROOT },
                        Box::new(move |model| {
                            model.directories.remove(at);
                        }),
                    )
                }
                None => (Op::Fsync { file, parent }, resized(old)),
            },
            _ => (Op::Fsync { file, parent }, resized(old)),
        }
    }
}

/// Applies random operations and recounts everything. `is_free` queries the free map for a unit.
fn exercise<A: Allocator>(name: &str, mut volume: Volume<A>, is_free: impl Fn(&A, u32) -> bool, seed: u64) {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let mut model = Model { random, files: Vec::new(), directories: vec![(ROOT, 0)], next: 0 };
    let all = volume.allocator().free_bytes().0;
    for number in 1..=OPERATIONS {
        let (op, then) = model.step();
        let refused = volume.counts().no_space;
        volume.apply(&op).unwrap_or_else(|e| panic!("{name}: {e}"));
        if volume.counts().no_space == refused {
            then(&mut model);
        } else if let Op::Create { file, parent, .. } = op
            && volume.layout_of(file).is_some()
        {
            model.files.push((file, parent, 0));
            model.count(parent, 1);
        }
        if number % CHECK_EVERY == 0 {
            volume.apply(&Op::Checkpoint { number }).unwrap();
            recount(name, &volume, &model, all, &is_free);
        }
    }
    assert!(volume.counts().no_space > 0, "{name}: the file system never became full");
    for (file, parent, _) in std::mem::take(&mut model.files) {
        volume.apply(&Op::Delete { file, parent }).unwrap();
    }
    for (dir, _) in model.directories.iter().filter(|(dir, _)| *dir != ROOT) {
        volume.apply(&Op::Rmdir { dir: *dir, parent: ROOT }).unwrap();
    }
    let root = volume.layout_of_directory(ROOT).unwrap();
    let kept: u64 = root.extents.iter().map(|extent| u64::from(extent.len)).sum::<u64>()
        + root.indirect.len() as u64 * u64::from(volume.allocator().block_units());
    let left = all - volume.allocator().free_bytes().0;
    assert_eq!(left, kept * volume.allocator().unit_bytes(), "{name}: only the root remains");
}

fn recount<A: Allocator>(
    name: &str,
    volume: &Volume<A>,
    model: &Model,
    all_bytes: u64,
    is_free: &impl Fn(&A, u32) -> bool,
) {
    let allocator = volume.allocator();
    allocator.check().unwrap_or_else(|why| panic!("{name}: {why}"));
    let (unit_bytes, units) = (allocator.unit_bytes(), allocator.block_units());
    let mut taken = vec![false; (allocator.size_bytes() / unit_bytes) as usize];
    let mut count = 0;
    let mut take = |start: u32, len: u32| {
        for unit in start..start + len {
            assert!(!std::mem::replace(&mut taken[unit as usize], true), "{name}: unit {unit} is used twice");
            assert!(!is_free(allocator, unit), "{name}: unit {unit} is both used and free");
            count += 1;
        }
    };
    let mut look = |layout: &Layout| {
        for extent in &layout.extents {
            take(extent.start, extent.len);
            // A block of a file, whole or partial, is within one block of the disk.
            for block in extent.logical / units..extent.logical_end().div_ceil(units) {
                let first = extent.start + (block * units).max(extent.logical) - extent.logical;
                let end = extent.start + ((block + 1) * units).min(extent.logical_end()) - extent.logical;
                assert_eq!(first / units, (end - 1) / units, "{name}: {extent:?} crosses a block");
                let is_whole = end - first == units;
                assert!(!is_whole || first % units == 0, "{name}: {extent:?} is not aligned");
            }
        }
        layout.indirect.iter().for_each(|&indirect| take(indirect, units));
    };
    let mut sizes = Vec::new();
    volume.each_file(|file| {
        look(file.layout);
        sizes.push((file.file, file.directory, file.layout.size));
        assert!(
            u64::from(file.layout.end())
                <= file.layout.size.div_ceil(unit_bytes).next_multiple_of(u64::from(units))
        );
    });
    volume.each_directory(&mut look);
    assert_eq!(
        allocator.free_bytes().0 + count * unit_bytes,
        all_bytes,
        "{name}: used and free bytes add up to the disk size"
    );
    sizes.sort_unstable();
    let mut expected: Vec<_> = model.files.iter().map(|&(file, dir, size)| (file.0, dir.0, size)).collect();
    expected.sort_unstable();
    // Data in the window that did not fit is truncated, so only the names match then.
    if volume.counts().no_space == 0 {
        assert_eq!(sizes, expected, "{name}");
    } else {
        let names =
            |list: &[(u64, u32, u64)]| list.iter().map(|&(file, dir, _)| (file, dir)).collect::<Vec<_>>();
        assert_eq!(names(&sizes), names(&expected), "{name}");
    }
}

fn fast<P: Policy>(policy: P, seed: u64) {
    let name = policy.name();
    let volume = Volume::new(FastFs::new(Geometry::of(DISK).unwrap(), policy));
    let is_free =
        |fs: &FastFs<P>, unit: u32| fs.groups().free_mask(unit / FRAGMENTS) >> (unit % FRAGMENTS) & 1 == 1;
    exercise(name, volume, is_free, seed);
}

fn extents<P: Placement>(placement: P, window_bytes: u64, seed: u64) {
    let name = placement.name();
    let volume = Volume::with_window(ExtentFs::new(DISK, placement).unwrap(), window_bytes);
    exercise(name, volume, |fs: &ExtentFs<P>, unit| fs.space().run_at(unit, 1) == 1, seed);
}

#[test]
fn fast_file_systems_stay_consistent() {
    fast(Baseline, 1);
    fast(Original, 2);
    fast(NoSwitch, 3);
    fast(SmartFrag, 4);
    fast(BestCluster, 5);
}

#[test]
fn extent_file_systems_stay_consistent() {
    extents(BuddySearch, 4 << 20, 6);
    extents(BuddySearch, 0, 7);
    extents(FirstFit, 4 << 20, 8);
    extents(BestFit, 4 << 20, 9);
}
