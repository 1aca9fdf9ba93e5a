//! Tests of `senesce snapshot` on real file systems.

use crate::common::{Lab, LoopDevice, Mounted, document, is_root, text};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};
use serde_json::Value;
use snapshot::Snapshot;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tempfile::TempDir;

/// A file system mounted by the test, outside the program's directory; unmounted and detached on drop.
pub struct Volume {
    pub dir: PathBuf,
    _device: LoopDevice,
    _at: TempDir,
}

impl Volume {
    pub fn new(fs: &str) -> Volume {
        let at = tempfile::tempdir_in("/dev/shm").unwrap();
        let device = LoopDevice::new(&at.path().join("image"), 400 << 20);
        let dir = at.path().join("mount");
        std::fs::create_dir(&dir).unwrap();
        let run = |program: &str, arguments: &[&OsStr]| {
            let output = Command::new(program).args(arguments).output().unwrap();
            assert!(output.status.success(), "{program}: {}", text(&output.stderr));
        };
        run(&format!("mkfs.{fs}"), &["-q".as_ref(), device.0.as_ref()]);
        run("mount", &[device.0.as_ref(), dir.as_os_str()]);
        Volume { dir, _device: device, _at: at }
    }
}

/// The path of a name of arbitrary bytes in a directory.
fn at(dir: &Path, name: &[u8]) -> PathBuf {
    dir.join(OsStr::from_bytes(name))
}

/// Creates one of each type of file system object.
pub fn fill(dir: &Path) {
    for name in ["sub", "sub/deeper", "other"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    for (name, bytes) in [
        ("a", 5),
        ("gone", 50_000),
        ("grown", 9_000),
        ("sub/deeper/b", 1 << 20),
        ("still", 70_000),
        ("empty", 0),
    ] {
        std::fs::write(dir.join(name), vec![7; bytes]).unwrap();
    }
    std::fs::write(at(dir, b"no text \xff\xfe"), "x").unwrap();
    std::fs::write(at(dir, b"two\nlines"), "x").unwrap();
    std::fs::hard_link(dir.join("still"), dir.join("other/link")).unwrap();
    std::fs::hard_link(dir.join("a"), dir.join("other/a")).unwrap();
    std::fs::File::create(dir.join("sparse")).unwrap().set_len(1 << 30).unwrap();
    symlink("nowhere", dir.join("symlink")).unwrap();
    symlink("/", dir.join("root")).unwrap();
    let (fifo, mode) = (dir.join("fifo"), Mode::from_raw_mode(0o600));
    mknodat(CWD, &fifo, FileType::Fifo, mode, 0).unwrap();
}

fn counts(diff: &Value, what: &str) -> (u64, u64, u64, u64) {
    let number = |field: &str| diff[what][field].as_u64().unwrap();
    (number("files"), number("dirs"), number("others"), number("bytes"))
}

#[test]
fn known_changes_are_reported_exactly() {
    for fs in ["ext4", "xfs", "btrfs"] {
        needs!(fs);
        let lab = Lab::new();
        let volume = Volume::new(fs);
        let dir = &volume.dir;
        let shown = dir.display();
        fill(dir);
        let taken = lab.json(&format!("snapshot take {shown} a.parquet"));
        assert_eq!((&taken["vanished"], &taken["unmapped"]), (&0.into(), &0.into()), "{fs}");
        let same = lab.json("snapshot diff a.parquet a.parquet");
        assert_eq!(same["changes"], 0, "{fs}: {same:#}");

        std::fs::write(dir.join("sub/new"), "12345").unwrap();
        std::fs::remove_file(dir.join("gone")).unwrap();
        std::fs::write(dir.join("grown"), vec![8; 9_001]).unwrap();
        std::fs::rename(dir.join("sub/deeper"), dir.join("other/moved")).unwrap();
        std::fs::rename(at(dir, b"no text \xff\xfe"), at(dir, b"no text \xff")).unwrap();
        std::fs::set_permissions(at(dir, b"two\nlines"), PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::hard_link(dir.join("still"), dir.join("other/link2")).unwrap();
        std::fs::remove_file(dir.join("other/a")).unwrap();
        std::fs::create_dir(dir.join("made")).unwrap();
        std::fs::remove_file(dir.join("symlink")).unwrap();
        lab.json(&format!("snapshot take {shown} b.parquet"));
        let diff = lab.json("snapshot diff a.parquet b.parquet --list");
        // New files may reuse inode numbers immediately.
        let replaced = diff["replaced"]["files"].as_u64().unwrap()
            + diff["replaced"]["dirs"].as_u64().unwrap()
            + diff["replaced"]["others"].as_u64().unwrap();
        let all = |what| {
            let (files, dirs, others, _) = counts(&diff, what);
            files + dirs + others
        };
        assert_eq!(all("created") + replaced, 2, "{fs}: {diff:#}");
        assert_eq!(all("deleted") + replaced, 2, "{fs}: {diff:#}");
        assert_eq!(counts(&diff, "modified"), (1, 0, 0, 9_001), "{fs}: {diff:#}");
        assert_eq!(counts(&diff, "renamed"), (1, 1, 0, 1), "{fs}: {diff:#}");
        assert_eq!(counts(&diff, "linked"), (1, 0, 0, 70_000), "{fs}: {diff:#}");
        assert_eq!(counts(&diff, "unlinked"), (1, 0, 0, 5), "{fs}: {diff:#}");
        assert_eq!(counts(&diff, "metadata"), (1, 0, 0, 1), "{fs}: {diff:#}");
        let list = lab.run("snapshot diff a.parquet b.parquet --list");
        assert!(list.contains("renamed   sub/deeper -> other/moved\n"), "{fs}: {list}");
        assert!(list.contains("metadata  two\\nlines\n"), "{fs}: {list}");
        assert!(list.contains(r"no text \xff\xfe -> no text \xff"), "{fs}: {list}");

        // Wrong order, different file systems, and different directories of one file system.
        lab.refused("snapshot diff b.parquet a.parquet", "give the older one first");
        lab.run(&format!("snapshot take {shown}/other c.parquet"));
        lab.refused("snapshot diff a.parquet c.parquet", "two directories");
        std::fs::create_dir(lab.path().join("memory")).unwrap();
        lab.run("snapshot take memory d.parquet");
        lab.refused("snapshot diff a.parquet d.parquet", "two file systems");
        lab.refused(&format!("snapshot take {shown} a.parquet"), "--force");
    }
}

#[test]
fn reused_inodes_are_recognized_by_generation_or_birth() {
    needs!("ext4");
    let lab = Lab::new();
    let volume = Volume::new("ext4");
    std::fs::write(volume.dir.join("x"), "old").unwrap();
    let inode = || std::fs::metadata(volume.dir.join("x")).unwrap().ino();
    let before = inode();
    lab.run(&format!("snapshot take {} a.parquet", volume.dir.display()));
    std::fs::remove_file(volume.dir.join("x")).unwrap();
    std::fs::write(volume.dir.join("x"), "new").unwrap();
    assert_eq!(inode(), before, "ext4 must reuse the lowest free inode number");
    lab.run(&format!("snapshot take {} b.parquet", volume.dir.display()));
    let diff = lab.json("snapshot diff a.parquet b.parquet");
    assert_eq!((counts(&diff, "replaced"), &diff["changes"]), ((1, 0, 0, 3), &1.into()), "{diff:#}");
}

#[test]
fn snapshot_matches_other_programs() {
    for fs in ["ext4", "xfs", "btrfs"] {
        needs!(fs);
        let lab = Lab::new();
        let volume = Volume::new(fs);
        let tree = volume.dir.join("tree");
        std::fs::create_dir(&tree).unwrap();
        fill(&tree);
        // Files that grow alternately are fragmented.
        for turn in 1..=20 {
            for name in ["p", "q"] {
                let file = std::fs::File::options().create(true).append(true).open(tree.join(name)).unwrap();
                std::io::Write::write_all(&mut &file, &vec![turn; 8192]).unwrap();
                file.sync_all().unwrap();
            }
        }
        lab.run(&format!("snapshot take {} a.parquet", tree.display()));
        let stat = lab.json("snapshot stat a.parquet");
        let layout = lab.json(&format!("probe layout {}", tree.display()));
        for field in ["files", "blocks", "extents", "layout_score"] {
            assert_eq!(stat[field], layout[field], "{fs}: {field}");
        }
        let find = |arguments: &[&str]| {
            let output = Command::new("find").arg(&tree).args(arguments).output().unwrap();
            output.stdout.iter().filter(|byte| **byte == b'.').count() as u64
        };
        assert_eq!(stat["dirs"], find(&["-type", "d", "-printf", "."]), "{fs}");
        assert_eq!(stat["symlinks"], 2, "{fs}");
        assert_eq!(stat["further_names"], 2, "{fs}");
        assert_eq!(stat["info"]["fs"], fs);
        assert_eq!(stat["info"]["fs_id"].as_str().unwrap().len(), 36, "{fs}");
        let loaded = Snapshot::load(&lab.path().join("a.parquet")).unwrap();
        for (entry, place) in loaded.entries().iter().zip(0..) {
            let path = at(&tree, &loaded.path(place));
            let seen = std::fs::symlink_metadata(&path).unwrap();
            assert_eq!(
                (entry.inode, entry.size, u64::from(entry.links)),
                (seen.ino(), seen.size(), seen.nlink())
            );
            assert_eq!(entry.allocated, seen.blocks() * 512, "{fs}: {}", path.display());
            assert_eq!(entry.changed_ns, seen.ctime() * 1_000_000_000 + seen.ctime_nsec(), "{fs}");
            assert!(entry.born_ns.is_some(), "{fs}");
            assert_eq!(
                entry.generation.is_some(),
                seen.is_file() || seen.is_dir(),
                "{fs}: {}",
                path.display()
            );
        }
        assert!(lab.run("snapshot stat a.parquet").contains("layout score"), "{fs}");
    }
}

#[test]
fn snapshot_is_independent_of_threads_and_changes_no_access_time() {
    let lab = Lab::new();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    fill(&tree);
    for n in 0..3000 {
        std::fs::write(tree.join(format!("other/{n}")), "").unwrap();
    }
    let accessed = || std::fs::metadata(&tree).unwrap().atime_nsec();
    let before = accessed();
    let load = |threads: u32| {
        lab.run(&format!("snapshot take tree {threads}.parquet --threads {threads}"));
        Snapshot::load(&lab.path().join(format!("{threads}.parquet"))).unwrap()
    };
    let (one, many) = (load(1), load(16));
    assert_eq!(one.entries(), many.entries());
    assert!((0..one.entries().len() as u32).all(|place| one.path(place) == many.path(place)));
    assert_eq!(accessed(), before);
}

#[test]
fn anonymous_snapshots_contain_no_name_but_can_be_compared() {
    let lab = Lab::new();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    fill(&tree);
    lab.run("snapshot take tree a.parquet --anonymous --make-key key");
    let mode = std::fs::metadata(lab.path().join("key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::rename(tree.join("grown"), tree.join("sub/grown")).unwrap();
    lab.run("snapshot take tree b.parquet --anonymous --key key");
    let diff = lab.json("snapshot diff a.parquet b.parquet");
    assert_eq!((counts(&diff, "renamed"), &diff["changes"]), ((1, 0, 0, 9_000), &1.into()), "{diff:#}");
    let loaded = Snapshot::load(&lab.path().join("a.parquet")).unwrap();
    let hashed = |name: &[u8]| name.len() == 32 && name.iter().all(u8::is_ascii_hexdigit);
    assert!((1..loaded.entries().len() as u32).all(|place| hashed(loaded.name(place))));
    let key = std::fs::read_to_string(lab.path().join("key")).unwrap();
    let file = std::fs::read(lab.path().join("a.parquet")).unwrap();
    assert!(!file.windows(16).any(|window| window == &key.as_bytes()[..16]));
    // Plain names, another key, and keys that other users can read.
    lab.run("snapshot take tree c.parquet");
    lab.refused("snapshot diff b.parquet c.parquet", "one has names and the other hashed names");
    lab.run("snapshot take tree d.parquet --anonymous --make-key key2");
    lab.refused("snapshot diff b.parquet d.parquet", "two keys");
    lab.refused("snapshot take tree e.parquet --anonymous", "--key");
    lab.refused("snapshot take tree e.parquet --anonymous --make-key key", "already exists");
    std::fs::set_permissions(lab.path().join("key"), PermissionsExt::from_mode(0o644)).unwrap();
    lab.refused("snapshot take tree e.parquet --anonymous --key key", "chmod 600");
}

#[test]
fn files_that_vanish_during_the_walk_are_not_errors() {
    let lab = Lab::new();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for churner in 0..2 {
            let (tree, ended) = (&tree, &ended);
            scope.spawn(move || {
                for n in (0..400).cycle() {
                    if ended.load(Relaxed) {
                        return;
                    }
                    let path = tree.join(format!("{churner}-{}", n % 40));
                    // Files, directories with files, and replacements of one by the other.
                    let _ = match n % 3 {
                        0 => std::fs::write(&path, "x"),
                        1 => std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)),
                        _ => std::fs::create_dir(&path).and_then(|()| std::fs::write(path.join("in"), "y")),
                    };
                    let _ = std::fs::rename(&path, tree.join(format!("{churner}-moved")));
                }
            });
        }
        for n in 0..30 {
            lab.run(&format!("snapshot take tree {n}.parquet --threads 4"));
            let name = format!("{n}.parquet");
            assert_eq!(lab.json(&format!("snapshot diff {name} {name}"))["changes"], 0);
        }
        ended.store(true, Relaxed);
    });
}

#[test]
fn other_file_systems_are_skipped_and_long_paths_work() {
    needs!("ext4");
    let lab = Lab::new();
    let volume = Volume::new("ext4");
    std::fs::write(volume.dir.join("in"), "x").unwrap();
    let inner = volume.dir.join("mount");
    std::fs::create_dir(&inner).unwrap();
    // Three hundred nested directories with names of 200 bytes.
    let name = "n".repeat(200);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, &volume.dir, flags, Mode::empty()).unwrap();
    for _ in 0..300 {
        mkdirat(&dir, &*name, Mode::from_raw_mode(0o755)).unwrap();
        dir = openat(&dir, &*name, flags, Mode::empty()).unwrap();
    }
    drop(dir);
    let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&inner).status().unwrap();
    assert!(mounted.success());
    let mounted = Mounted::at(inner.clone());
    std::fs::write(inner.join("out"), "x").unwrap();
    let taken = lab.json(&format!("snapshot take {} a.parquet", volume.dir.display()));
    drop(mounted);
    // The root, lost+found and the three hundred.
    assert_eq!((&taken["dirs"], &taken["files"], &taken["other_fs"]), (&302.into(), &1.into(), &1.into()));
    assert_eq!(lab.json("snapshot stat a.parquet")["by_depth"].as_array().unwrap().len(), 301);
}

#[test]
fn unreadable_directory_is_an_error_with_advice() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    std::fs::set_permissions(lab.path(), PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::create_dir_all(lab.path().join("tree/locked")).unwrap();
    std::fs::write(lab.path().join("tree/secret"), "x").unwrap();
    std::fs::set_permissions(lab.path().join("tree/secret"), PermissionsExt::from_mode(0o600)).unwrap();
    let as_nobody =
        || lab.command(["snapshot", "take", "tree", "a.parquet", "--json"]).uid(65534).gid(65534).output();
    let output = match as_nobody() {
        Ok(output) => output,
        Err(error) => return testing::skip("a program that other users can run", error),
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The attributes of the file are known from its directory, but not its extents.
    let taken = document("snapshot take", &output);
    assert_eq!((&taken["files"], &taken["unmapped"]), (&1.into(), &1.into()));
    std::fs::set_permissions(lab.path().join("tree/locked"), PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::remove_file(lab.path().join("a.parquet")).unwrap();
    let output = as_nobody().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("tree/locked") && said.contains("run as root"), "{said}");
}

#[test]
fn invalid_snapshot_files_are_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("tree")).unwrap();
    lab.run("snapshot take tree a.parquet");
    let bytes = std::fs::read(lab.path().join("a.parquet")).unwrap();
    std::fs::write(lab.path().join("cut.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    lab.refused("snapshot stat cut.parquet", "truncated");
    lab.refused("snapshot diff a.parquet cut.parquet", "truncated");
    lab.refused("snapshot stat nowhere.parquet", "nowhere.parquet");
    lab.refused("snapshot take nowhere b.parquet", "nowhere");
    lab.refused("snapshot take tree nowhere/b.parquet", "nowhere/b.parquet");
}
