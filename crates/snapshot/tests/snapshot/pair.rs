//! Mismatched snapshots are rejected; missing and doubtful information is reported.

use crate::support::any_snapshot;
use proptest::prelude::*;
use senesce_snapshot::{
    Attribute, ChangeKind, Entry, Extent, Info, Kind, Mismatch, ROOT, Snapshot, SnapshotBuilder, Stat,
    Warning, check, check_pair, diff,
};

fn entry(parent: u32, kind: Kind, inode: u64) -> Entry {
    Entry {
        parent,
        kind,
        inode,
        generation: Some(7),
        links: 1,
        size: 100,
        allocated: 4096,
        changed_ns: 50,
        modified_ns: 50,
        born_ns: Some(10),
    }
}

/// A snapshot that starts at `begun` and takes ten, with a root and one file, after `change` has modified it.
fn taken(begun_ns: i64, change: impl FnOnce(&mut Info, &mut Entry, &mut Entry)) -> Snapshot {
    let mut info = Info { begun_ns, ended_ns: begun_ns + 10, fs: "ext4".into(), ..Info::default() };
    info.fs_id = Some("a".into());
    let (mut root, mut file) = (entry(ROOT, Kind::Dir, 2), entry(ROOT, Kind::File, 12));
    change(&mut info, &mut root, &mut file);
    let mut builder = SnapshotBuilder::new(info, root);
    builder.add(file, b"file", &[]);
    builder.finish()
}

#[test]
fn mismatched_snapshots_are_rejected() {
    let first = taken(100, |_, _, _| {});
    assert_eq!(check_pair(&first, &taken(200, |_, _, _| {})), Ok(vec![]));
    assert_eq!(check_pair(&first, &first), Ok(vec![]));
    let refused = |second: Snapshot, why: &str| {
        let said = check_pair(&first, &second).unwrap_err().to_string();
        assert!(said.contains(why) && !said.contains('\n'), "{said}");
    };
    refused(taken(50, |_, _, _| {}), "give the older one first");
    refused(taken(105, |_, _, _| {}), "before the first ended");
    refused(taken(200, |info, _, _| info.fs_id = Some("b".into())), "two file systems, a and b");
    refused(taken(200, |info, _, _| info.fs = "xfs".into()), "two file systems, ext4 and xfs");
    refused(taken(200, |_, root, _| root.inode = 3), "two directories, inodes 2 and 3");
    refused(taken(200, |_, root, _| root.born_ns = Some(11)), "created anew");
    refused(taken(200, |info, _, _| info.key_id = Some("k".into())), "one has names");
    refused(taken(200, |info, _, _| info.lacks = vec![Attribute::Inode]), "by paths");
    let back = taken(100, |info, _, _| info.ended_ns = 99);
    assert!(matches!(check(&back), Err(Mismatch::EndedBeforeBegun { .. })));
    assert!(check(&back).unwrap_err().to_string().contains("the clock was set back"));
}

#[test]
fn missing_information_is_reported() {
    let first = taken(100, |_, _, _| {});
    assert_eq!(check(&first), Ok(vec![]));
    let future = taken(100, |info, _, file| {
        file.changed_ns = 111;
        info.vanished = 3;
        info.lacks = vec![Attribute::Extents];
    });
    let warnings =
        [Warning::FutureTimes(1), Warning::Vanished(3), Warning::MissingAttributes(vec![Attribute::Extents])];
    assert_eq!(check(&future).unwrap(), warnings);
    // A file that cannot be distinguished from an earlier one with its inode number.
    let bare = taken(200, |_, _, file| (file.generation, file.born_ns) = (None, None));
    assert_eq!(check_pair(&first, &bare), Ok(vec![Warning::NoIdentity(1)]));
    let unknown = taken(200, |info, _, _| info.fs_id = None);
    assert_eq!(check_pair(&first, &unknown), Ok(vec![Warning::UnknownFs]));
}

#[test]
fn changed_fields_determine_kind_of_change() {
    let first = taken(100, |_, _, _| {});
    let happened = |change: fn(&mut Entry)| -> Vec<ChangeKind> {
        let second = taken(200, |_, _, file| change(file));
        diff(&first, &second).iter().map(|change| change.kind).collect()
    };
    assert_eq!(happened(|_| {}), []);
    assert_eq!(happened(|file| file.changed_ns = 60), [ChangeKind::Metadata]);
    assert_eq!(happened(|file| (file.changed_ns, file.modified_ns) = (60, 60)), [ChangeKind::Modified]);
    assert_eq!(happened(|file| file.generation = Some(8)), [ChangeKind::Replaced]);
    assert_eq!(happened(|file| file.born_ns = Some(11)), [ChangeKind::Replaced]);
    assert_eq!(happened(|file| file.kind = Kind::Symlink), [ChangeKind::Replaced]);
    assert_eq!(happened(|file| (file.generation, file.born_ns) = (None, None)), []);
    assert_eq!(happened(|file| file.inode = 13), [ChangeKind::Created, ChangeKind::Deleted]);
}

#[test]
fn changed_hard_links_are_reported_by_name() {
    let named = |begun_ns, names: &[&str]| {
        let info = Info { begun_ns, ended_ns: begun_ns + 10, ..Info::default() };
        let mut builder = SnapshotBuilder::new(info, entry(ROOT, Kind::Dir, 2));
        for name in names {
            builder.add(entry(ROOT, Kind::File, 12), name.as_bytes(), &[]);
        }
        builder.finish()
    };
    let told = |before: &[&str], after: &[&str]| {
        let (a, b) = (named(100, before), named(200, after));
        let path = |snapshot: &Snapshot, place: Option<u32>| {
            String::from_utf8(snapshot.path(place.unwrap())).unwrap()
        };
        let changes = diff(&a, &b);
        changes
            .iter()
            .map(|change| (change.kind, path(&a, change.before), path(&b, change.after)))
            .collect::<Vec<_>>()
    };
    let one = |what, before: &str, after: &str| vec![(what, before.to_owned(), after.to_owned())];
    assert_eq!(told(&["a", "b"], &["b", "c"]), one(ChangeKind::Renamed, "a", "c"));
    assert_eq!(told(&["a", "b"], &["a", "b", "c"]), one(ChangeKind::Linked, "a", "c"));
    assert_eq!(told(&["a", "b", "c"], &["a", "c"]), one(ChangeKind::Unlinked, "b", "a"));
    assert_eq!(told(&["a", "b"], &["a", "b"]), []);
}

#[test]
fn layout_score_follows_definition() {
    let mut builder = SnapshotBuilder::new(
        Info { block_bytes: 4096, capacity_bytes: 10, used_bytes: 4, ..Info::default() },
        entry(ROOT, Kind::Dir, 2),
    );
    let extent = |logical: u64, physical: u64, blocks: u64| Extent {
        logical: logical * 4096,
        physical: physical * 4096,
        len: blocks * 4096,
    };
    // 9 of 9 blocks follow their predecessor, and 0 of 1.
    builder.add(Entry { size: 40_960, ..entry(ROOT, Kind::File, 3) }, b"a", &[extent(0, 0, 10)]);
    builder.add(
        Entry { size: 8192, ..entry(ROOT, Kind::File, 4) },
        b"b",
        &[extent(0, 50, 1), extent(1, 40, 1)],
    );
    builder.add(Entry { size: 0, links: 2, ..entry(ROOT, Kind::File, 5) }, b"c", &[]);
    builder.add(Entry { size: 0, links: 2, ..entry(ROOT, Kind::File, 5) }, b"d", &[]);
    let stat = Stat::of(&builder.finish());
    assert_eq!((stat.files, stat.further_names, stat.dirs), (3, 1, 1));
    assert_eq!((stat.layout_score, stat.extents, stat.blocks), (Some(0.9), 3, 12));
    assert_eq!(stat.fullness, Some(0.4));
    let sizes: Vec<_> =
        stat.by_size.iter().map(|class| (class.upper_bytes, class.files, class.layout_score)).collect();
    assert_eq!(sizes, [(0, 1, None), (8192, 1, Some(0.0)), (65_536, 1, Some(1.0))]);
}

proptest! {
    /// Any snapshot has no changes against itself, and only changes against an empty one.
    #[test]
    fn snapshot_has_no_changes_against_itself(snapshot in any_snapshot(40)) {
        prop_assert_eq!(diff(&snapshot, &snapshot), []);
        let _ = (check(&snapshot), Stat::of(&snapshot));
        let mut root = snapshot.entries()[0].clone();
        root.inode = 0;
        let empty = SnapshotBuilder::new(Info::default(), root).finish();
        let mut inodes: Vec<u64> = snapshot.entries().iter().map(|entry| entry.inode).collect();
        inodes.sort_unstable();
        inodes.dedup();
        if inodes.first() != Some(&0) {
            let changes = diff(&empty, &snapshot);
            let created = changes.iter().filter(|change| change.kind == ChangeKind::Created).count();
            prop_assert_eq!(created, inodes.len());
            prop_assert_eq!(changes.len(), inodes.len() + 1);
        }
    }
}
