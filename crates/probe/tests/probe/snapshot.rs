//! Snapshots of real file systems.

use crate::common::{Mounted, run};
use senesce_probe::{file_extents, snapshot};
use snapshot::{ChangeKind, Extent, Key, Kind, Snapshot, diff};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];

fn take(root: &Path, threads: usize) -> Snapshot {
    snapshot(root, "test", threads, None).unwrap()
}

/// Creates fragmented files of a few blocks, files with several names, a sparse file, and a name that is not UTF-8.
fn fill(root: &Path) {
    std::fs::create_dir_all(root.join("dir/deeper")).unwrap();
    for turn in 0..30u8 {
        for name in ["p", "dir/q"] {
            let file = std::fs::File::options().create(true).append(true).open(root.join(name)).unwrap();
            std::io::Write::write_all(&mut &file, &[turn; 8192]).unwrap();
            file.sync_all().unwrap();
        }
    }
    std::fs::hard_link(root.join("p"), root.join("dir/deeper/link")).unwrap();
    std::fs::File::create(root.join("sparse")).unwrap().set_len(1 << 30).unwrap();
    std::fs::write(root.join(OsStr::from_bytes(b"\xff\n")), "x").unwrap();
    std::os::unix::fs::symlink("p", root.join("symlink")).unwrap();
    run("mkfifo", &[root.join("fifo").to_str().unwrap()]);
}

#[test]
fn entries_match_stat() {
    if !testing::is_root() {
        return;
    }
    for kind in KINDS {
        let Some(mounted) = Mounted::new(kind) else { continue };
        let root = mounted.root();
        fill(&root);
        let taken = take(&root, 3);
        let mut seen = 0;
        for (entry, place) in taken.entries().iter().zip(0..) {
            let path = root.join(OsStr::from_bytes(&taken.path(place)));
            let is = std::fs::symlink_metadata(&path).unwrap();
            assert_eq!(
                (entry.inode, entry.size, entry.allocated),
                (is.ino(), is.size(), is.blocks() * 512),
                "{path:?}"
            );
            assert_eq!(entry.links, is.nlink() as u32, "{path:?}");
            assert_eq!(entry.changed_ns, is.ctime() * 1_000_000_000 + is.ctime_nsec(), "{path:?}");
            assert_eq!(entry.modified_ns, is.mtime() * 1_000_000_000 + is.mtime_nsec(), "{path:?}");
            assert!(entry.born_ns.is_some(), "{path:?}");
            assert_eq!(entry.generation.is_some(), matches!(entry.kind, Kind::File | Kind::Dir), "{path:?}");
            if entry.kind == Kind::File && !path.ends_with("p") {
                let extents = file_extents(std::fs::File::open(&path).unwrap()).unwrap();
                let bytes: u64 = extents.iter().filter(|e| e.flags.has_blocks()).map(|e| e.len).sum();
                assert_eq!(
                    taken.extents(place).iter().map(|e: &Extent| e.len).sum::<u64>(),
                    bytes,
                    "{path:?}"
                );
                seen += 1;
            }
        }
        assert_eq!((taken.entries().len(), seen), (10, 4), "{kind}");
        // Only the first name in scan order has the extents.
        let of = |path: &[u8]| {
            let place = (0..10).find(|place| taken.path(*place) == path).unwrap();
            taken.extents(place).len()
        };
        assert!(of(b"dir/deeper/link") > 0 && of(b"p") == 0, "{kind}");
        let info = taken.info();
        assert_eq!((&*info.fs, info.vanished, info.unmapped, info.other_fs), (kind, 0, 0, 0));
        assert_eq!(info.fs_id.as_ref().unwrap().len(), 36, "{kind}");
        assert!(info.begun_ns <= info.ended_ns && info.capacity_bytes > info.used_bytes);
    }
}

#[test]
fn threads_and_keys_do_not_change_the_diff() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let root = dir.path().join("tree");
    std::fs::create_dir(&root).unwrap();
    fill(&root);
    for n in 0..3000 {
        std::fs::write(root.join(format!("dir/{n}")), "").unwrap();
    }
    let (one, many) = (take(&root, 1), take(&root, 8));
    assert!(one.entries() == many.entries());
    assert!((0..one.entries().len() as u32).all(|place| one.path(place) == many.path(place)));
    assert_eq!(diff(&one, &one), []);
    assert_eq!(diff(&one, &many), []);

    let key = Key::make(&dir.path().join("key")).unwrap();
    let hashed = || snapshot(&root, "test", 4, Some(&key)).unwrap();
    let before = hashed();
    std::fs::rename(root.join("dir/77"), root.join("moved")).unwrap();
    std::fs::remove_file(root.join("dir/78")).unwrap();
    let after = hashed();
    let kinds: Vec<ChangeKind> = diff(&before, &after).iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Renamed, ChangeKind::Deleted]);
    assert_eq!(before.info().key_id, Some(key.id()));
}

#[test]
fn reused_inode_number_is_another_file() {
    if !testing::is_root() {
        return;
    }
    let Some(mounted) = Mounted::new("ext4") else { return };
    let path = mounted.root().join("x");
    std::fs::write(&path, "old").unwrap();
    let before = take(&mounted.root(), 2);
    let inode = std::fs::metadata(&path).unwrap().ino();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "new").unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().ino(),
        inode,
        "ext4 must reuse the lowest free inode number"
    );
    let after = take(&mounted.root(), 2);
    let changes = diff(&before, &after);
    assert_eq!(changes.iter().map(|change| change.kind).collect::<Vec<_>>(), [ChangeKind::Replaced]);
}

#[test]
fn files_that_vanish_during_the_walk_are_not_errors() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..1200u32).cycle() {
                if ended.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                let path = dir.path().join((n % 100).to_string());
                // Files, directories with files, and replacements of one by the other.
                let _ = match n % 3 {
                    0 => std::fs::write(&path, "x"),
                    1 => std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)),
                    _ => std::fs::create_dir(&path).and_then(|()| std::fs::write(path.join("in"), "y")),
                };
                let _ = std::fs::rename(&path, dir.path().join("moved"));
            }
        });
        for _ in 0..200 {
            let taken = take(dir.path(), 4);
            taken.save(&dir.path().join("out.parquet"), true).unwrap();
            assert!(Snapshot::load(&dir.path().join("out.parquet")).unwrap() == taken);
            assert_eq!(diff(&taken, &taken), []);
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
