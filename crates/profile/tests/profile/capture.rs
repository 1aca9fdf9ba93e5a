//! Captures profiles of trees with known histograms.

use senesce_profile::{AgeBy, Profile, capture, load};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

#[test]
fn sizes_depths_and_directories_match_the_tree() {
    let root = tempfile::tempdir().unwrap();
    let deep = root.path().join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(root.path().join("e")).unwrap();
    for (name, size) in [
        ("empty", 0),
        ("one", 1),
        ("a/two", 2),
        ("a/b/c/three", 3),
        ("a/b/c/page", 4096),
        ("a/b/c/more", 4097),
    ] {
        fs::write(root.path().join(name), vec![1; size]).unwrap();
    }
    fs::hard_link(root.path().join("one"), deep.join("again")).unwrap();
    std::os::unix::fs::symlink("one", root.path().join("soft")).unwrap();
    let odd = root.path().join(OsStr::from_bytes(b"new\nline\xff"));
    fs::write(odd, b"12345").unwrap();

    let captured = capture(root.path(), "mine", AgeBy::Birth, 2).unwrap();
    assert_eq!((captured.files, captured.hard_links, captured.other, captured.directories), (7, 1, 1, 5));
    assert_eq!(captured.bytes, 1 + 2 + 3 + 4096 + 4097 + 5);
    let profile = &captured.profile;
    let in_bin = |edge: u64| {
        let bin = profile.size.upper_bytes.iter().position(|&e| e == edge).unwrap();
        profile.size.weight[bin]
    };
    assert_eq!([0, 1, 2, 4, 8, 4096, 8192].map(in_bin), [1.0; 7]);
    assert_eq!(profile.size.weight.iter().sum::<f64>(), 7.0);
    // "one" is counted where the walk finds it first: at depth 0 or at depth 3.
    assert_eq!(profile.depth.weight.iter().sum::<f64>(), 7.0);
    assert_eq!(profile.depth.weight[1..3], [1.0, 0.0]);
    assert_eq!(profile.depth.subdirectories, [2, 1, 1, 0]);
    assert!(profile.fullness.is_some_and(|f| (0.0..=1.0).contains(&f)));

    let toml = profile.to_toml();
    assert!(
        !toml.contains("three") && !toml.contains(root.path().to_str().unwrap()),
        "the profile must contain no names"
    );
    assert_eq!(Profile::parse(&toml, "captured").unwrap(), *profile);
}

#[test]
fn ages_are_counted_and_the_bound_is_limited() {
    let root = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let day = 86_400;
    for (n, age) in [0, 10 * day, 10 * day, 100 * day, 1000 * day].into_iter().enumerate() {
        let file = fs::File::create(root.path().join(n.to_string())).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    let captured = capture(root.path(), "mine", AgeBy::Modification, 1).unwrap();
    let age = &captured.profile.age;
    let last = *age.upper.last().unwrap();
    assert!((last - 1000.0 * day as f64).abs() < 60.0);
    assert_eq!(age.weight.iter().sum::<f64>(), 5.0);
    assert!(captured.profile.bound_operations_per_file() <= 100.0);
    assert!(captured.merged_ages > 1, "a new file would need millions of operations");
}

#[test]
fn many_files_in_one_directory_are_all_counted() {
    let root = tempfile::tempdir().unwrap();
    for n in 0..5000 {
        fs::File::create(root.path().join(n.to_string())).unwrap();
    }
    for threads in [1, 2, 8] {
        assert_eq!(capture(root.path(), "mine", AgeBy::Birth, threads).unwrap().files, 5000);
    }
}

/// A tmpfs, unmounted on drop even if the test fails.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: PathBuf) -> Mounted {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&at).status().unwrap();
        assert!(mounted.success());
        Mounted(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn other_file_systems_are_not_entered() {
    if !testing::is_root() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for dir in ["other", "own"] {
        fs::create_dir(root.path().join(dir)).unwrap();
    }
    let other = Mounted::new(root.path().join("other"));
    for name in ["other/a", "other/b", "own/c"] {
        fs::write(root.path().join(name), "x").unwrap();
    }
    let captured = capture(root.path(), "mine", AgeBy::Birth, 4).unwrap();
    assert_eq!((captured.other_file_systems, captured.files), (1, 1));
    drop(other);
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "soak: as long as this machine's root file system is large"]
    fn the_root_of_this_machine_can_be_aged_like_a_built_in_profile() {
        let captured = capture("/".as_ref(), "mine", AgeBy::Birth, 4).unwrap();
        assert!(captured.other_file_systems >= 1);
        let bound = captured.profile.bound_operations_per_file();
        assert!(bound <= load("agrawal").unwrap().bound_operations_per_file() * 2.0, "{bound}");
    }
}

#[test]
fn empty_or_missing_tree_is_rejected() {
    let root = tempfile::tempdir().unwrap();
    assert!(
        capture(root.path(), "mine", AgeBy::Birth, 1)
            .unwrap_err()
            .to_string()
            .contains("no readable regular file")
    );
    let missing = root.path().join("missing");
    assert!(capture(&missing, "mine", AgeBy::Birth, 1).unwrap_err().to_string().contains("No such file"));
    let file = root.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(capture(&file, "mine", AgeBy::Birth, 1).unwrap_err().to_string().contains("Not a directory"));
}
