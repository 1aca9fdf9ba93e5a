//! `senesce trace from-snapshots`: changes a tree, converts its snapshots into a trace, and checks that the trace ages to the same tree.

use crate::common::{Lab, Mounted};
use snapshot::{Kind, Snapshot};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates and mounts a writable ext4.
fn real(lab: &Lab) -> Mounted {
    let (image, dir) = (lab.path().join("real.img"), lab.path().join("real"));
    fs::File::create(&image).unwrap().set_len(96 << 20).unwrap();
    let run = |program: &str, args: &[&Path]| {
        assert!(Command::new(program).args(args).output().unwrap().status.success(), "{program}");
    };
    run("mkfs.ext4", &[Path::new("-q"), &image]);
    fs::create_dir(&dir).unwrap();
    run("mount", &[Path::new("-o"), Path::new("loop"), &image, &dir]);
    Mounted::at(dir)
}

fn take(dir: &Path, file: &Path) -> Snapshot {
    let snapshot = probe::snapshot(dir, "a test", 1, None).unwrap();
    snapshot.save(file, false).unwrap();
    snapshot
}

/// All names with kind and size, except the lost+found directory of ext4.
fn names(snapshot: &Snapshot) -> BTreeMap<String, (Kind, u64)> {
    let entries = snapshot.entries().iter().enumerate().skip(1);
    let named = entries.map(|(place, entry)| {
        let path = String::from_utf8(snapshot.path(place as u32)).unwrap();
        (path, (entry.kind, if entry.kind == Kind::Dir { 0 } else { entry.size }))
    });
    named.filter(|(name, _)| name != "lost+found").collect()
}

#[test]
fn snapshots_age_to_the_real_tree() {
    needs!("ext4");
    let lab = Lab::new();
    let mounted = real(&lab);
    let at = |name: &str| -> PathBuf { mounted.dir.join(name) };
    let write = |name: &str, bytes: usize| fs::write(at(name), vec![b'a'; bytes]).unwrap();
    fs::create_dir_all(at("mail/new")).unwrap();
    for file in 0..40 {
        write(&format!("mail/new/{file}"), 1000 * file);
    }
    write("log", 10_000);
    write("linked", 5_000);
    write("gone", 7_000);
    let mut all = vec![take(&mounted.dir, &lab.path().join("0.snap"))];
    fs::rename(at("mail"), at("post")).unwrap();
    fs::remove_file(at("gone")).unwrap();
    fs::remove_file(at("post/new/3")).unwrap();
    fs::hard_link(at("linked"), at("post/link")).unwrap();
    symlink("log", at("symlink")).unwrap();
    let grown = vec![b'b'; 30_000];
    std::io::Write::write_all(&mut fs::OpenOptions::new().append(true).open(at("log")).unwrap(), &grown)
        .unwrap();
    write("new", 12_345);
    fs::File::create(at("hole")).unwrap().set_len(1 << 20).unwrap();
    all.push(take(&mounted.dir, &lab.path().join("1.snap")));
    fs::remove_dir_all(at("post/new")).unwrap();
    fs::remove_file(at("linked")).unwrap();
    write("new", 54_321);
    all.push(take(&mounted.dir, &lab.path().join("2.snap")));
    drop(mounted);
    let made = lab.json("trace from-snapshots 0.snap 1.snap 2.snap -o a.parquet");
    assert_eq!(made["fill"]["creates"], 43);
    let first = &made["pairs"][0];
    // A created file may have reused the inode of a deleted one.
    let sum = |counts: [&str; 2]| counts.iter().map(|count| first[*count].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum(["creates", "replaces"]), sum(["deletes", "replaces"])), (3, 2));
    assert_eq!((&first["renames"], &first["links"], &first["appends"]), (&39.into(), &1.into(), &1.into()));
    assert_eq!((&made["pairs"][1]["unlinks"], &made["pairs"][1]["modifies"]), (&1.into(), &1.into()));
    for (round, real) in all.iter().enumerate() {
        let name = format!("aged-{round}");
        lab.json(&format!(
            "age --trace a.parquet --rounds {round} --fs ext4 --size 96MiB --work work --name {name}"
        ));
        let mounted = Mounted::new(&lab.work().join(format!("{name}.img")), lab.path());
        let aged = probe::snapshot(&mounted.dir, "a test", 1, None).unwrap();
        assert_eq!(names(&aged), names(real), "snapshot {round}");
    }
    // All at once, from the directory of the snapshots.
    fs::create_dir(lab.path().join("nightly")).unwrap();
    for name in ["0.snap", "1.snap", "2.snap"] {
        fs::copy(lab.path().join(name), lab.path().join("nightly").join(name)).unwrap();
    }
    let line = "age --snapshots nightly --fs ext4 --size 96MiB --work work --name at-once --every 1";
    let aged = lab.json(line);
    assert_eq!((&aged["workload"], &aged["round"]), (&"snapshots".into(), &2.into()));
    let rounds = aged["pairs"].as_array().unwrap().iter().map(|pair| pair["round"].as_u64().unwrap());
    assert_eq!(rounds.collect::<std::collections::BTreeSet<u64>>(), [1, 2].into());
    let mounted = Mounted::new(&lab.work().join("at-once.img"), lab.path());
    let at_once = probe::snapshot(&mounted.dir, "a test", 1, None).unwrap();
    assert_eq!(names(&at_once), names(&all[2]));
    drop(mounted);
    assert_eq!(lab.json(&format!("{line} --resume")), aged);
    fs::remove_file(lab.path().join("nightly/1.snap")).unwrap();
    lab.refused(&format!("{line} --resume"), "with other options");
    let published = lab.json(
        "trace from-snapshots --published --short-lived builtin 0.snap 1.snap 2.snap -o published.parquet --seed 7",
    );
    assert_eq!(published["pairs"][0]["renames"], 0);
    assert!(lab.run("trace show published.parquet").contains("snapshots"));
    lab.nothing_left();
}

#[test]
fn invalid_series_of_snapshots_are_refused() {
    needs!("ext4");
    let lab = Lab::new();
    let mounted = real(&lab);
    fs::write(mounted.dir.join("a"), "a").unwrap();
    take(&mounted.dir, &lab.path().join("0.snap"));
    fs::write(mounted.dir.join("b"), "b").unwrap();
    take(&mounted.dir, &lab.path().join("1.snap"));
    drop(mounted);
    let whole = fs::read(lab.path().join("1.snap")).unwrap();
    fs::write(lab.path().join("cut.snap"), &whole[..whole.len() / 2]).unwrap();
    for (line, expected) in [
        ("1.snap 0.snap", "give the older one first"),
        ("0.snap 0.snap", "give each once"),
        ("0.snap cut.snap", "cut.snap"),
        ("0.snap nowhere.snap", "nowhere.snap"),
        ("0.snap 1.snap --inodes-per-group 5", "--place cylinder-groups"),
        ("0.snap 1.snap --short-lived nowhere", "nowhere"),
        ("0.snap 1.snap --bytes-per-profile 5MiB", "--short-lived"),
    ] {
        lab.refused(&format!("trace from-snapshots {line} -o a.parquet"), expected);
    }
    lab.refused("trace from-snapshots 0.snap 1.snap -o a.jsonl", "cannot hold file names");
}
