//! Workloads from snapshots: replaying the workload of a random history, known only from snapshots,
//! reproduces every snapshot; the changes between snapshots are counted; invalid series are rejected.

mod cases;
pub mod history;
mod model;

use history::{BLOCK, DAY_NS, History, Keeps, three_days};
use model::Model;
use proptest::prelude::*;
use senesce_workload::Error;
use senesce_workload::snapshots::{
    ChangeCounts, Deletions, Extracted, Options, Placement, ShortLived, Summary, Updates, check_series,
    snapshot_files,
};
use snapshot::activity::{Action, ActivityProfile, ActivitySet, Event};
use snapshot::{ChangeKind, Entry, Info, Kind, ROOT, Snapshot, SnapshotBuilder, diff};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trace::{Op, Source, ValidatingSource};

/// All operations, each checked to be valid, and the statistics; calls `at` at each checkpoint.
fn replay(
    snapshots: &[Snapshot],
    options: &Options,
    mut at: impl FnMut(usize, &Model),
) -> Result<(Vec<Op>, Summary), String> {
    let mut workload =
        Extracted::new(Box::new(snapshots.to_vec()), options.clone()).map_err(|e| e.to_string())?;
    let labels = workload.labels();
    let (mut model, mut all, mut batch) = (Model::default(), Vec::new(), Vec::new());
    let mut checked = ValidatingSource::new(&mut workload);
    loop {
        checked.next_batch(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok((all, workload.summary().clone()));
        }
        for op in &batch {
            model.apply(op, &*labels);
            if let Op::Checkpoint { number } = op {
                at(*number as usize, &model);
            }
        }
        all.append(&mut batch);
    }
}

fn path(snapshot: &Snapshot, place: u32) -> String {
    String::from_utf8(snapshot.path(place)).unwrap()
}

/// All file names with their entries and files, and all directories.
fn names(snapshot: &Snapshot) -> (BTreeMap<String, (&Entry, u32)>, Vec<String>) {
    let entries = snapshot.entries().iter().enumerate().skip(1);
    let (dirs, files): (Vec<_>, Vec<_>) = entries.partition(|(_, entry)| entry.kind == Kind::Dir);
    let mut dirs: Vec<String> = dirs.into_iter().map(|(place, _)| path(snapshot, place as u32)).collect();
    dirs.sort();
    let files = files.into_iter().map(|(place, entry)| (path(snapshot, place as u32), (entry, place as u32)));
    (files.collect(), dirs)
}

/// Checks that the model matches the snapshot at every checkpoint: names, directories, hard links, sizes and
/// holes. A file in two snapshots must not be created again.
struct Witness<'w> {
    snapshots: &'w [Snapshot],
    holes: bool,
    before: HashMap<(u64, Option<u32>, Option<i64>), usize>,
    checkpoints: usize,
}

impl<'w> Witness<'w> {
    fn new(snapshots: &'w [Snapshot], holes: bool) -> Witness<'w> {
        Witness { snapshots, holes, before: HashMap::new(), checkpoints: 0 }
    }

    fn at(&mut self, number: usize, model: &Model) {
        assert_eq!(number, self.checkpoints);
        self.checkpoints += 1;
        let snapshot = &self.snapshots[number];
        let (expected, dirs) = names(snapshot);
        let found = model.files();
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "snapshot {number}"
        );
        assert_eq!(model.dirs(), dirs, "snapshot {number}");
        let (mut inode_of, mut file_of, mut now) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (name, (entry, place)) in &expected {
            let inode = found[name];
            let contents = &model.inodes[inode];
            assert_eq!(
                (contents.size, contents.is_symlink),
                (entry.size, entry.kind == Kind::Symlink),
                "{name}"
            );
            assert_eq!(*inode_of.entry(entry.inode).or_insert(inode), inode, "{name} is a hard link");
            assert_eq!(
                *file_of.entry(inode).or_insert(entry.inode),
                entry.inode,
                "{name} is not a hard link"
            );
            let extents = snapshot.extents(*place);
            if self.holes && !extents.is_empty() {
                let has_block = |block: usize| {
                    let at = block as u64 * BLOCK;
                    extents.iter().any(|extent| (extent.logical..extent.logical + extent.len).contains(&at))
                };
                let expected: Vec<bool> = (0..contents.blocks.len()).map(has_block).collect();
                assert_eq!(contents.blocks, expected, "{name}");
            }
            let identity = (entry.inode, entry.generation, entry.born_ns);
            if entry.generation.or(entry.born_ns.map(|_| 0)).is_some()
                && let Some(before) = self.before.get(&identity)
            {
                assert_eq!(*before, inode, "{name} must stay the same file");
            }
            now.insert(identity, inode);
        }
        self.before = now;
    }
}

/// A history with one snapshot per element of `steps`, and the expected counts of each pair.
fn history(steps: &[Vec<u64>], keeps: Keeps) -> (Vec<Snapshot>, Vec<ChangeCounts>) {
    let mut history = History::new(keeps);
    let (mut snapshots, mut files) = (Vec::new(), Vec::new());
    for steps in steps {
        steps.iter().for_each(|step| history.step(*step));
        history.pass(DAY_NS / 2);
        snapshots.push(history.snapshot());
        files.push(history.files());
    }
    let truth = files.windows(2).map(|pair| {
        let (a, b) = (&pair[0], &pair[1]);
        let gone: BTreeSet<u64> = a.keys().filter(|file| !b.contains_key(file)).map(|file| file.0).collect();
        let new: BTreeSet<u64> = b.keys().filter(|file| !a.contains_key(file)).map(|file| file.0).collect();
        let replaces = gone.intersection(&new).count() as u64;
        let both = a.iter().filter_map(|(file, before)| b.get(file).map(|after| (before, after)));
        let modified: Vec<_> = both.filter(|(before, after)| before.changes != after.changes).collect();
        ChangeCounts {
            creates: new.len() as u64 - replaces,
            deletes: gone.len() as u64 - replaces,
            replaces,
            modifies: modified.len() as u64,
            appends: modified.iter().filter(|(before, after)| after.is_grown(before)).count() as u64,
            ..ChangeCounts::default()
        }
    });
    let truth = truth.collect();
    (snapshots, truth)
}

/// File counts from a comparison of two snapshots, without directories.
fn compared(a: &Snapshot, b: &Snapshot) -> [u64; 4] {
    let is_file = |snapshot: &Snapshot, place: Option<u32>| {
        place.is_some_and(|place| snapshot.entries()[place as usize].kind != Kind::Dir)
    };
    let [mut creates, mut deletes, mut replaces, mut modifies] = [0; 4];
    for change in diff(a, b) {
        match (change.kind, is_file(a, change.before), is_file(b, change.after)) {
            (ChangeKind::Created, _, true) | (ChangeKind::Replaced, false, true) => creates += 1,
            (ChangeKind::Deleted, true, _) | (ChangeKind::Replaced, true, false) => deletes += 1,
            (ChangeKind::Replaced, true, true) => replaces += 1,
            (ChangeKind::Modified, ..) => modifies += 1,
            _ => {}
        }
    }
    [creates, deletes, replaces, modifies]
}

fn file_counts(counts: &ChangeCounts) -> [u64; 5] {
    [counts.creates, counts.deletes, counts.replaces, counts.modifies, counts.appends]
}

fn count(ops: &[Op], kinds: &[&str]) -> usize {
    ops.iter().filter(|op| kinds.contains(&Op::KINDS[op.kind()])).count()
}

fn steps() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(any::<u64>(), 0..60), 1..6)
}

/// Two files per profile, and one profile per 256 MiB and day.
fn short_lived() -> ShortLived {
    let at = |at_ms, action| Event { at_ms, action };
    let events = vec![
        at(1_000, Action::Create { file: 0, size: 10 }),
        at(2_000, Action::Create { file: 1, size: 5_000 }),
        at(50_000_000, Action::Delete { file: 0 }),
        at(50_000_001, Action::Delete { file: 1 }),
    ];
    let profiles = vec![ActivityProfile::new(events).unwrap()];
    ShortLived { set: ActivitySet { profiles, source: "a test".to_owned() }, bytes_per_profile: 1 << 28 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn replay_reproduces_snapshots_and_counts_changes(
        steps in steps(), seed: u64, birth: bool, with_short_lived: bool, uniform: bool,
        write_back_ns in prop::option::of(1..50_000_000_000i64),
    ) {
        let (snapshots, truth) = history(&steps, if birth { Keeps::Birth } else { Keeps::Generation });
        let mut options = Options { write_back_ns, ..Options::full_metadata(seed) };
        options.short_lived = with_short_lived.then(short_lived);
        if uniform {
            options.deletions = Deletions::Uniform;
        }
        let mut witness = Witness::new(&snapshots, true);
        let (_, summary) = replay(&snapshots, &options, |number, model| witness.at(number, model)).unwrap();
        prop_assert_eq!(witness.checkpoints, snapshots.len());
        let counted: Vec<[u64; 5]> = summary.pairs.iter().map(file_counts).collect();
        prop_assert_eq!(&counted, &truth.iter().map(file_counts).collect::<Vec<_>>());
        let by_diff = snapshots.windows(2).map(|pair| compared(&pair[0], &pair[1]));
        prop_assert!(by_diff.eq(counted.iter().map(|counted| <[u64; 4]>::try_from(&counted[..4]).unwrap())));
        for pair in &summary.pairs {
            prop_assert_eq!((pair.out_of_time, pair.by_inode_alone, pair.left_out), (0, 0, 0));
        }
    }

    #[test]
    fn replay_reproduces_snapshots_without_generation_and_birth(steps in steps(), seed: u64) {
        let (snapshots, _) = history(&steps, Keeps::Neither);
        let mut witness = Witness::new(&snapshots, true);
        replay(&snapshots, &Options::full_metadata(seed), |number, model| witness.at(number, model)).unwrap();
        prop_assert_eq!(witness.checkpoints, snapshots.len());
    }

    #[test]
    fn without_renames_moved_files_are_recreated(steps in steps(), seed: u64) {
        let (snapshots, _) = history(&steps, Keeps::Neither);
        let options = Options { renames: false, updates: Updates::Rewrite, ..Options::full_metadata(seed) };
        let mut witness = Witness::new(&snapshots, true);
        let (ops, summary) = replay(&snapshots, &options, |number, model| witness.at(number, model)).unwrap();
        prop_assert_eq!(count(&ops, &["rename", "append"]), 0);
        prop_assert!(summary.pairs.iter().all(|pair| pair.renames == 0));
    }

    #[test]
    fn cylinder_groups_keep_all_files_and_sizes(steps in steps(), seed: u64, symlinks: bool) {
        let (snapshots, truth) = history(&steps, Keeps::Generation);
        let placement = Placement::CylinderGroups { inodes_per_group: Some(3) };
        let options =
            Options { placement, symlinks, short_lived: Some(short_lived()), ..Options::published(seed) };
        let (ops, summary) = replay(&snapshots, &options, |number, model| {
            let files = |entry: &&Entry| entry.kind == Kind::File || symlinks && entry.kind == Kind::Symlink;
            let entries = snapshots[number].entries().iter().filter(files);
            let expected: BTreeMap<String, u64> = entries.map(|entry| {
                let (group, generation) = ((entry.inode - 1) / 3, entry.generation.unwrap());
                (format!("group{group}/{:x}-{generation:x}", entry.inode), entry.size)
            }).collect();
            let found: BTreeMap<String, u64> =
                model.files().into_iter().map(|(name, inode)| (name, model.inodes[inode].size)).collect();
            assert_eq!(found, expected, "snapshot {number}");
        }).unwrap();
        prop_assert_eq!(count(&ops, &["rename", "link", "rmdir"]), 0);
        if symlinks {
            let counted = summary.pairs.iter().map(|pair| [pair.creates, pair.deletes, pair.replaces]);
            let truth = truth.iter().map(|pair| [pair.creates, pair.deletes, pair.replaces]);
            prop_assert!(counted.eq(truth));
        }
    }
}

#[test]
fn workload_depends_only_on_seed() {
    let steps: Vec<Vec<u64>> = (0..4u64)
        .map(|day| (0..80).map(|step| (day * 80 + step + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect())
        .collect();
    let (snapshots, _) = history(&steps, Keeps::Generation);
    let ops = |seed| replay(&snapshots, &Options::published(seed), |_, _| {}).unwrap().0;
    assert_eq!(ops(1), ops(1));
    assert_ne!(ops(1), ops(2));
}

#[test]
fn long_writes_are_split_and_complete() {
    let snapshots = three_days();
    let appends = |write_back_ns| {
        let options = Options { write_back_ns, ..Options::full_metadata(1) };
        let mut witness = Witness::new(&snapshots, true);
        let (ops, summary) = replay(&snapshots, &options, |number, model| witness.at(number, model)).unwrap();
        assert_eq!(witness.checkpoints, 3);
        (count(&ops, &["append"]), summary.pairs.iter().map(|pair| pair.appends).sum::<u64>())
    };
    let (at_once, counted) = appends(None);
    assert_eq!(at_once as u64, counted);
    let (in_pieces, counted_too) = appends(Some(1));
    assert_eq!(counted, counted_too, "a file that grows counts once");
    assert!(in_pieces > 2 * at_once, "{in_pieces} appends in pieces, {at_once} at once");
    assert_eq!(appends(Some(i64::MAX)).0, at_once);
}

#[test]
fn short_lived_files_scale_with_size_and_live_one_day() {
    let mut history = History::new(Keeps::Generation);
    let mut snapshots = Vec::new();
    for day in 0..3u64 {
        (0..50).for_each(|step| history.step((day * 50 + step + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        history.pass(DAY_NS - 20_000_000_000);
        snapshots.push(history.snapshot());
    }
    let options = Options { short_lived: Some(short_lived()), ..Options::full_metadata(1) };
    let mut witness = Witness::new(&snapshots, true);
    let (_, summary) = replay(&snapshots, &options, |number, model| witness.at(number, model)).unwrap();
    assert_eq!(witness.checkpoints, 3);
    // Four profiles of two files on each of two days, since 1 GiB is four times 256 MiB.
    assert_eq!(summary.pairs.iter().map(|pair| pair.short_lived).collect::<Vec<_>>(), [8, 8]);
    assert_eq!(summary.fill.short_lived, 0);
}
