//! Experiments: their output, their stored results and their leftovers.

mod metadata;

use crate::common::{self, Lab, document, has_dovecot};
use serde_json::Value;

pub const EXPERIMENT: &str = r#"
figure = "small-one"
title = "Files that grow together"
source = "a test"
fs = ["FS"]
disks = ["hdd-7200", "ssd-sata"]
round = { label = "in turn", unit = "%" }

[scale.small]
size_bytes = 335_544_320
rounds = [0, 100]
pictures = [100]
workload = { kind = "intrafile", files = 4 }

[[plot]]
title = "Cost"
y = "modelled_s_per_gib"
axis = { label = "cost", unit = "s/GiB" }

[[claim]]
where = "nowhere"
states = "costs more"
measure = "modelled_s_per_gib"
disks = ["hdd-7200"]
over = [{ at = "first" }]
trend = { above = 1.0 }

[[claim]]
where = "nobody said so"
states = "is free"
measure = "modelled_s_per_gib"
disks = ["hdd-7200"]
trend = { below = 0.0 }
"#;

fn lab(fs: &str) -> Lab {
    let lab = Lab::new();
    std::fs::write(lab.path().join("one.toml"), EXPERIMENT.replace("FS", fs)).unwrap();
    lab
}

fn side<'v>(outcome: &'v Value, disk: &str, round: u64, side: &str) -> &'v Value {
    let checkpoints = outcome["checkpoints"].as_array().unwrap();
    let found = checkpoints.iter().find(|c| c["disk"] == disk && c["round"] == round && c["side"] == side);
    found.unwrap_or_else(|| panic!("{disk}, round {round}, {side}: {outcome}"))
}

#[test]
fn experiment_reports_measures_and_checks() {
    needs!("btrfs");
    let lab = lab("btrfs");
    let outcome = lab.json("run one.toml --work work");
    assert_eq!((&outcome["figure"], &outcome["scale"]), (&"small-one".into(), &"small".into()));
    for disk in ["hdd-7200", "ssd-sata"] {
        for round in [0, 100] {
            for of in ["aged", "unaged"] {
                let side = side(&outcome, disk, round, of);
                for measure in ["dynamic_layout_score", "scan_s_per_gib", "modelled_s_per_gib"] {
                    assert!(side[measure].as_f64().unwrap() > 0.0, "{measure}: {side}");
                }
            }
        }
    }
    let score = |round| side(&outcome, "hdd-7200", round, "aged")["dynamic_layout_score"].as_f64().unwrap();
    assert!(score(100) < score(0), "growing files together must fragment them");
    assert_eq!(outcome["pairs"].as_array().unwrap().len(), 4);
    assert!(outcome["pairs"][0]["aging_ratio"].as_f64().unwrap() > 0.0);
    assert_eq!(outcome["pictures"][0]["files"].as_array().unwrap().len(), 4);
    let verdicts: Vec<&Value> = outcome["claims"].as_array().unwrap().iter().map(|c| &c["verdict"]).collect();
    assert_eq!(verdicts, ["holds", "does_not_hold"], "{}", outcome["claims"]);
    lab.nothing_left();

    // Every printed measure can be plotted.
    let text = EXPERIMENT.replace("FS", "btrfs");
    let plots = side(&outcome, "hdd-7200", 100, "aged").as_object().unwrap().iter();
    let coordinates = ["fs", "disk", "option", "seed", "round", "side"];
    let plot =
        |name: &String| format!("[[plot]]\ntitle = \"it\"\ny = \"{name}\"\naxis = {{ label = \"it\" }}\n");
    let plots: String =
        plots.map(|(name, _)| name).filter(|name| !coordinates.contains(&name.as_str())).map(plot).collect();
    assert!(plots.contains("aging_ratio"), "{plots}");
    std::fs::write(lab.path().join("drawn.toml"), text + &plots).unwrap();
    let drawn = lab.json("run drawn.toml --work work --resume");
    assert_eq!(drawn["checkpoints"], outcome["checkpoints"], "plots must not change measurements");

    // Results in the store are not measured again, but checked and shown.
    let again = lab.json("run one.toml --work work --resume");
    assert_eq!(again["checkpoints"], outcome["checkpoints"]);
    let table = lab.run("run one.toml --work work --resume");
    assert!(table.contains("published") && table.contains("nobody said so"), "{table}");
    // A claim that held is refuted once the first round is that of the others.
    let refuted = EXPERIMENT.replace("FS", "btrfs").replace("rounds = [0, 100]", "rounds = [100]");
    std::fs::write(lab.path().join("refuted.toml"), refuted).unwrap();
    for (expected, status) in [(Some("small-one (nowhere): costs more"), 3), (None, 0)] {
        let output = lab.try_run("run refuted.toml --work work --resume");
        let said = common::text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(expected.is_none_or(|expected| said.contains(expected)), "{said}");
        assert!(common::text(&output.stdout).contains("does NOT hold"), "{}", common::text(&output.stdout));
    }
    let anew = lab.json("run one.toml --work work");
    assert_ne!(anew["checkpoints"], outcome["checkpoints"], "the run was not measured again");
    lab.run("report --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("small-one") && page.contains("nobody said so"));
}

#[test]
fn invalid_experiments_are_refused() {
    needs!("xfs");
    let lab = lab("xfs");
    let broken = |from: &str, to: &str| {
        let text = EXPERIMENT.replace("FS", "xfs");
        assert!(text.contains(from));
        std::fs::write(lab.path().join("broken.toml"), text.replace(from, to)).unwrap();
    };
    lab.refused("run none.toml --work work", "none.toml");
    lab.refused("run one.toml --scale huge --work work", "huge");
    lab.refused("reproduce fast17-fig99 --work work", "fast17-fig99");
    broken("files = 4", "sails = 4");
    lab.refused("run broken.toml --work work", "sails");
    broken("hdd-7200", "drum");
    lab.refused("run broken.toml --work work", "drum");
    broken("rounds = [0, 100]", "rounds = [100, 0]");
    lab.refused("run broken.toml --work work", "ascending");
    broken("y = \"modelled_s_per_gib\"", "y = \"modeled_s_per_gib\"");
    lab.refused("run broken.toml --work work", "unknown measure \"modeled_s_per_gib\"");
    broken("disks = [\"hdd-7200\"]", "disks = [\"hdd-72000\"]");
    lab.refused("run broken.toml --work work", "the disk \"hdd-72000\"");
    broken("{ at = \"first\" }", "{ at = 10 }");
    lab.refused("run broken.toml --work work", "at names round 10, which is not measured at scale small");
    // An impossible round is reported before the preceding rounds run.
    broken("rounds = [0, 100]", "rounds = [0, 101]");
    lab.refused("run broken.toml --work work", "101");
    // No figure starts before all of them are validated.
    lab.refused("reproduce fast17-fig3 fast17-fig99 --work work", "fast17-fig99");
    lab.refused("reproduce fast17-fig5 fast17-fig1 --repo . --work work", "fast17-fig1 uses no repository");
    lab.refused("reproduce fast17-fig3 fast17-fig5 --repo . --work work", "fast17-fig3 uses no repository");
    lab.refused("reproduce fast17-fig1 fast17-fig3 --scale huge --work work", "huge");
    lab.refused("referee --pulls 99 --work work", "measured after 100");
    lab.refused("referee --fs ntfs --work work", "ext4, xfs, btrfs, f2fs, betreefs");
    lab.refused(
        "reproduce fast17-fig3 fast17-fig4 --fs nilfs2 --work work",
        "fast17-fig3 has no file system",
    );
    workload::git::sample::make(&lab.path().join("short"), 20, 1).unwrap();
    lab.refused("referee --fs xfs --repo short --skip 5 --pulls 100 --work work", "after the first 5");
}

const DISKS: &str = r#"
figure = "disks"
title = "Reads"
source = "a test"
disks = ["DISK"]
round = { label = "size", unit = "bytes" }

[scale.small]
size_bytes = 134_217_728
rounds = [4096, 65536, 1048576, 4194304]
workload = { kind = "transfer-size", reads = READS }

[[claim]]
where = "nowhere"
states = "is natural"
measure = "natural_50_bytes"
side = ""
published = [65_537, 4_194_304]
"#;

#[test]
fn natural_transfer_size_of_a_disk_depends_on_its_parameters() {
    needs!("ext4");
    let lab = Lab::new();
    let hdd = lab.run("disk show hdd-7200");
    assert!(hdd.contains("rpm = 7200.0"), "{hdd}");
    let mine = hdd.replace("name = \"hdd-7200\"", "name = \"mine\"");
    std::fs::write(lab.path().join("mine.toml"), &mine).unwrap();
    let text = DISKS.replace("DISK", "mine.toml").replace("READS", "30");
    std::fs::write(lab.path().join("disks.toml"), text).unwrap();
    let outcome = lab.json("run disks.toml --work work");
    for size in [4096, 4_194_304] {
        let at = side(&outcome, "mine", size, "");
        assert_eq!(at["natural_50_bytes"], 1_048_576.0, "{at}");
    }
    assert_eq!(outcome["claims"][0]["verdict"], "holds", "{}", outcome["claims"]);
    let again = lab.json("run disks.toml --work work --resume");
    assert_eq!(again["checkpoints"], outcome["checkpoints"]);
    // A disk with the same name but other parameters is measured again.
    std::fs::write(lab.path().join("mine.toml"), mine.replace("rpm = 7200.0", "rpm = 3600.0")).unwrap();
    let slow = lab.json("run disks.toml --work work --resume");
    let bandwidth =
        |outcome: &Value| side(outcome, "mine", 4096, "")["bandwidth_bytes_per_s"].as_f64().unwrap();
    assert!(bandwidth(&slow) < 0.9 * bandwidth(&outcome), "{slow}");
    lab.nothing_left();
}

#[test]
fn failed_disk_is_named_and_interrupted_cell_does_not_fail() {
    needs!("ext4");
    let lab = Lab::new();
    // The read size is invalid for every disk.
    let text = DISKS.replace("DISK", "hdd-7200\", \"ssd-sata").replace("READS", "30");
    let text = text.replace("rounds = [4096, 65536, 1048576, 4194304]", "rounds = [5000]");
    std::fs::write(lab.path().join("disks.toml"), text).unwrap();
    let output = lab.try_run("run disks.toml --work work --json");
    assert_eq!(output.status.code(), Some(1));
    let outcome = document("run", &output);
    let failed: Vec<&Value> = outcome["failed"].as_array().unwrap().iter().map(|f| &f["cell"]).collect();
    assert_eq!(failed, ["hdd-7200", "ssd-sata"]);
    let line = &outcome["claims"][0]["lines"][0];
    assert_eq!((&line["verdict"], &line["why"]), (&"cannot_be_told".into(), &"cell hdd-7200 failed".into()));

    let text = DISKS.replace("DISK", "hdd-7200").replace("READS", "1_000_000_000");
    std::fs::write(lab.path().join("disks.toml"), text.replace("rounds = [4096, ", "rounds = [")).unwrap();
    let (rest, _) = lab.interrupted("run disks.toml --work work", "reads of 3 sizes");
    assert!(rest.iter().any(|line| line.contains("interrupted; ")), "{rest:#?}");
    assert!(!rest.iter().any(|line| line.contains("failed")), "{rest:#?}");
}

#[test]
fn warm_scan_is_compared_with_cold_scan_of_its_round() {
    needs!("ext4");
    let lab = Lab::new();
    let text = EXPERIMENT
        .replace("FS", "ext4")
        .replace("rounds = [0, 100]", "rounds = [0]\nmemory_bytes = [268_435_456]")
        .replace("pictures = [100]", "");
    let write = |text: &str| std::fs::write(lab.path().join("one.toml"), text).unwrap();
    write(&text);
    let first = lab.json("run one.toml --work work");
    let warm = side(&first, "hdd-7200", 268_435_456, "aged");
    assert!(warm["cold_modelled_s_per_gib"].as_f64().unwrap() > 0.0, "{warm}");
    assert!(warm["share_of_cold_cost"].as_f64().unwrap() < 0.5, "{warm}");
    assert_eq!(first["checkpoints"].as_array().unwrap().len(), 4, "cold scans have no memory limit");
    assert_eq!(lab.json("run one.toml --work work --resume")["checkpoints"], first["checkpoints"]);
    write(&text.replace("rounds = [0]", "rounds = [100]"));
    let other = lab.json("run one.toml --work work --resume");
    assert_ne!(other["checkpoints"], first["checkpoints"], "warm scans of another round were reused");
    lab.nothing_left();
}

#[test]
fn what_memory_limits_do_not_count_is_said_once_for_each_cell() {
    needs!("btrfs");
    let lab = Lab::new();
    let text = EXPERIMENT
        .replace("FS", "btrfs")
        .replace(
            "rounds = [0, 100]",
            "rounds = [0]\nunaged = false\nmemory_bytes = [67_108_864, 268_435_456]",
        )
        .replace("pictures = [100]", "");
    std::fs::write(lab.path().join("one.toml"), text).unwrap();
    let output = lab.try_run("run one.toml --work work");
    let said = crate::common::text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let uncounted = fs::find("btrfs").unwrap().memory_limit_note();
    let times = said.matches("does not count metadata of Btrfs").count();
    assert_eq!(times, usize::from(uncounted.is_some()), "{said}");
    lab.nothing_left();
}

#[test]
fn finished_figures_are_printed_when_a_later_one_is_interrupted() {
    needs!("ext4");
    needs!("btrfs");
    needs!("xfs");
    let lab = Lab::new();
    let line = "reproduce fast17-fig1 fast17-fig4 --work work --json";
    let (_, output) = lab.interrupted(line, "== fast17-fig4");
    let done = document(line, &output);
    let figures: Vec<&Value> = done.as_array().unwrap().iter().map(|outcome| &outcome["figure"]).collect();
    assert_eq!(figures, ["fast17-fig1"]);
}

#[test]
fn failed_cell_is_named_and_others_continue() {
    needs!("ext4");
    let lab = Lab::new();
    // Only mkfs detects its unknown options.
    let text = EXPERIMENT.replace("FS", "ext4").replace(
        "[scale.small]",
        "[[option]]\nname = \"none\"\nmkfs_opts = \"--no-such-option\"\n\n[[option]]\nname = \"some\"\n\n[scale.small]",
    );
    std::fs::write(lab.path().join("one.toml"), text).unwrap();
    let output = lab.try_run("run one.toml --work work --json");
    assert_eq!(output.status.code(), Some(1));
    let outcome = document("run", &output);
    assert_eq!(outcome["failed"].as_array().unwrap().len(), 1);
    assert_eq!(outcome["failed"][0]["cell"], "ext4, none");
    assert!(outcome["checkpoints"].as_array().unwrap().iter().all(|c| c["option"] == "some"));
    assert_eq!(outcome["checkpoints"].as_array().unwrap().len(), 8);
    lab.nothing_left();
}

#[test]
fn interrupt_during_mail_workload_starts_no_further_cell() {
    needs!("ext4");
    let lab = Lab::new();
    let text = EXPERIMENT
        .replace("FS", "ext4")
        .replace(
            "kind = \"intrafile\", files = 4",
            "kind = \"mail\", live = true, mail = { operations = 1_000_000 }",
        )
        .replace("rounds = [0, 100]", "rounds = [1]")
        .replace("pictures = [100]", "")
        .replace("[scale.small]", "[[option]]\nname = \"a\"\n\n[[option]]\nname = \"b\"\n\n[scale.small]");
    std::fs::write(lab.path().join("one.toml"), text).unwrap();
    if !has_dovecot() {
        return;
    }
    // The workload does not finish. Dovecot starts a process named imap for each login.
    let mut running = lab.start("run one.toml --work work");
    running.until("mail that is served", || lab.runs("imap"));
    let (rest, _) = lab.interrupts(running);
    assert!(rest.iter().any(|line| line.contains("interrupted; ")), "{rest:#?}");
    assert!(!rest.iter().any(|line| line.contains("(2 of 2)") || line.contains("failed")), "{rest:#?}");
}

#[test]
fn snapshots_of_a_simulated_file_system_are_replayed_on_another() {
    let lab = Lab::new();
    let short = include_str!("../experiments/smith97-fig3.toml")
        .replace("size_bytes = 1_056_964_608", "size_bytes = 268_435_456");
    let begin = short.find("rounds = [").unwrap();
    let end = begin + short[begin..].find(']').unwrap();
    let rounds = short[begin..=end].to_owned();
    let short = short.replace(&rounds, "rounds = [1, 107, 215]");
    let short = short.replace("policy = \"baseline\", short_lived_scale = 12", "policy = \"original\"");
    std::fs::write(lab.path().join("replay.toml"), &short).unwrap();
    let outcome = lab.json("run replay.toml --work work --agings 1");
    let value_of = |option: &str, side: &str, round: u64, measure: &str| {
        let checkpoints = outcome["checkpoints"].as_array().unwrap();
        let is_at = |c: &&Value| c["option"] == option && c["side"] == side && c["round"] == round;
        checkpoints.iter().find(is_at).unwrap()[measure].as_f64().unwrap()
    };
    // Without files that are written at the same time, the snapshots lack little.
    let value = |side: &str, round: u64, measure: &str| value_of("alone", side, round, measure);
    for round in [1, 107, 215] {
        assert_eq!(value("real", round, "files"), value("replayed", round, "files"), "day {round}");
        let excess = value("replayed", round, "layout_score") - value("real", round, "layout_score");
        assert!((value("", round, "layout_score_excess") - excess).abs() < 1e-9);
        assert!(excess.abs() < 0.1, "{excess}");
    }
    assert!(value("", 215, "operations") > value("", 107, "operations"));
    let excess = |option| value_of(option, "", 215, "layout_score_excess");
    let (together, alone) = (excess("five files"), excess("alone"));
    assert!(together > 2.0 * alone, "{together} and {alone}");
    assert!(value("real", 215, "layout_score") < value("real", 1, "layout_score"));
    for (from, to, said) in [
        ("fs = [\"ffs\"]", "fs = [\"extents\"]", "cannot be replayed by cylinder group"),
        ("by = \"day\"", "days = 214", "no day 215"),
        ("concurrency = 5", "concurrency = 0", "concurrency"),
        ("by = \"day\"", "short_lived_scale = 0", "short_lived_scale"),
    ] {
        std::fs::write(lab.path().join("bad.toml"), short.replace(from, to)).unwrap();
        lab.refused("run bad.toml --work work", said);
    }
    lab.nothing_left();
}

#[test]
fn laboratory_reproduces_published_trends() {
    let lab = Lab::new();
    let small = include_str!("../experiments/smith97-fig6.toml").replace("placements = 10", "placements = 3");
    std::fs::write(lab.path().join("lab.toml"), &small).unwrap();
    let outcome = lab.json("run lab.toml --work work --agings 1");
    let at_104_kb = |name| {
        let checkpoints = outcome["checkpoints"].as_array().unwrap();
        let of = |c: &&Value| c["option"] == "no_switch" && c["round"] == 106_496 && c["side"] == name;
        checkpoints.iter().find(of).unwrap()["read_gain"].as_f64().unwrap()
    };
    // Published are 1.87 and 1.43.
    assert!((1.3..2.2).contains(&at_104_kb("unaged")), "{}", at_104_kb("unaged"));
    assert!((1.2..at_104_kb("unaged")).contains(&at_104_kb("aged")), "{}", at_104_kb("aged"));
    let claims = outcome["claims"].as_array().unwrap();
    let lines = claims.iter().flat_map(|claim| claim["lines"].as_array().unwrap());
    assert!(lines.clone().count() > 0 && lines.clone().all(|line| line["measured"] != ""), "{claims:#?}");
    let resumed = lab.json("run lab.toml --work work --resume --agings 1");
    assert_eq!(resumed["checkpoints"], outcome["checkpoints"]);
    let exported = lab.run("export --work work");
    let gains = exported.lines().filter(|row| row.contains(",hdd-1996,") && row.contains(",read_gain,"));
    assert_eq!(gains.count(), 40);
    lab.run("report --work work --output page.html");
    for (from, to, said) in [
        ("policy = \"baseline\"", "policy = \"worst_fit\"", "smart_frag"),
        ("fs = [\"ffs\"]", "fs = [\"ext4\"]", "extents"),
        ("by = \"file-size\"", "by = \"week\"", "configuration"),
        ("placements = 3", "placements = 0", "placements"),
        ("placements = 3", "fullness = 1.5", "fullness"),
        ("sides = [\"aged\"]", "sides = [\"old\"]", "unaged"),
    ] {
        std::fs::write(lab.path().join("bad.toml"), small.replace(from, to)).unwrap();
        lab.refused("run bad.toml --work work", said);
    }
    lab.nothing_left();
}
