//! Tests of `senesce verify`: a real file system compared with the replayed one.

use crate::common::Lab;
use crate::snapshots::{Volume, fill};
use serde_json::Value;

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} in {value}"))
}

/// Verifies days of the synthetic workload and returns the result.
fn verified(lab: &Lab, days: usize, intervals: u32) -> Value {
    let outcome = lab.json(&format!(
        "verify --builtin --fs ext4 --size 160MiB --days {days} --intervals {intervals} --name v --work work"
    ));
    let last = days;
    let days = outcome["days"].as_array().unwrap();
    assert_eq!(days.len(), last + 1, "the fill and each day");
    for day in days {
        assert_eq!(number(day, "matched"), 1.0, "every file must exist with its size: {day}");
        assert_eq!(day["real_files"], day["replayed_files"], "{day}");
        assert!(number(day, "real_files") > 100.0 && number(day, "real_fullness") > 0.4, "{day}");
        assert!(number(&day["sizes"], "earth_mover_doublings") < 1e-9, "{day}");
        assert!(number(&day["free"], "kolmogorov_smirnov") <= 1.0, "{day}");
    }
    assert_ne!(days[0]["real_files"], days[last]["real_files"], "the days must differ");
    let mean: f64 =
        days.iter().map(|day| (number(day, "real_score") - number(day, "replayed_score")).abs()).sum::<f64>()
            / days.len() as f64;
    assert!((number(&outcome, "mean_abs_difference") - mean).abs() < 1e-9);
    assert_eq!(outcome["real_final"], days[last]["real_score"]);
    assert_eq!(outcome["replayed_final"], days[last]["replayed_score"]);
    assert!(outcome["by_size"].as_array().unwrap().len() > 5);
    let left: Vec<String> = lab.entries().into_iter().filter(|path| path.ends_with(".img")).collect();
    assert!(left.is_empty(), "the file systems must be removed: {left:?}");
    lab.nothing_left();
    lab.run("report --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("Layout score by day") && page.contains("Layout score by size of the files"));
    outcome
}

#[test]
fn replayed_days_match_the_real_ones() {
    needs!("ext4");
    verified(&Lab::new(), 1, 20);
}

#[test]
fn snapshots_of_different_histories_are_refused() {
    needs!("ext4");
    let lab = Lab::new();
    let (volume, other) = (Volume::new("ext4"), Volume::new("ext4"));
    fill(&volume.dir);
    let shown = volume.dir.display();
    lab.run(&format!("snapshot take {shown} a.parquet"));
    for n in 0..40 {
        std::fs::write(volume.dir.join(format!("n{n}")), vec![1; 5000 * n]).unwrap();
    }
    lab.run(&format!("snapshot take {shown} b.parquet"));
    lab.run(&format!("snapshot take {} c.parquet", other.dir.display()));
    let free = lab.run(&format!("probe free-space {shown} --json"));
    std::fs::write(lab.path().join("b.free.json"), free).unwrap();

    let same = lab.json("verify a.parquet b.parquet --against a.parquet b.parquet --work work");
    assert_eq!((number(&same, "mean_abs_difference"), same["days"].as_array().unwrap().len()), (0.0, 2));
    assert_eq!(same["days"][0]["free"], Value::Null, "no free space was recorded");
    assert!(number(&same["days"][1]["free"], "earth_mover_doublings") < 1e-9);
    let kept = lab.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    // Ordered by time, not by name; a file next to a snapshot is not a snapshot.
    for (from, to) in [("a.parquet", "2.parquet"), ("b.parquet", "1.parquet"), ("b.free.json", "1.free.json")]
    {
        std::fs::copy(lab.path().join(from), kept.join(to)).unwrap();
    }
    assert_eq!(lab.json("verify kept --against kept --work work")["days"], same["days"]);
    lab.refused("snapshot stat /dev/zero", "it is a character device, not a regular file");
    lab.refused("verify a.parquet --against c.parquet --work work", "do not share a history");
    lab.refused("verify a.parquet --against b.parquet --work work", "do not share a history");
    lab.refused("verify a.parquet b.parquet --against a.parquet --work work", "one of each per checkpoint");
    lab.refused(
        "verify b.parquet a.parquet --against a.parquet b.parquet --work work",
        "give the older one first",
    );
    lab.refused("verify nowhere.parquet --against a.parquet --work work", "nowhere.parquet");
    lab.refused("verify --work work", "required");
    std::fs::write(lab.path().join("b.free.json"), "{").unwrap();
    lab.refused("verify b.parquet --against b.parquet --work work", "probe free-space");
    std::fs::remove_file(lab.path().join("b.free.json")).unwrap();

    let replayed = lab.json("verify a.parquet b.parquet --fs ext4 --size 400MiB --work work");
    assert_eq!(number(&replayed["days"][1], "matched"), 1.0, "{replayed:#}");
    assert!(number(&replayed, "mean_abs_difference") < 0.03, "{replayed:#}");
    lab.nothing_left();
}

#[test]
fn interrupted_verification_leaves_nothing_behind() {
    needs!("ext4");
    let lab = Lab::new();
    let running =
        lab.stopped("verify --builtin --size 400MiB --name v --work work", "the real file system@5");
    assert!(lab.work().join("v.real.img").exists());
    let (said, _) = lab.interrupts(running);
    assert!(said.iter().any(|line| line.contains("start again")), "{said:#?}");
    assert!(!lab.work().join("v.real.img").exists(), "the partly aged file system must be removed");
}

mod soak {
    use super::{Lab, number, verified};

    #[test]
    #[ignore = "soak: how close the scores come is statistical"]
    fn the_scores_of_the_days_come_close() {
        needs!("ext4");
        let outcome = verified(&Lab::new(), 3, 160);
        assert!(number(&outcome, "mean_abs_difference") <= 0.03, "{outcome:#}");
    }
}
