//! Single cases of snapshots made by hand.

use super::*;

/// Handmade snapshots: day, and files with inode, generation, name, size, and change time in days.
fn by_hand(day: i64, files: &[(u64, Option<u32>, &str, u64, f64)]) -> Snapshot {
    let info = Info {
        fs: "ext4".to_owned(),
        fs_id: Some("one".to_owned()),
        block_bytes: BLOCK,
        capacity_bytes: 1 << 30,
        begun_ns: day * DAY_NS,
        ended_ns: day * DAY_NS + 1,
        ..Info::default()
    };
    let entry = |inode, generation, kind, size, days: f64| Entry {
        parent: ROOT,
        kind,
        inode,
        generation,
        links: 1,
        size,
        allocated: size,
        changed_ns: (days * DAY_NS as f64) as i64,
        modified_ns: (days * DAY_NS as f64) as i64,
        born_ns: None,
    };
    let mut builder = SnapshotBuilder::new(info, entry(2, Some(0), Kind::Dir, 0, 0.0));
    for (inode, generation, name, size, days) in files {
        builder.add(entry(*inode, *generation, Kind::File, *size, *days), name.as_bytes(), &[]);
    }
    builder.finish()
}

fn changed(snapshot: &Snapshot, change: impl FnOnce(&mut Info)) -> Snapshot {
    let mut info = snapshot.info().clone();
    change(&mut info);
    let mut builder = SnapshotBuilder::new(info, snapshot.entries()[0].clone());
    for (place, entry) in snapshot.entries().iter().enumerate().skip(1) {
        builder.add(entry.clone(), snapshot.name(place as u32), &[]);
    }
    builder.finish()
}

#[test]
fn filling_is_ordered_by_change_time() {
    let files =
        [(11, Some(1), "late", 10, 0.9), (12, Some(1), "early", 20, 0.1), (13, Some(1), "mid", 30, 0.5)];
    let (ops, _) = replay(&[by_hand(1, &files)], &Options::full_metadata(1), |_, _| {}).unwrap();
    let sizes: Vec<u64> = ops
        .iter()
        .filter_map(|op| if let Op::Create { size, .. } = op { Some(*size) } else { None })
        .collect();
    assert_eq!(sizes, [20, 30, 10]);
    assert_eq!(ops.last(), Some(&Op::Checkpoint { number: 0 }));
}

#[test]
fn replacement_follows_deletion_and_rewrite_truncates_first() {
    let a =
        by_hand(1, &[(11, Some(1), "a", 10, 0.1), (12, Some(1), "b", 20, 0.2), (13, Some(1), "c", 30, 0.3)]);
    let b =
        by_hand(2, &[(11, Some(2), "x", 40, 1.2), (12, Some(1), "b", 25, 1.5), (14, Some(1), "d", 50, 1.7)]);
    let kinds = |options: &Options| {
        let (ops, summary) = replay(&[a.clone(), b.clone()], options, |_, _| {}).unwrap();
        let from = ops.iter().position(|op| matches!(op, Op::Checkpoint { .. })).unwrap() + 1;
        let ops: Vec<&str> = ops[from..].iter().map(|op| Op::KINDS[op.kind()]).collect();
        (ops, summary.pairs[0])
    };
    let (ops, counts) = kinds(&Options { placement: Placement::Paths, ..Options::published(1) });
    // The deletion time of c is random.
    let without: Vec<Vec<&str>> = (0..ops.len())
        .filter(|at| ops[*at] == "delete")
        .map(|at| ops.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, op)| *op).collect())
        .collect();
    let expected = vec!["delete", "create", "truncate", "write", "create", "checkpoint"];
    assert!(without.contains(&expected), "{ops:?}");
    assert_eq!(file_counts(&counts), [1, 1, 1, 1, 0]);
    let (ops, counts) = kinds(&Options::full_metadata(1));
    assert!(ops.contains(&"append") && !ops.contains(&"truncate"), "{ops:?}");
    assert_eq!(file_counts(&counts), [1, 1, 1, 1, 1]);
}

#[test]
fn lost_and_found_is_left_out_and_counted() {
    let with_lost = |day: i64, size: u64| {
        let plain = by_hand(day, &[(11, Some(1), "a", size, 0.1)]);
        let mut builder = SnapshotBuilder::new(plain.info().clone(), plain.entries()[0].clone());
        builder.add(plain.entries()[1].clone(), b"a", &[]);
        let dir = Entry { kind: Kind::Dir, inode: 3, ..plain.entries()[1].clone() };
        let lost = builder.add(dir.clone(), b"lost+found", &[]);
        builder.add(Entry { parent: lost, inode: 12, ..plain.entries()[1].clone() }, b"#12", &[]);
        // A directory of this name elsewhere is an ordinary directory.
        let inner = builder.add(Entry { inode: 4, ..dir.clone() }, b"z", &[]);
        builder.add(Entry { parent: inner, inode: 5, ..dir }, b"lost+found", &[]);
        builder.finish()
    };
    let snapshots = [with_lost(1, 10), with_lost(2, 10)];
    let (ops, summary) = replay(&snapshots, &Options::full_metadata(1), |_, _| {}).unwrap();
    assert_eq!((count(&ops, &["mkdir"]), count(&ops, &["create"])), (2, 1));
    assert_eq!((summary.fill.left_out, summary.pairs[0].left_out), (1, 1));
    // By cylinder groups, a file in it belongs to its inode's group.
    let (ops, _) = replay(&snapshots, &Options::published(1), |_, _| {}).unwrap();
    assert_eq!(count(&ops, &["create"]), 2);
}

#[test]
fn empty_activity_set_is_rejected() {
    let set = ActivitySet { profiles: Vec::new(), source: String::new() };
    let options = Options { short_lived: Some(ShortLived::published(set)), ..Options::full_metadata(1) };
    let error = replay(&[by_hand(1, &[])], &options, |_, _| {}).unwrap_err();
    assert!(error.contains("the set of short-lived files is empty"), "{error}");
}

#[test]
fn directory_expands_to_snapshots_in_time_order() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for (name, day) in [("a", 3), ("b", 1), ("c", 2)] {
        by_hand(day, &[]).save(&at(name), false).unwrap();
    }
    std::fs::write(at(".part"), "half").unwrap();
    let files = snapshot_files(&[dir.path().to_owned()]).unwrap();
    assert_eq!(files, [at("b"), at("c"), at("a")]);
    assert_eq!(check_series(&files).unwrap(), [""; 0]);
    assert_eq!(snapshot_files(&[at("c"), at("b")]).unwrap(), [at("c"), at("b")]);
    std::fs::write(at("notes"), "no snapshot").unwrap();
    assert!(snapshot_files(&[dir.path().to_owned()]).unwrap_err().to_string().contains("notes"));
    std::fs::create_dir(at(".empty")).unwrap();
    assert!(snapshot_files(&[at(".empty")]).unwrap_err().to_string().contains("contains no snapshots"));
}

#[test]
fn swapped_names_are_renamed_through_third_name() {
    let a = by_hand(1, &[(11, Some(1), "a", 10, 0.1), (12, Some(1), "b", 20, 0.2)]);
    let b = by_hand(2, &[(11, Some(1), "b", 10, 1.1), (12, Some(1), "a", 20, 1.1)]);
    let snapshots = [a, b];
    let mut witness = Witness::new(&snapshots, false);
    let (ops, summary) =
        replay(&snapshots, &Options::full_metadata(1), |number, model| witness.at(number, model)).unwrap();
    assert_eq!(ops.iter().filter(|op| matches!(op, Op::Rename { .. })).count(), 3);
    assert_eq!((summary.pairs[0].renames, summary.pairs[0].creates), (2, 0));
}

#[test]
fn inodes_without_generation_match_by_name_then_contents() {
    let a = by_hand(1, &[(11, None, "a", 10, 0.1), (12, None, "b", 20, 0.2), (13, None, "c", 30, 0.3)]);
    let moved = by_hand(2, &[(11, None, "a", 15, 1.1), (12, None, "x", 20, 0.2), (13, None, "y", 31, 1.3)]);
    let (_, summary) = replay(&[a, moved], &Options::full_metadata(1), |_, _| {}).unwrap();
    let counts = summary.pairs[0];
    assert_eq!((counts.by_inode_alone, counts.modifies, counts.renames, counts.replaces), (3, 1, 1, 1));
}

#[test]
fn out_of_range_times_are_counted_and_clamped() {
    let a = by_hand(1, &[(11, Some(1), "a", 10, 0.1)]);
    let b =
        by_hand(2, &[(11, Some(1), "a", 12, 0.2), (12, Some(1), "b", 20, 0.5), (13, Some(1), "c", 20, 2.5)]);
    let snapshots = [a, b];
    let mut witness = Witness::new(&snapshots, false);
    let options = Options { updates: Updates::Rewrite, ..Options::full_metadata(1) };
    let (_, summary) = replay(&snapshots, &options, |number, model| witness.at(number, model)).unwrap();
    assert_eq!((witness.checkpoints, summary.pairs[0].out_of_time), (2, 3));
}

#[test]
fn empty_and_single_snapshots_are_valid() {
    let full = by_hand(1, &[(11, Some(1), "a", 10, 0.1)]);
    let snapshots = [full.clone(), by_hand(2, &[]), by_hand(3, &[])];
    let mut witness = Witness::new(&snapshots, false);
    let (_, summary) =
        replay(&snapshots, &Options::full_metadata(1), |number, model| witness.at(number, model)).unwrap();
    assert_eq!((summary.pairs[0].deletes, summary.pairs[1]), (1, ChangeCounts::default()));
    let (_, summary) = replay(&[full], &Options::full_metadata(1), |_, _| {}).unwrap();
    assert_eq!((summary.fill.creates, summary.pairs.len()), (1, 0));
    assert!(matches!(
        Extracted::new(Box::new(Vec::<Snapshot>::new()), Options::full_metadata(1)),
        Err(Error::Snapshots(_))
    ));
}

#[test]
fn invalid_series_error_names_snapshot() {
    let (one, two) = (by_hand(1, &[]), by_hand(2, &[]));
    let other_root = {
        let root = Entry { inode: 77, ..two.entries()[0].clone() };
        SnapshotBuilder::new(two.info().clone(), root).finish()
    };
    let cases = [
        (vec![two.clone(), one.clone()], "give the older one first"),
        (vec![one.clone(), one.clone()], "give each once"),
        (vec![one.clone(), changed(&two, |info| info.fs_id = Some("other".to_owned()))], "two file systems"),
        (vec![one.clone(), other_root], "two directories"),
        (
            vec![one.clone(), changed(&two, |info| info.key_id = Some("key".to_owned()))],
            "names and the other hashed names",
        ),
        (vec![one.clone(), changed(&two, |info| info.ended_ns = info.begun_ns - 5)], "before it began"),
        (
            vec![one.clone(), changed(&two, |info| info.lacks = vec![snapshot::Attribute::Size])],
            "does not record file sizes",
        ),
        (vec![one, by_hand(2, &[(11, None, "a/b", 1, 1.5)])], "an invalid file name"),
    ];
    for (snapshots, expected) in cases {
        for deletions in [Deletions::Uniform, Deletions::Lifetimes] {
            let options = Options { deletions, ..Options::full_metadata(1) };
            let error = replay(&snapshots, &options, |_, _| {}).unwrap_err();
            assert!(error.contains(expected) && error.contains("snapshot 1"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
