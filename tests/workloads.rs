//! Tests of aging by workloads: output, later comparisons, and refused options.

use crate::common::{Lab, LoopDevice, Running, document, has_dovecot, text};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

fn git(dir: &std::path::Path, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let status = Command::new("git").arg("-C").arg(dir).args(identity).args(args).status().unwrap();
    assert!(status.success(), "git {args:?}");
}

#[test]
fn git_history_ages_a_file_system_that_can_be_compared() {
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
        assert_eq!(rounds, [15, 15, 30, 30], "two disks per round");
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
        let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
        assert!(page.contains("xfs aged by git") && page.contains("Cost of a scan on modelled disks"));
        lab.refused(
            "age --git --pulls 30 --fs xfs --size 320MiB --name a --work work",
            "was already aged in work",
        );
        lab.nothing_left();
    }
}

#[test]
fn mail_and_tree_workloads_age_a_file_system() {
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
fn workloads_of_any_kind_age_a_file_system() {
    needs!("ext4");
    let lab = Lab::new();
    let age = |name: &str, workload: &str| {
        lab.json(&format!("age --workload {workload} --fs ext4 --size 100MiB --name {name} --work work"))
    };
    let aged = age("four", "intrafile --set files=4 --rounds 50");
    assert_eq!((&aged["workload"], &aged["round"]), (&"intrafile".into(), &50.into()));
    assert_eq!(lab.list(&lab.work().join("four.img")).len(), 4);
    let aged = age("office", "synthetic --set intervals=40 --set fullness=0.6 --rounds 1 --every 1");
    assert_eq!((&aged["workload"], aged["pairs"].as_array().unwrap().len()), (&"synthetic".into(), 2));
    assert!(aged["pairs"][0]["aged"]["files"].as_f64().unwrap() > 100.0);
    std::fs::write(lab.path().join("it.toml"), "kind = \"interfile\"\nfiles = 200\nfile_bytes = 8192")
        .unwrap();
    let aged = age("tree", "it.toml --set files=150");
    assert_eq!((&aged["workload"], &aged["round"]), (&"interfile".into(), &100.into()));
    let files = lab.list(&lab.work().join("tree.img"));
    assert!(files.len() == 150 && files.iter().all(|(_, size)| *size == 8192));
    for (workload, said) in [
        ("sails", "expected one of"),
        ("trace", "missing field `file`"),
        ("git --set sails=3", "unknown field `sails`"),
        ("filesize", "has no default: give --rounds"),
        ("git --pulls 3", "cannot be used with"),
        ("git --set live", "must be KEY=VALUE"),
    ] {
        lab.refused(&format!("age --workload {workload} --fs ext4 --size 100MiB --work work"), said);
    }
    lab.refused("age --set live=true --fs ext4 --size 100MiB --work work", "required arguments");
    lab.nothing_left();
}

#[test]
fn new_files_fill_alternating_holes() {
    needs!("ext4");
    needs!("xfs");
    for (fs, size) in [("ext4", "128MiB"), ("xfs", "320MiB")] {
        let lab = Lab::new();
        let mut free = Vec::new();
        for round in [0, 100] {
            let name = format!("r{round}");
            let aged = lab.json(&format!(
                "age --workload punched --rounds {round} --fs {fs} --size {size} --name {name} --work work"
            ));
            assert_eq!((&aged["workload"], &aged["checker_clean"]), (&"punched".into(), &true.into()));
            free.push(lab.json(&format!("probe free-space work/{name}.img"))["extents"].as_u64().unwrap());
            if round == 0 {
                let layout = lab.json(&format!("probe layout work/{name}.img"));
                let score = layout["scan_layout_score"].as_f64().unwrap();
                assert!(score < 0.01, "{fs}: all blocks are apart, not {score}");
            }
        }
        // Every other block of 70 % is a hole; new files take the free space behind the files, then holes.
        assert!(free[0] > 10_000 && free[1] < free[0] * 3 / 4, "{fs}: {free:?} free extents");
        lab.nothing_left();
    }
}

#[test]
fn overwritten_files_are_torn_apart_while_clones_share_their_blocks() {
    needs!("xfs");
    needs!("btrfs");
    for (fs, size, plain_score) in
        [("xfs", "320MiB", 0.99..=1.0), ("btrfs", "256MiB --mkfs-opts=--mixed", 0.0..=0.9)]
    {
        let lab = Lab::new();
        let score = |name: &str, set: &str| {
            let aged = lab.json(&format!(
                "age --workload cloned --rounds 4 --set file_bytes=4194304 {set} --fs {fs} --size {size} --name {name} --work work"
            ));
            assert_eq!((&aged["workload"], &aged["checker_clean"]), (&"cloned".into(), &true.into()), "{fs}");
            let layout = lab.json(&format!("probe layout work/{name}.img"));
            layout["scan_layout_score"].as_f64().unwrap()
        };
        let cloned = score("cloned", "--set kept=2 --set fullness=0.6");
        assert!(cloned < 0.9, "{fs}: {cloned} with clones");
        let plain = score("plain", "--set kept=0 --set fullness=0.2");
        assert!(plain_score.contains(&plain), "{fs}: {plain} without");
        lab.nothing_left();
    }
}

#[test]
fn backups_can_be_snapshots() {
    needs!("btrfs");
    let lab = Lab::new();
    let aged = lab.json(
        "age --workload cloned --rounds 4 --every 4 --set file_bytes=4194304 --set fullness=0.6 --set kept=2 --set snapshots=true \
         --fs btrfs --size 256MiB --mkfs-opts=--mixed --name s --work work",
    );
    assert_eq!((&aged["workload"], &aged["checker_clean"]), (&"cloned".into(), &true.into()));
    let pair = &aged["pairs"][0];
    let files = |side: &str| pair[side]["files"].as_f64().unwrap();
    assert_eq!((files("aged"), files("unaged")), (12.0, 12.0), "the copy has no snapshots");
    let measured = |measure: &str| pair["aged"][measure].as_f64().unwrap();
    assert!(
        measured("scan_read_bytes") < 1.5 * measured("scan_allocated_bytes"),
        "no snapshot is read: {pair}"
    );
    let image = lab.list(&lab.work().join("s.img"));
    let there = |number: u64| {
        let dir = format!(".senesce-snapshots/s{number}/");
        image.iter().filter(|(path, size)| path.starts_with(&dir) && *size == 4 << 20).count()
    };
    assert_eq!([1, 2, 3, 4].map(there), [0, 0, 12, 12], "files in the snapshots of each round");
    lab.nothing_left();
}

#[test]
fn snapshots_are_refused_where_there_are_none() {
    needs!("ext4");
    let lab = Lab::new();
    let age = "age --workload cloned --rounds 2 --set file_bytes=1048576 --set snapshots=true --fs ext4 --size 64MiB";
    let output = lab.try_run(&format!("{age} --name s --work work"));
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("ext4 has no snapshots"), "{said}");
    lab.nothing_left();
}

#[test]
fn clones_are_refused_where_files_cannot_share_blocks() {
    needs!("ext4");
    let lab = Lab::new();
    let age = "age --workload cloned --rounds 2 --set file_bytes=1048576 --fs ext4 --size 64MiB";
    let output = lab.try_run(&format!("{age} --name c --work work"));
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("files cannot share blocks: use XFS, Btrfs"), "{said}");
    lab.json(&format!("{age} --set kept=0 --name plain --work work"));
    lab.nothing_left();
}

#[test]
fn mount_option_that_most_kernels_lack_is_explained() {
    needs!("btrfs");
    let lab = Lab::new();
    let output =
        lab.try_run("age --fs btrfs --size 128MiB --mount-opts fragment=all --overwrites 1 --work work");
    let said = text(&output.stderr);
    if !output.status.success() {
        assert!(said.contains("fragment=all needs a kernel built with CONFIG_BTRFS_DEBUG"), "{said}");
    }
    lab.nothing_left();
}

#[test]
fn profile_is_measured_on_the_way_and_resumes() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --profile pramod --fullness 0.5 --every 50 --fs ext4 --size 128MiB --name p --work work";
    lab.stopped(line, "round 100, aging").kill();
    lab.clean_up();
    let aged = lab.json(&format!("{line} --resume"));
    let pairs = aged["pairs"].as_array().unwrap();
    let rounds: Vec<u64> = pairs.iter().map(|pair| pair["round"].as_u64().unwrap()).collect();
    assert_eq!(rounds, [50, 50, 100, 100], "two disks per round");
    assert!(pairs.iter().all(|pair| pair["aging_ratio"].as_f64().unwrap() > 0.0), "{pairs:?}");
    assert_eq!(
        (&aged["profile"], &aged["errors"], &aged["checker_clean"]),
        (&"pramod".into(), &0.into(), &true.into())
    );
    assert_eq!(pairs[3]["aged"]["files"].as_f64(), aged["live_files"].as_f64());
    let planned = lab.json(&line.replace("--every 50", "--plan-only"));
    assert_eq!(planned["trace_sha256"], aged["trace_sha256"]);
    lab.run("report --work work -o page.html");
    assert!(std::fs::read_to_string(lab.path().join("page.html")).unwrap().contains("ext4 aged by pramod"));
    lab.nothing_left();
}

#[test]
fn workload_ages_a_device_only_with_erase() {
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
        assert!(pair["wall_aging_ratio"].is_null(), "the copy is on another disk: {pair}");
    }
    let compared = lab.json("compare d --work work --repeat 1 --no-new-file --disk ssd-sata");
    let pair = &compared["pairs"][0];
    assert_eq!((&pair["aged"]["disk"], &pair["modelled_disk"]), (&"device".into(), &"ssd-sata".into()));
    assert!(pair["aged"]["modelled_s_per_gib"].as_f64() < pair["aged"]["modelled_hdd_s_per_gib"].as_f64());
    assert_eq!(device.files(&lab), 60);
}

#[test]
fn invalid_repositories_and_workload_values_are_refused() {
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
    lab.refused(&format!("age --git single {line}"), "fewer than two commits");
    git(&single, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    lab.refused(&format!("age --git single --pulls 3 {line}"), "not enough for 3 pulls");
    lab.refused(&format!("age --interfile 101 {line}"), "101");
    lab.refused(&format!("age --mail --days 1 --users 0 {line}"), "users");
    lab.refused(&format!("age --git --mail {line}"), "--mail");
    lab.refused(&format!("age --pulls 3 {line}"), "--git");
}

#[test]
fn options_of_other_workloads_are_refused() {
    let lab = Lab::new();
    for (line, why) in [
        ("--git --fullness 0.5", "--fullness"),
        ("--git --overwrites 2", "--overwrites"),
        ("--git --profile meyer", "--profile"),
        ("--git --method greedy", "--method"),
        ("--git --time 1min", "--time"),
        ("--git --fit 0.9", "--fit"),
        ("--git --threads 2", "--threads"),
        ("--git --data write", "--data"),
        ("--git --on-full stop", "--on-full"),
        ("--git --no-fill", "--no-fill"),
        ("--mail --plan-only", "--plan-only"),
        ("--mail --save-trace a.parquet", "--save-trace"),
        ("--git --gc auto", "--live"),
        ("--git --live --no-objects", "--no-objects"),
        ("--git --files 3", "--files"),
        ("--mail --files 3", "--files"),
        ("--mail --repo a", "--repo"),
        ("--intrafile --repo a", "--repo"),
        ("--interfile --live", "--live"),
        ("--intrafile --extracted", "--extracted"),
        ("--git --live --port 5000", "--port"),
        ("--mail --port 5000", "--live"),
        ("--git --days 3", "--days"),
        ("--intrafile --users 3", "--users"),
        ("--mail --pulls 3", "--pulls"),
        ("--mail --order full", "--order"),
        ("--mail --live --gc auto", "--gc"),
        ("--trace a.parquet --no-objects", "--no-objects"),
        ("--mail --live --port 0", "--port"),
        ("--git --rounds 3", "--rounds"),
        ("--git --repeat 3", "--every"),
        ("--trace a.parquet --live", "--live"),
        ("--snapshots a --live", "--live"),
        ("--snapshots a --repo b", "--repo"),
        ("--snapshots a --trace b", "--trace"),
        ("--snapshots nowhere", "nowhere"),
        ("--git --published", "--published"),
        ("--published", "--snapshots"),
        ("--trace a.parquet --short-lived builtin", "--short-lived"),
        ("--trace a.parquet", "a.parquet"),
        ("--interfile --files 1000000000", "1000000000 files"),
    ] {
        lab.refused(&format!("age {line} --size 100MiB --work work"), why);
    }
}

#[test]
fn resume_of_a_completed_aging_repeats_its_result() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --interfile 100 --files 80 --every 50 --repeat 2 --fs ext4 --size 100MiB --disk smr --name a --work work";
    let aged = lab.json(line);
    let disks: Vec<&str> =
        aged["pairs"].as_array().unwrap().iter().map(|pair| pair["disk"].as_str().unwrap()).collect();
    assert_eq!(disks, ["smr", "hdd-7200", "ssd-sata"].repeat(2), "the underlying disk must come first");
    assert_eq!(lab.json(&format!("{line} --resume")), aged);
    lab.refused(&format!("{line} --resume --seed 7"), "with other options");
    lab.refused(&line.replace("--repeat 2", "--repeat 3 --resume"), "with other options");
    lab.refused(line, "was already aged in work");
}

#[test]
fn files_that_do_not_fit_are_reported() {
    needs!("ext4");
    let lab = Lab::new();
    let failed = lab.try_run("age --filesize 1MiB --files 400 --fs ext4 --size 100MiB --name a --work work");
    assert!(text(&failed.stderr).contains("too small"), "{}", text(&failed.stderr));
    lab.nothing_left();
}

#[test]
fn live_and_extracted_are_measured_before_the_first_pull() {
    needs!("ext4");
    let lab = Lab::new();
    let experiment = r#"
        figure = "zero"
        title = "From nothing on"
        source = "a test"
        fs = ["ext4"]
        disks = ["hdd-7200"]
        round = { label = "pulls" }
        option = [
            { name = "live", workload = { live = true } },
            { name = "extracted" },
            { name = "extracted with objects", workload = { objects = true } },
        ]
        [scale.small]
        size_bytes = 104_857_600
        rounds = [0, 4]
        workload = { kind = "git" }
    "#;
    std::fs::write(lab.path().join("zero.toml"), experiment).unwrap();
    let outcome = lab.json("run zero.toml --work work");
    assert_eq!(outcome["failed"].as_array().unwrap().len(), 0, "{}", outcome["failed"]);
    let aged = |option: &str, round: u64| {
        let is =
            |at: &&serde_json::Value| at["option"] == option && at["round"] == round && at["side"] == "aged";
        outcome["checkpoints"]
            .as_array()
            .unwrap()
            .iter()
            .find(is)
            .expect("the checkpoint was measured")
            .clone()
    };
    assert_eq!(aged("extracted", 0)["files"], 0.0);
    for option in ["live", "extracted", "extracted with objects"] {
        assert!(aged(option, 0)["files"].as_f64() < aged(option, 4)["files"].as_f64(), "{option}");
    }
    lab.nothing_left();
}

#[test]
fn mail_server_on_a_full_disk_fails_alone() {
    needs!("ext4");
    if !has_dovecot() {
        return;
    }
    let lab = Lab::new();
    let experiment = r#"
        figure = "full"
        title = "One that is full and one that is not"
        source = "a test"
        fs = ["ext4"]
        disks = ["hdd-7200"]
        round = { label = "days" }
        option = [{ name = "full", mkfs_opts = "-N 64" }, { name = "roomy" }]
        [scale.small]
        size_bytes = 104_857_600
        rounds = [0]
        unaged = false
        workload = { kind = "mail", live = true, mail = { users = 1, mailboxes = 2, messages = 60 } }
    "#;
    std::fs::write(lab.path().join("full.toml"), experiment).unwrap();
    let output = lab.try_run("run full.toml --work work --json");
    assert_eq!(output.status.code(), Some(1), "a cell failed");
    let outcome = document("run", &output);
    let failed = outcome["failed"].as_array().unwrap();
    assert_eq!((failed.len(), &failed[0]["cell"]), (1, &"ext4, full".into()), "{failed:?}");
    assert_eq!(outcome["checkpoints"][0]["option"], "roomy");
    lab.nothing_left();
}

/// Starts the program in its own process group, and waits until `begun`.
fn start(lab: &Lab, line: &str, begun: impl Fn() -> bool) -> Running {
    let mut command = lab.command(line.split_whitespace());
    command.process_group(0);
    let mut running = lab.started(command);
    running.until("the start of the run", begun);
    running
}

#[test]
fn ctrl_c_interrupts_any_workload() {
    needs!("ext4");
    let aged = "age --intrafile --every 100 --fs ext4 --size 100MiB --name a --work work";
    for (before, line, begun) in [
        (aged, "compare a --work work --repeat 1000", "grep"),
        ("", "age --git --live --pulls 400 --fs ext4 --size 200MiB --name a --work work", "git"),
        (
            "",
            "age --intrafile --every 100 --repeat 1000 --fs ext4 --size 100MiB --name a --work work",
            "grep",
        ),
        ("", "age --mail --live --users 1 --fs ext4 --size 400MiB --name a --work work", "imap"),
    ] {
        if begun == "imap" && !has_dovecot() {
            continue;
        }
        let lab = Lab::new();
        if !before.is_empty() {
            lab.run(before);
        }
        // The preparation runs Git as well.
        let is_made = || lab.work().join("a.img").exists();
        let child = start(&lab, line, || is_made() && lab.runs(begun));
        kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait();
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains("interrupted; ") && err.contains("--resume"), "{line}: {err}");
        assert!(!err.contains("failed"), "{line}: {err}");
        lab.nothing_left();
    }
}

#[test]
fn cleanup_removes_what_a_killed_pull_left() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --git --live --pulls 400 --fs ext4 --size 200MiB --name a --work work";
    let has_scratch = || {
        std::fs::read_dir(lab.path().join("run")).is_ok_and(|run| {
            run.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("git-"))
        })
    };
    let child = start(&lab, line, || has_scratch() && lab.runs("git"));
    child.kill();
    lab.clean_up();
    let left: Vec<String> = lab.entries().into_iter().filter(|name| name.contains("senesce-git")).collect();
    assert!(left.is_empty(), "{left:?}");
}
