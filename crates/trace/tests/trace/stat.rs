//! The statistics of a trace small enough to count by hand.

use senesce_trace::{Content, DirId, FileId, Op, ROOT, Stat};

fn create(file: u64, size: u64) -> Op {
    Op::Create { file: FileId(file), parent: ROOT, size, content: Content::Auto }
}

#[test]
fn small_trace_has_expected_statistics() {
    let (a, b) = (FileId(1), FileId(9));
    let ops = vec![
        Op::Mkdir { dir: DirId(1), parent: ROOT },
        Op::Mkdir { dir: DirId(2), parent: DirId(1) },
        create(1, 0),
        create(2, 1),
        create(3, 4095),
        create(4, 4096),
        create(5, 4097),
        Op::Link { file: a, parent: ROOT, to_file: b, to_parent: DirId(1) },
        Op::Rename { file: FileId(2), parent: ROOT, to_file: FileId(3), to_parent: ROOT },
        Op::Delete { file: a, parent: ROOT },
        Op::Rmdir { dir: DirId(2), parent: DirId(1) },
        Op::Append { file: b, parent: DirId(1), len: 1 << 40 },
    ];
    let json = serde_json::to_value(Stat::of(ops.into_iter()).unwrap()).unwrap();
    let expected = serde_json::json!({
        "operations": 12,
        "by_kind": { "mkdir": 2, "create": 5, "link": 1, "rename": 1, "delete": 1, "rmdir": 1, "append": 1 },
        "files_created": 5,
        "live_files": 4,
        "peak_live_files": 6,
        "directories": 1,
        "deepest_directory": 2,
        "bytes_created": 12289,
        "largest_size": 4097,
        "sizes": [
            { "from": 0, "files": 1 },
            { "from": 1, "files": 1 },
            { "from": 2, "files": 0 },
            { "from": 4, "files": 0 },
            { "from": 8, "files": 0 },
            { "from": 16, "files": 0 },
            { "from": 32, "files": 0 },
            { "from": 64, "files": 0 },
            { "from": 128, "files": 0 },
            { "from": 256, "files": 0 },
            { "from": 512, "files": 0 },
            { "from": 1024, "files": 0 },
            { "from": 2048, "files": 1 },
            { "from": 4096, "files": 2 },
        ],
    });
    assert_eq!(json, expected);
}

#[test]
fn empty_trace_and_largest_sizes_are_counted() {
    assert_eq!(Stat::of(Vec::new().into_iter()).unwrap(), Stat::default());
    let stat = Stat::of(vec![create(1, u64::MAX), create(2, u64::MAX)].into_iter()).unwrap();
    assert_eq!(stat.bytes_created, u64::MAX);
    assert_eq!(stat.sizes.last().map(|bucket| (bucket.from, bucket.files)), Some((1 << 63, 2)));
}

#[test]
fn invalid_trace_has_no_statistics() {
    let error = Stat::of(vec![create(1, 0), create(1, 0)].into_iter()).unwrap_err().to_string();
    assert!(error.contains("operation 1, create f1 in d0"), "{error}");
}
