//! Tests of `senesce snapshot import` with listings of the supported programs.

use crate::common::{Lab, text};
use crate::snapshots::{Volume, fill};
use snapshot::{Kind, Snapshot};
use std::path::Path;
use std::process::Command;

/// Writes the output of a shell script to a file of the lab; `None`, with a skip message, if a program is not installed.
fn list(lab: &Lab, program: &str, script: &str, at: &Path) -> Option<()> {
    if !testing::has_tool(program) {
        return None;
    }
    let output = Command::new("sh").args(["-c", script]).current_dir(at).output().unwrap();
    assert!(output.status.success(), "{script}: {}", text(&output.stderr));
    std::fs::write(lab.path().join("listing"), output.stdout).unwrap();
    Some(())
}

fn load(lab: &Lab, name: &str) -> Snapshot {
    Snapshot::load(&lab.path().join(name)).unwrap()
}

/// The paths of all entries with the value of `fact` for each.
fn paths<T>(snapshot: &Snapshot, fact: impl Fn(&snapshot::Entry) -> T) -> Vec<(Vec<u8>, T)> {
    snapshot.entries().iter().zip(0..).map(|(entry, place)| (snapshot.path(place), fact(entry))).collect()
}

#[test]
fn find_listing_matches_snapshot() {
    let lab = Lab::new();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    fill(&tree);
    let script = r"find . -xdev -printf '%y\t%i\t%n\t%s\t%b\t%C@\t%T@\t%B@\t%P\0'";
    if list(&lab, "find", script, &tree).is_none() {
        return;
    }
    let imported = lab.json("snapshot import --from find listing a.parquet");
    assert!(imported["doubts"][0].as_str().unwrap().contains("generation, extents"), "{imported:#}");
    lab.run("snapshot take tree b.parquet");
    let diff = lab.json("snapshot diff a.parquet b.parquet");
    assert_eq!(diff["changes"], 0, "{diff:#}");
    let all = |entry: &snapshot::Entry| (entry.parent, entry.links, entry.allocated);
    let (listed, taken) = (load(&lab, "a.parquet"), load(&lab, "b.parquet"));
    assert_eq!(paths(&listed, all), paths(&taken, all));
    // Some versions of find report birth times on some file systems.
    for (listed, taken) in listed.entries().iter().zip(taken.entries()) {
        assert!(listed.born_ns.is_none_or(|born| taken.born_ns == Some(born)), "{listed:?}, {taken:?}");
    }
}

#[test]
fn rsync_listing_matches_names_and_sizes_of_snapshot() {
    let lab = Lab::new();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    fill(&tree);
    if list(&lab, "rsync", "TZ=UTC rsync --list-only -r ./", &tree).is_none() {
        return;
    }
    lab.run("snapshot import --from rsync listing a.parquet");
    lab.run("snapshot take tree b.parquet");
    let known = |entry: &snapshot::Entry| {
        let size = if entry.kind == Kind::File { entry.size } else { 0 };
        (entry.kind, size, entry.modified_ns.div_euclid(1_000_000_000))
    };
    assert_eq!(paths(&load(&lab, "a.parquet"), known), paths(&load(&lab, "b.parquet"), known));
    lab.refused("snapshot import --from find listing c.parquet", "record 1");
}

#[test]
fn btrfs_streams_match_snapshots_full_and_incremental() {
    needs!("btrfs");
    let lab = Lab::new();
    let volume = Volume::new("btrfs");
    let at = &volume.dir;
    let run = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).current_dir(at).output().unwrap();
        assert!(output.status.success(), "{script}: {}", text(&output.stderr));
    };
    run("btrfs subvolume create v");
    fill(&at.join("v"));
    run("btrfs subvolume snapshot -r v one");
    run(
        "cd v && mv sub/deeper other/moved && rm gone && echo more >>grown && ln still third && mkdir made && echo x >made/new",
    );
    run("btrfs subvolume snapshot -r v two");
    let same = |imported: &str, subvolume: &str| {
        lab.run(&format!("snapshot take {}/{subvolume} {subvolume}.parquet", at.display()));
        let (imported, taken) = (load(&lab, imported), load(&lab, &format!("{subvolume}.parquet")));
        let known = |entry: &snapshot::Entry| {
            let is_file = entry.kind == Kind::File;
            // For directories the stream has no sizes, and for the root only times.
            let generation = entry.generation.filter(|_| is_file);
            let (links, size) = if is_file { (entry.links, entry.size) } else { (0, 0) };
            (entry.kind, entry.inode, generation, links, size, entry.modified_ns.div_euclid(1_000_000_000))
        };
        assert_eq!(paths(&imported, known), paths(&taken, known), "{subvolume}");
    };
    list(&lab, "btrfs", "btrfs send --no-data one | btrfs receive --dump", at).unwrap();
    lab.run("snapshot import --from btrfs listing a.parquet");
    same("a.parquet", "one");
    list(&lab, "btrfs", "btrfs send --no-data -p one two | btrfs receive --dump", at).unwrap();
    lab.refused("snapshot import --from btrfs listing b.parquet", "--base");
    lab.run("snapshot import --from btrfs listing b.parquet --base a.parquet");
    same("b.parquet", "two");
    // The snapshots of one subvolume can be compared.
    let diff = lab.json("snapshot diff one.parquet two.parquet");
    assert_eq!((&diff["modified"]["files"], &diff["deleted"]["files"]), (&1.into(), &1.into()), "{diff:#}");
    assert_eq!((&diff["created"]["files"], &diff["linked"]["files"]), (&1.into(), &1.into()), "{diff:#}");
}
