//! Aging by workloads: what is printed, what is left to compare, what is refused.

use crate::common::{Lab, LoopDevice, text};
use std::process::Command;

fn git(dir: &std::path::Path, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let status = Command::new("git").arg("-C").arg(dir).args(identity).args(args).status().unwrap();
    assert!(status.success(), "git {args:?}");
}

#[test]
fn a_history_ages_a_file_system_that_is_then_compared() {
    needs!("xfs");
    for way in ["--live", "--extracted"] {
        let lab = Lab::new();
        let aged = lab.json(&format!(
            "age --git --pulls 30 --every 15 {way} --fs xfs --size 320MiB --name a --work work"
        ));
        assert_eq!(aged["workload"], "git");
        assert_eq!(aged["checker_clean"], true);
        let pairs = aged["pairs"].as_array().unwrap();
        let rounds: Vec<u64> = pairs.iter().map(|pair| pair["round"].as_u64().unwrap()).collect();
        assert_eq!(rounds, [15, 15, 30, 30], "each round on two disks");
        for pair in pairs {
            assert_eq!(pair["fs"], "xfs");
            assert_eq!(pair["aged"]["files"], pair["unaged"]["files"]);
            assert!(pair["aged"]["modelled_s_per_gib"].as_f64().unwrap() > 0.0, "{pair}");
            assert!(pair["aging_ratio"].as_f64().unwrap() > 0.0, "{pair}");
        }
        let compared = lab.json("compare a --work work --repeat 1 --no-new-file");
        assert_eq!(compared["pairs"][0]["profile"], "git");
        assert_eq!(compared["pairs"][0]["aged"]["files"], pairs[3]["aged"]["files"]);
        lab.run("report --work work -o page.html");
        lab.refused(
            "age --git --pulls 30 --fs xfs --size 320MiB --name a --work work",
            "aged in work already",
        );
        lab.nothing_left();
    }
}

#[test]
fn mail_and_trees_age_too() {
    needs!("ext4");
    let lab = Lab::new();
    let mail = "--mail --days 2 --every 1 --users 1 --mailboxes 2 --messages 20 --operations 20";
    let aged = lab.json(&format!("age {mail} --fs ext4 --size 100MiB --name mail --work work"));
    assert_eq!((&aged["workload"], aged["pairs"].as_array().unwrap().len()), (&"mail".into(), 4));
    let aged = lab.json("age --interfile 40 --files 200 --fs ext4 --size 100MiB --name tree --work work");
    assert_eq!((&aged["workload"], aged["pairs"].as_array().unwrap().len()), (&"interfile".into(), 0));
    assert_eq!(lab.list(&lab.work().join("tree.img")).len(), 200);
    let aged = lab.json("age --filesize 64KiB --files 50 --fs ext4 --size 100MiB --name sizes --work work");
    assert_eq!(aged["round"], 65536);
    assert!(lab.list(&lab.work().join("sizes.img")).iter().all(|(_, size)| *size == 65536));
    lab.nothing_left();
}

#[test]
fn a_device_is_aged_by_a_workload_when_that_is_confirmed() {
    needs!("ext4");
    let lab = Lab::new();
    let device = LoopDevice::new(&lab.path().join("disk.img"), 128 << 20);
    let line = format!(
        "age --interfile 100 --files 60 --every 50 --fs ext4 --size 100MiB --device {} --name d --work work",
        device.0
    );
    let unconfirmed = lab.try_run(&line);
    assert!(text(&unconfirmed.stderr).contains("--erase"), "{}", text(&unconfirmed.stderr));
    let aged = lab.json(&format!("{line} --erase {}", device.0));
    assert_eq!(aged["checker_clean"], true);
    for pair in aged["pairs"].as_array().unwrap() {
        assert!(pair["aging_ratio"].as_f64().unwrap() > 0.0, "{pair}");
        assert!(pair["wall_aging_ratio"].is_null(), "the copy lies on another disk: {pair}");
    }
    let compared = lab.json("compare d --work work --repeat 1 --no-new-file --disk ssd-sata");
    let pair = &compared["pairs"][0];
    assert_eq!((&pair["aged"]["disk"], &pair["modelled_disk"]), (&"device".into(), &"ssd-sata".into()));
    assert!(pair["aged"]["modelled_s_per_gib"].as_f64() < pair["aged"]["modelled_hdd_s_per_gib"].as_f64());
    assert_eq!(device.files(&lab), 60);
}

#[test]
fn what_cannot_be_pulled_or_served_is_refused() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "--fs ext4 --size 100MiB --work work";
    lab.refused(&format!("age --git none {line}"), "none");
    std::fs::create_dir(lab.path().join("plain")).unwrap();
    lab.refused(&format!("age --git plain {line}"), "plain");
    let single = lab.path().join("single");
    std::fs::create_dir(&single).unwrap();
    git(&single, &["init", "--quiet"]);
    git(&single, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    lab.refused(&format!("age --git single {line}"), "one commit");
    git(&single, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    lab.refused(&format!("age --git single --pulls 3 {line}"), "not 3");
    lab.refused(&format!("age --interfile 101 {line}"), "101");
    lab.refused(&format!("age --mail --days 1 --users 0 {line}"), "users");
    lab.refused(&format!("age --git --mail {line}"), "--mail");
    lab.refused(&format!("age --pulls 3 {line}"), "--git");
}
