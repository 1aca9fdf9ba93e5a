//! Imports listings of other programs; invalid listings fail with one line.

use proptest::prelude::*;
use senesce_snapshot::import::{Import, ListingFormat};
use senesce_snapshot::{Attribute, ChangeKind, Kind, ROOT, Snapshot, check_pair, diff};
use std::path::Path;

const AT: i64 = 1_800_000_000_000_000_000;

fn import(format: ListingFormat, listing: &[u8], base: Option<&Snapshot>) -> Result<Snapshot, String> {
    let below = (format == ListingFormat::ZfsDiff).then_some(Path::new("/pool/fs"));
    let snapshot = Import { format, tool: "test", at_ns: AT, base, below }.parse(listing)?;
    // Every imported snapshot must survive a round trip through a file.
    let dir = tempfile::tempdir().unwrap();
    snapshot.save(&dir.path().join("a"), false).unwrap();
    assert_eq!(Snapshot::load(&dir.path().join("a")).unwrap(), snapshot);
    Ok(snapshot)
}

fn paths(snapshot: &Snapshot) -> Vec<String> {
    let places = 0..snapshot.entries().len() as u32;
    places.map(|place| snapshot.path(place).escape_ascii().to_string()).collect()
}

/// The changes, each with the new path, or the old one of a deleted entry.
fn changes(a: &Snapshot, b: &Snapshot) -> Vec<(ChangeKind, String)> {
    let path = |change: &senesce_snapshot::Change| match (change.after, change.before) {
        (Some(after), _) => b.path(after),
        (None, before) => a.path(before.unwrap()),
    };
    diff(a, b).iter().map(|change| (change.kind, path(change).escape_ascii().to_string())).collect()
}

const FIND: &[u8] = b"d\t2\t3\t4096\t8\t1700000000.5\t1700000000.0000000001\t1600000000.1234567890\t\n\
    f\t12\t1\t5\t8\t1700000001.0000000000\t-2.5000000000\t-1.-000000010\ta tab\tand more\n\
    d\t13\t2\t4096\t8\t1700000001.0000000000\t1700000001.0000000000\t\tdir\n\
    p\t15\t1\t0\t0\t1700000001.0000000000\t1700000001.0000000000\t0\tdir/fifo\n\
    f\t14\t2\t9\t8\t1700000001.0000000000\t1700000001.0000000000\t1700000001.0000000000\tdir/\xff\n";

#[test]
fn find_import_lacks_extents_and_generations() {
    let snapshot = import(ListingFormat::Find, FIND, None).unwrap();
    assert_eq!(paths(&snapshot), ["", r"a tab\tand more", "dir", "dir/fifo", r"dir/\xff"]);
    let root = &snapshot.entries()[0];
    assert_eq!((root.inode, root.links, root.allocated), (2, 3, 4096));
    assert_eq!((root.changed_ns, root.modified_ns), (1_700_000_000_500_000_000, 1_700_000_000_000_000_000));
    assert_eq!(root.born_ns, Some(1_600_000_000_123_456_789));
    assert_eq!(snapshot.entries()[1].born_ns, None);
    assert_eq!(snapshot.entries()[3].kind, Kind::Special);
    assert_eq!((snapshot.info().begun_ns, snapshot.info().ended_ns), (AT, AT));
    assert_eq!(snapshot.info().lacks, [Attribute::Generation, Attribute::Extents]);
    // Names with line ends require NUL-terminated records; the order of records does not matter.
    let mut records: Vec<&[u8]> =
        FIND.split(|byte| *byte == b'\n').filter(|record| !record.is_empty()).collect();
    records.push(b"f\t16\t1\t0\t0\t1\t1\t1\ttwo\nlines");
    records.reverse();
    let mut listing = records.join(&0);
    listing.push(0);
    let with_lines = import(ListingFormat::Find, &listing, None).unwrap();
    assert_eq!(paths(&with_lines)[5..], [r"two\nlines"]);
}

const RSYNC: &[u8] = b"drwxr-xr-x            200 2026/11/22 01:50:42 .\n\
    -rw-r--r--              6 2026/11/22 01:50:42 a b\n\
    -rw-r--r--              1 1965/01/02 03:04:05 b\\#134#123\\#377\n\
    -rw-r--r--      1,234,567 2026/11/22 01:50:42 big\n\
    lrwxrwxrwx              6 2026/11/22 01:50:42 sym -> b -> x -> y\n\
    lrwxrwxrwx              6 2026/11/22 01:50:42 sym2\n\
    drwxr-xr-x             60 2026/11/22 01:50:42 d\n\
    -rw-r--r--              1 2026/11/22 01:50:42 d/\xc3\xa9\n";

#[test]
fn rsync_import_has_paths_sizes_and_modification_times() {
    let snapshot = import(ListingFormat::Rsync, RSYNC, None).unwrap();
    assert_eq!(paths(&snapshot), ["", "a b", r"b\\#123\xff", "big", "d", r"d/\xc3\xa9", "sym -> b", "sym2"]);
    let big = &snapshot.entries()[3];
    assert_eq!((big.size, big.modified_ns), (1_234_567, 1_795_312_242_000_000_000));
    assert_eq!(snapshot.entries()[2].modified_ns, -157_668_955_000_000_000);
    assert!(snapshot.info().lacks.contains(&Attribute::Inode));
    // A file is identified by its path, so that a later listing can be compared.
    let later = RSYNC.to_vec();
    let later =
        String::from_utf8_lossy(&later).replace("6 2026/11/22 01:50:42 a b", "7 2026/11/23 01:50:42 a b");
    let later = later.as_bytes().to_vec();
    let later = import(
        ListingFormat::Rsync,
        &later.split(|b| *b == b'\n').filter(|l| !l.ends_with(b"sym2")).collect::<Vec<_>>().join(&b'\n'),
        None,
    )
    .unwrap();
    let earlier = import(ListingFormat::Rsync, String::from_utf8_lossy(RSYNC).as_bytes(), None).unwrap();
    assert_eq!(check_pair(&earlier, &later), Ok(vec![senesce_snapshot::Warning::UnknownFs]));
    assert_eq!(
        changes(&earlier, &later),
        [(ChangeKind::Modified, "a b".into()), (ChangeKind::Deleted, "sym2".into())]
    );
}

const ZFS: &[u8] = b"1700000100.123456789\tM\t/\t/pool/fs/\n\
    1700000101.000000000\t+\tF\t/pool/fs/new\\0040file\n\
    1700000102.000000000\tR\t/\t/pool/fs/dir\t/pool/fs/made/moved\n\
    1700000102.000000000\t+\t/\t/pool/fs/made\n\
    1700000103.000000000\tM\tF\t/pool/fs/made/moved/\\0377\t(+1)\n\
    1700000104.000000000\t-\t|\t/pool/fs/dir/fifo\n\
    1700000105.000000000\t-\tF\t/pool/fs/a\\0040tab\\0011and\\0040more\n";

#[test]
fn zfs_import_applies_changes_to_base() {
    let base = import(ListingFormat::Find, FIND, None).unwrap();
    let next = import(ListingFormat::ZfsDiff, ZFS, Some(&base)).unwrap();
    assert_eq!(paths(&next), ["", "made", "made/moved", r"made/moved/\xff", "new file"]);
    assert_eq!(
        changes(&base, &next),
        [
            (ChangeKind::Created, "made".into()),
            (ChangeKind::Renamed, "made/moved".into()),
            (ChangeKind::Modified, r"made/moved/\xff".into()),
            (ChangeKind::Created, "new file".into()),
            (ChangeKind::Deleted, r"a tab\tand more".into()),
            (ChangeKind::Deleted, "dir/fifo".into()),
        ]
    );
    assert!(next.info().lacks.contains(&Attribute::Size));
    for (listing, why) in [
        ("1\tM\tF\t/elsewhere/a\n", "--below"),
        ("1\tM\tF\t/pool/fs/nowhere\n", "does not exist"),
        ("1\tX\tF\t/pool/fs/dir\n", "not a change"),
        ("M\tF\t/pool/fs/dir\n", "line 1"),
        ("1\t+\tF\t/pool/fs/../dir\n", "not a valid file name"),
    ] {
        let error = import(ListingFormat::ZfsDiff, listing.as_bytes(), Some(&base)).unwrap_err();
        assert!(error.contains(why), "{listing}: {error}");
    }
    assert!(import(ListingFormat::ZfsDiff, ZFS, None).unwrap_err().contains("--base"));
    assert!(import(ListingFormat::Find, FIND, Some(&base)).unwrap_err().contains("--base"));
}

const WHOLE: &[u8] = b"subvol          ./s1                            uuid=5bc0 transid=7\n\
    chown           ./s1/                           gid=0 uid=0\n\
    mkfile          ./s1/o257-7-0\n\
    rename          ./s1/o257-7-0                   dest=./s1/a\\ b\n\
    update_extent   ./s1/a\\ b                       offset=0 len=6\n\
    utimes          ./s1/a\\ b                       atime=2026-11-22T01:50:42+0000 mtime=2026-11-22T01:50:42+0000 ctime=2026-11-22T03:50:43.5+0200\n\
    mkdir           ./s1/o258-7-0\n\
    rename          ./s1/o258-7-0                   dest=./s1/d\n\
    link            ./s1/d/link                     dest=a\\ b\n\
    symlink         ./s1/o260-7-0                   dest=ta\\ rget\n\
    rename          ./s1/o260-7-0                   dest=./s1/new\\nline\\\\\\377\n\
    mkfifo          ./s1/fifo\n";

const INCREMENT: &[u8] = b"snapshot        ./s2                            uuid=e909 transid=8 parent_uuid=5bc0 parent_transid=7\n\
    rename          ./s2/d                          dest=./s2/e\n\
    unlink          ./s2/e/link\n\
    truncate        ./s2/a\\ b                       size=5\n\
    unlink          ./s2/fifo\n\
    mkfile          ./s2/o265-8-0\n\
    rename          ./s2/o265-8-0                   dest=./s2/n\n\
    update_extent   ./s2/n                          offset=4096 len=2\n";

#[test]
fn btrfs_import_reads_subvolumes_and_increments() {
    let whole = import(ListingFormat::Btrfs, WHOLE, None).unwrap();
    assert_eq!(paths(&whole), ["", "a b", "d", "d/link", "fifo", r"new\nline\\\xff"]);
    let file = &whole.entries()[1];
    assert_eq!((file.inode, file.generation, file.links, file.size), (257, Some(7), 2, 6));
    assert_eq!((file.modified_ns, file.changed_ns), (1_795_312_242_000_000_000, 1_795_312_243_500_000_000));
    assert_eq!((whole.entries()[ROOT as usize].inode, whole.entries()[5].size), (256, 7));
    let next = import(ListingFormat::Btrfs, INCREMENT, Some(&whole)).unwrap();
    assert_eq!(paths(&next), ["", "a b", "e", "n", r"new\nline\\\xff"]);
    assert_eq!((next.entries()[1].size, next.entries()[1].links, next.entries()[3].size), (5, 1, 4098));
    assert_eq!(
        changes(&whole, &next),
        [
            (ChangeKind::Modified, "a b".into()),
            (ChangeKind::Unlinked, "a b".into()),
            (ChangeKind::Renamed, "e".into()),
            (ChangeKind::Created, "n".into()),
            (ChangeKind::Deleted, "fifo".into()),
        ]
    );
    assert!(import(ListingFormat::Btrfs, INCREMENT, None).unwrap_err().contains("--base"));
    for (listing, why) in [
        ("", "empty"),
        ("mkfile ./s/a\n", "does not begin"),
        ("subvol ./s\nfrobnicate ./s/a\n", "line 2"),
        ("subvol ./s\nunlink ./s/a\n", "does not exist"),
        ("subvol ./s\nsubvol ./t\n", "one at a time"),
        ("subvol ./s\nmkfile ./s/a\nwrite ./s/a offset=18446744073709551615 len=2\n", "beyond"),
    ] {
        let error = import(ListingFormat::Btrfs, listing.as_bytes(), None).unwrap_err();
        assert!(error.contains(why), "{listing}: {error}");
    }
}

const LISTINGS: [(ListingFormat, &[u8], bool); 5] = [
    (ListingFormat::Find, FIND, false),
    (ListingFormat::Rsync, RSYNC, false),
    (ListingFormat::ZfsDiff, ZFS, true),
    (ListingFormat::Btrfs, WHOLE, false),
    (ListingFormat::Btrfs, INCREMENT, true),
];

#[test]
fn listings_truncated_within_a_line_are_rejected() {
    for (from, listing, with_base) in LISTINGS {
        let base = import(
            if from == ListingFormat::Btrfs { from } else { ListingFormat::Find },
            [WHOLE, FIND][usize::from(from != ListingFormat::Btrfs)],
            None,
        );
        for cut in 1..listing.len() {
            let is_at_end = listing[cut - 1] == b'\n';
            let found = import(from, &listing[..cut], with_base.then(|| base.as_ref().unwrap()));
            assert!(is_at_end || found.is_err(), "{from:?} {cut}");
        }
        let error = import(from, &listing[..listing.len() - 1], with_base.then(|| base.as_ref().unwrap()));
        assert!(error.unwrap_err().contains("is truncated"), "{from:?}");
    }
}

proptest! {
    /// A damaged listing gives another snapshot or a one-line error, never a panic.
    #[test]
    fn damaged_listings_are_read_or_rejected(
        which in 0..LISTINGS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..9),
    ) {
        let (from, listing, with_base) = LISTINGS[which];
        let mut listing = listing.to_vec();
        for (place, byte, edit) in edits {
            let place = place.index(listing.len());
            match edit {
                0 => listing[place] = byte,
                1 => listing.insert(place, byte),
                _ => listing.truncate(place + 1),
            }
        }
        let base = match from {
            ListingFormat::Btrfs => import(ListingFormat::Btrfs, WHOLE, None).unwrap(),
            _ => import(ListingFormat::Find, FIND, None).unwrap(),
        };
        if let Err(why) = import(from, &listing, with_base.then_some(&base)) {
            prop_assert!(!why.contains('\n'), "{}", why);
        }
    }

    #[test]
    fn noise_is_read_or_rejected(which in 0..LISTINGS.len(), listing in "([dfl.M+R/-]\t|[0-9]{1,20}[\t ]|./s/|[a-z=\\\\ ]{0,4}|\n){0,60}") {
        let (from, ..) = LISTINGS[which];
        let _ = import(from, listing.as_bytes(), None);
    }
}
