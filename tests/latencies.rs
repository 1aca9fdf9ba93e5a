//! Tests of the latencies that the metadata benchmark saves, and of their report.

use crate::common::Lab;

#[test]
fn every_latency_is_saved_and_the_report_shows_the_run() {
    let lab = Lab::new();
    let line = "bench metadata --root objects --ranks 2 --processes --data-sets 2 --precreate 20 --iterations 10 --repeats 2 \
                --work work --latencies all.parquet";
    let outcome = lab.json(line);
    let phases = outcome["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 4);
    for phase in phases {
        for (op, count) in phase["operations"].as_object().unwrap() {
            let bins = phase["latency_bins"][op].as_array().unwrap();
            let all: u64 = bins.iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
            assert_eq!(all, count["done"].as_u64().unwrap(), "{op}: {phase}");
        }
    }
    let kept = std::fs::read(lab.path().join("all.parquet")).unwrap();
    assert!(kept.starts_with(b"PAR1") && kept.ends_with(b"PAR1"));
    let names = std::fs::read_dir(lab.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        !names.into_iter().any(|name| name.to_string_lossy().contains("rank-")),
        "per-rank files must be removed"
    );

    lab.run("report posix --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    for title in ["Objects per second", "Latency over the time of each phase", "Latency histogram"] {
        assert!(page.contains(title), "{title}");
    }
    lab.refused("report other --work work -o page.html", "other");
}
