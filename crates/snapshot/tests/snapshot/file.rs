//! Snapshot files: round trips, and reading by other programs.

use crate::support::any_snapshot;
use proptest::prelude::*;
use senesce_snapshot::{Entry, Extent, Info, Kind, ROOT, Snapshot, SnapshotBuilder};

fn entry(parent: u32, kind: Kind, inode: u64) -> Entry {
    Entry {
        parent,
        kind,
        inode,
        generation: Some(u32::MAX),
        links: 1,
        size: 12288,
        allocated: 12288,
        changed_ns: 1_700_000_000_123_456_789,
        modified_ns: -1,
        born_ns: None,
    }
}

/// Three entries, one of which has two extents.
fn small() -> Snapshot {
    let info = Info { tool: "senesce 0.1.0".into(), fs: "ext4".into(), ..Info::default() };
    let mut builder = SnapshotBuilder::new(info, entry(ROOT, Kind::Dir, 2));
    let dir = builder.add(entry(ROOT, Kind::Dir, 3), b"a dir", &[]);
    let extents = [
        Extent { logical: 0, physical: 1 << 63, len: 4096 },
        Extent { logical: 4096, physical: 0, len: 8192 },
    ];
    builder.add(entry(dir, Kind::File, u64::MAX), b"no text: \xff\n", &extents);
    builder.finish()
}

proptest! {
    #[test]
    fn snapshots_round_trip(snapshot in any_snapshot(40)) {
        let dir = testing::dir_in_memory();
        let path = dir.path().join("a.parquet");
        snapshot.save(&path, false).unwrap();
        prop_assert_eq!(Snapshot::load(&path).unwrap(), snapshot);
    }
}

#[test]
fn several_row_groups_round_trip() {
    let mut builder = SnapshotBuilder::new(Info::default(), entry(ROOT, Kind::Dir, 2));
    for number in 0..600_000u64 {
        let extents = [Extent { logical: 0, physical: number << 12, len: 4096 }];
        builder.add(entry(ROOT, Kind::File, number), format!("{number:08}").as_bytes(), &extents);
    }
    let snapshot = builder.finish();
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    snapshot.save(&path, false).unwrap();
    assert!(Snapshot::load(&path).unwrap() == snapshot);
    // Sorted names and places compress to almost nothing.
    assert!(std::fs::metadata(&path).unwrap().len() < 600_000 * 4);
}

#[test]
fn file_is_replaced_only_on_request() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    std::fs::write(&path, "mine").unwrap();
    let error = small().save(&path, false).unwrap_err().to_string();
    assert!(error.contains("a.parquet") && error.contains("--force"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    small().save(&path, true).unwrap();
    assert_eq!(Snapshot::load(&path).unwrap(), small());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may remain");
}

/// Prints the columns, some values, paths joined as shown in the book, and the contents of the extents.
const SCRIPT: &str = r#"
import sys, pandas, pyarrow.parquet
rows = pandas.read_parquet(sys.argv[1], dtype_backend="pyarrow")
print(*rows.columns)
print(*rows.kind, rows.inode.max(), rows.generation[0], rows.changed[1], rows.born.count())
paths = [b""]
for parent, name in zip(rows.parent[1:], rows.name[1:]):
    paths.append(paths[parent] + b"/" + name)
print(paths[2])
print([extent["physical"] for extent in rows.extents[2]], len(rows.extents[1]))
print(pyarrow.parquet.read_metadata(sys.argv[1]).metadata[b"senesce.fs"].decode())
"#;

#[test]
fn pandas_reads_a_snapshot() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    small().save(&path, false).unwrap();
    let Some(printed) = testing::pandas(SCRIPT, &path) else { return };
    let expected = "parent name kind inode generation links size allocated changed modified born extents\n\
        dir dir file 18446744073709551615 4294967295 2023-11-14 22:13:20.123456789+00:00 0\n\
        b'/a dir/no text: \\xff\\n'\n\
        [9223372036854775808, 0] 0\n\
        ext4\n";
    assert_eq!(printed, expected);
}
