//! `senesce age` on real file systems.

use crate::common::{Lab, Mounted, text};
use std::process::Command;

/// The smallest practical sizes: Btrfs is slow, and XFS needs at least 300 MiB.
const KINDS: [(&str, &str); 3] = [("ext4", "160MiB"), ("xfs", "320MiB"), ("btrfs", "256MiB")];

#[test]
fn ext4_ages_exactly_and_passes_its_checker() {
    ages_exactly(KINDS[0], "", &["e2fsck", "-fn"]);
}

#[test]
fn xfs_ages_exactly_and_passes_its_checker() {
    ages_exactly(KINDS[1], "", &["xfs_repair", "-n"]);
}

/// With `--mixed`, as recommended for small file systems; `files` tests the default of `mkfs`.
#[test]
fn btrfs_ages_exactly_and_passes_its_checker() {
    ages_exactly(KINDS[2], "--mkfs-opts=--mixed", &["btrfs", "check", "--readonly"]);
}

fn ages_exactly((fs, size): (&str, &str), opts: &str, checker: &[&str]) {
    needs!(fs);
    let lab = Lab::new();
    let aged = lab.json(&format!(
        "age --fs {fs} --size {size} --profile dabre --fullness 0.7 --seed 7 --work work {opts}"
    ));
    let number = |name: &str| aged[name].as_f64().unwrap_or_else(|| panic!("{fs}: {name} in {aged}"));
    assert_eq!(number("errors"), 0.0, "{fs}: {}", aged["failures"]);
    assert!(number("operations") <= 1.05 * number("bound_operations"));
    assert!(number("overwrites") <= 1.15 * number("bound_overwrites"));
    assert!(number("age_rms_error") <= f64::max(1e-4, 0.5 / number("live_files")));
    assert_eq!(number("creations") - number("deletions"), number("live_files"));
    assert!(number("fit_p_value") > 0.99 && number("operations_per_s") > 0.0);
    assert_eq!(aged["stopped_by"], "bound");
    assert_eq!(aged["checker_clean"], true);
    assert_eq!(aged["trace_sha256"].as_str().unwrap().len(), 64);

    let image = lab.work().join(format!("{fs}-dabre-7.img"));
    let check = Command::new(checker[0]).args(&checker[1..]).arg(&image).output().unwrap();
    assert!(check.status.success(), "{fs}: {}", text(&check.stderr));
    let files = lab.list(&image);
    assert_eq!(files.len() as f64, number("live_files"), "{fs}");
    lab.nothing_left();
}

#[test]
fn trace_depends_on_seed_not_on_file_system_or_threads() {
    needs!("ext4");
    needs!("xfs");
    let lab = Lab::new();
    let mut seen = Vec::new();
    for fs in ["ext4", "xfs"] {
        for threads in [1, 8] {
            let name = format!("{fs}-{threads}");
            let aged = lab.json(&format!(
                "age --fs {fs} --size 320MiB --fullness 0.5 --profile meyer --seed 3 --overwrites 3 --threads {threads} --name {name} --work work"
            ));
            assert_eq!(aged["errors"], 0);
            seen.push((aged["trace_sha256"].clone(), lab.list(&lab.work().join(format!("{name}.img")))));
        }
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "the traces or trees differ");
    let other = lab.json(
        "age --fs ext4 --size 320MiB --fullness 0.5 --profile meyer --seed 4 --overwrites 3 --plan-only",
    );
    assert_ne!(other["trace_sha256"], seen[0].0);
    let same = lab.json(
        "age --fs ext4 --size 320MiB --fullness 0.5 --profile meyer --seed 3 --overwrites 3 --plan-only",
    );
    assert_eq!(same["trace_sha256"], seen[0].0);
}

#[test]
fn survivors_have_data_on_disk() {
    for (fs, size) in KINDS {
        needs!(fs);
        let lab = Lab::new();
        lab.run(&format!(
            "age --fs {fs} --size {size} --profile wang_os --fullness 0.5 --overwrites 2 --name a --work work"
        ));
        let mounted = Mounted::new(&lab.work().join("a.img"), lab.path());
        let mut nonzero = 0;
        let mut files = 0;
        for entry in std::fs::read_dir(&mounted.dir).unwrap().flatten() {
            let contents = if entry.file_type().unwrap().is_file() {
                std::fs::read(entry.path()).unwrap()
            } else {
                continue;
            };
            files += usize::from(contents.len() > 64);
            nonzero += usize::from(
                contents.len() > 64
                    && contents.iter().any(|&b| b != 0)
                    && contents[contents.len() - 9..] != [0; 9],
            );
        }
        assert!(files > 100 && nonzero == files, "{fs}: {nonzero} of {files} files hold data to their end");
    }
}

#[test]
fn stops_by_time_and_resumes_with_changed_options() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --fs ext4 --size 128MiB --fullness 0.5 --profile agrawal --seed 1 --name a --work work";
    let stopped = lab.json(&format!("{line} --time 0.1s"));
    assert_eq!(stopped["stopped_by"], "time");
    assert!(stopped["operations"].as_u64() < stopped["bound_operations"].as_u64());
    let done = lab.json(&format!("{line} --resume"));
    assert_eq!(done["stopped_by"], "bound");
    assert_eq!(done["errors"], 0);
    let whole = lab.json(&line.replace("--name a --work work", "--plan-only"));
    assert_eq!(
        done["trace_sha256"], whole["trace_sha256"],
        "the resumed trace differs from an uninterrupted one"
    );
    let further = lab.json(&format!("{} --resume", line.replace("0.5", "0.4")));
    assert!((further["fullness"].as_f64().unwrap() - 0.4).abs() < 0.02, "{}", further["fullness"]);
    assert_eq!(further["errors"], 0);
    assert!(
        further["age_rms_error"].as_f64().unwrap()
            <= f64::max(1e-4, 0.5 / further["live_files"].as_f64().unwrap())
    );
    assert_eq!(further["checker_clean"], true);
    lab.nothing_left();
}

#[test]
fn stops_by_fit() {
    needs!("ext4");
    let lab = Lab::new();
    let aged = lab.json("age --fs ext4 --size 64MiB --fullness 0.5 --profile agrawal --method greedy --fit 0.000001 --no-fill --name g --work work");
    assert!(aged["stopped_by"] == "fit" || aged["stopped_by"] == "bound", "{}", aged["stopped_by"]);
    if aged["stopped_by"] == "fit" {
        assert!(aged["fit_p_value"].as_f64().unwrap() >= 0.000001);
    }
}

#[test]
fn too_small_file_system_stops_when_full() {
    needs!("ext4");
    let lab = Lab::new();
    // A single thread: each of several threads may wait 5 s for space that another is about to free.
    let stopped = lab.json(&format!("{TOO_SMALL} --name stop --on-full stop --threads 1"));
    assert_eq!(stopped["stopped_by"], "full", "the reserve and the tables leave less than 98 %");
    assert!(stopped["operations"].as_u64() < stopped["bound_operations"].as_u64());
    lab.nothing_left();
}

const TOO_SMALL: &str =
    "age --fs ext4 --size 256MiB --profile wang_os --fullness 0.98 --overwrites 2 --no-fill --work work";

/// Ages a file system much larger than memory without writing file data.
fn aged_without_filling(gib: u64) {
    let lab = Lab::new();
    let aged = lab.json(&format!("age --fs ext4 --size {gib}GiB --profile wang_lanl --fullness 0.01 --overwrites 0.02 --no-fill --name t --work work"));
    assert_eq!(aged["errors"], 0);
    assert!(aged["live_files"].as_u64().unwrap() > 10 * gib);
    use std::os::unix::fs::MetadataExt;
    let image = std::fs::metadata(lab.work().join("t.img")).unwrap();
    assert_eq!(image.len(), gib << 30);
    assert!(image.blocks() * 512 < gib << 21, "{} bytes", image.blocks() * 512);
}

#[test]
fn sixty_four_gib_are_aged_without_filling() {
    needs!("ext4");
    aged_without_filling(64);
}

mod soak {
    use super::{Lab, TOO_SMALL, aged_without_filling};

    #[test]
    #[ignore = "soak: making and checking a terabyte takes half a minute"]
    fn a_terabyte_is_aged_without_filling_it() {
        needs!("ext4");
        aged_without_filling(1024);
    }

    #[test]
    #[ignore = "soak: each of the times that it is full, freed space is waited for over 5 s"]
    fn what_does_not_fit_is_skipped() {
        needs!("ext4");
        let lab = Lab::new();
        let skipped = lab.json(&format!("{TOO_SMALL} --name skip"));
        assert!(skipped["errors"].as_u64().unwrap() > 0, "the reserve and the tables leave less than 98 %");
        assert!(skipped["failures"].as_array().unwrap().iter().any(|f| f["error"] == "ENOSPC"));
        assert_eq!(skipped["checker_clean"], true);
        // A single thread: each of several threads may wait 5 s for space that another is about to free.
        let stopped = lab.json(&format!("{TOO_SMALL} --name stop --on-full stop --threads 1"));
        assert!(stopped["operations"].as_u64() < skipped["operations"].as_u64());
        lab.nothing_left();
    }
}

#[test]
fn directory_is_aged_without_creating_a_file_system() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("place")).unwrap();
    let aged = lab.json("age --dir place --size 64MiB --profile wang_os --overwrites 2 --name d --work work");
    assert_eq!(aged["fs"], "dir");
    assert_eq!(aged["errors"], 0);
    let made: Vec<_> = std::fs::read_dir(lab.path().join("place")).unwrap().flatten().collect();
    assert_eq!(made.len(), 1, "aging a directory must create one subdirectory");
    assert!(made[0].file_name().to_string_lossy().starts_with("senesce-"));
}

#[test]
fn saved_trace_can_be_inspected_and_converted() {
    needs!("ext4");
    let lab = Lab::new();
    let aged = lab.json("age --fs ext4 --size 256MiB --profile wang_os --overwrites 2 --no-fill --work work --save-trace a.parquet");
    let stat = lab.json("trace stat a.parquet");
    let text = stat.to_string();
    assert!(
        text.contains(&aged["creations"].to_string()) && text.contains(&aged["deletions"].to_string()),
        "{text}"
    );
    let shown = lab.run("trace show a.parquet --first 3");
    assert!(shown.contains("planned") && shown.contains("create"), "{shown}");
    lab.run("trace convert a.parquet a.jsonl");
    lab.run("trace convert a.jsonl b.parquet");
    assert_eq!(lab.json("trace stat b.parquet"), stat);
    let whole = std::fs::read(lab.path().join("a.parquet")).unwrap();
    std::fs::write(lab.path().join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    lab.refused("trace stat cut.parquet", "cut.parquet");
    lab.refused("trace show /dev/null", "/dev/null");
}

#[test]
fn churn_leaves_holes_on_ext4() {
    needs!("ext4");
    let lab = leaves_holes(KINDS[0], "");
    let compared = lab.json("compare plain churned --repeat 1 --no-new-file --work work");
    let differing = &compared["contrasts"][0]["differing"];
    assert_eq!(differing[0]["fact"], "churn", "{differing}");
    lab.nothing_left();
}

#[test]
fn churn_leaves_holes_on_xfs() {
    needs!("xfs");
    leaves_holes(KINDS[1], "");
}

#[test]
fn churn_leaves_holes_on_btrfs() {
    needs!("btrfs");
    leaves_holes(KINDS[2], "--mkfs-opts=--mixed");
}

/// The live files are the same as without churn, and what is punched out of them is free.
fn leaves_holes((fs, size): (&str, &str), opts: &str) -> Lab {
    let lab = Lab::new();
    let age = |name: &str, churn: &str| {
        lab.json(&format!(
            "age --fs {fs} --size {size} {opts} --profile dabre --fullness 0.6 --seed 7 {churn} --name {name} --work work"
        ))
    };
    let (plain, churned) = (age("plain", ""), age("churned", "--churn overwrite=0.3,punch=20%"));
    assert_eq!(plain["reached"]["churn"], serde_json::Value::Null);
    let churn = |what: &str| churned["reached"]["churn"][what].as_u64().unwrap();
    let operations = churned["operations"].as_f64().unwrap();
    for (what, share) in [("overwrites", 0.3), ("punches", 0.2)] {
        let expected = operations * share / 0.5;
        assert!((churn(what) as f64 - expected).abs() < 10.0, "{fs}: {what} {} of {expected}", churn(what));
    }
    assert!(churn("overwritten_bytes") > churn("overwrites") * 4096, "{fs}");
    for same in ["operations", "live_files", "fullness", "age_rms_error"] {
        assert_eq!(plain[same], churned[same], "{fs}: {same}");
    }
    assert_ne!(plain["trace_sha256"], churned["trace_sha256"]);
    for aged in [&plain, &churned] {
        assert_eq!((&aged["errors"], &aged["checker_clean"]), (&0.into(), &true.into()), "{fs}");
    }
    let image = |name: &str| lab.work().join(format!("{name}.img"));
    assert_eq!(lab.list(&image("plain")), lab.list(&image("churned")), "{fs}");
    let used = |name: &str| {
        let mounted = Mounted::new(&image(name), lab.path());
        let du = Command::new("du").args(["-s", "--block-size=512"]).arg(&mounted.dir).output().unwrap();
        text(&du.stdout).split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let (plain, churned) = (used("plain"), used("churned"));
    assert!(churned < plain * 9 / 10, "{fs}: {churned} of {plain} sectors are used with holes");
    lab.nothing_left();
    lab
}

#[test]
fn aging_with_churn_continues_after_a_kill() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --churn overwrite=0.2,punch=0.1 --fullness 0.5 --profile pramod --every 50 --fs ext4 --size 128MiB --name c --work work";
    lab.stopped(line, "round 100, aging").kill();
    lab.clean_up();
    let aged = lab.json(&format!("{line} --resume"));
    assert_eq!((&aged["errors"], &aged["checker_clean"]), (&0.into(), &true.into()));
    let planned = lab.json(&line.replace("--every 50", "--plan-only"));
    for same in ["trace_sha256", "reached"] {
        assert_eq!(planned[same], aged[same]);
    }
    let further = lab.json(&format!("{} --resume", line.replace("0.2,", "0.4,").replace("--every 50", "")));
    let count = |aged: &serde_json::Value| aged["reached"]["churn"]["overwrites"].as_u64().unwrap();
    assert!(count(&further) >= count(&aged), "counted over both parts");
    lab.nothing_left();
}
