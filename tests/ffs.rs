//! `senesce ffs`.

use crate::common::Lab;

/// Writes a trace that creates 300 files of 9 KB, deletes every other one, and creates 100 files of 40 KB.
fn write_trace(lab: &Lab) {
    let mut lines = String::from("{\"op\":\"mkdir\",\"dir\":0,\"to_dir\":1}\n");
    for file in 0..300 {
        lines +=
            &format!("{{\"op\":\"create\",\"file\":{file},\"dir\":1,\"size\":9216,\"content\":\"auto\"}}\n");
    }
    for file in (0..300).step_by(2) {
        lines += &format!("{{\"op\":\"delete\",\"file\":{file},\"dir\":1}}\n");
    }
    lines += "{\"op\":\"checkpoint\",\"size\":1}\n";
    for file in 300..400 {
        lines +=
            &format!("{{\"op\":\"create\",\"file\":{file},\"dir\":1,\"size\":40960,\"content\":\"auto\"}}\n");
    }
    std::fs::write(lab.path().join("small.jsonl"), lines).unwrap();
}

#[test]
fn trace_is_allocated_by_several_policies() {
    let lab = Lab::new();
    write_trace(&lab);
    let smart = lab.json("ffs small.jsonl --policy smart_frag --size 64MiB");
    assert_eq!(
        (&smart["operations"], &smart["files"], &smart["no_space"]),
        (&552.into(), &250.into(), &0.into())
    );
    assert_eq!(smart["layout_score"], 1.0);
    assert_eq!(smart["split_files"], 0);
    assert!(smart["free_fragment_share"].as_f64().unwrap() > 0.0);
    assert!(smart["operations_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(smart["by_size"].as_array().unwrap().len(), 2);
    assert_eq!(smart["series"][0]["files"], 150);
    let both = lab.json("ffs small.jsonl --policy original,baseline --size 64MiB --disk hdd-7200");
    assert!(both[0]["layout_score"].as_f64() <= both[1]["layout_score"].as_f64());
    assert!(both[1]["layout_score"].as_f64() < smart["layout_score"].as_f64());
    assert!(both[0]["disk"]["scan_s_per_gib"].as_f64().unwrap() > 0.0);
    assert!(lab.run("ffs small.jsonl --fs extents --size 64MiB").contains("buddy_no_window"));
}

#[test]
fn invalid_simulations_are_refused() {
    let lab = Lab::new();
    write_trace(&lab);
    lab.refused("ffs small.jsonl --policy smart", "no policy smart on ffs; known: baseline");
    lab.refused("ffs small.jsonl --size 1MiB", "give another size");
    lab.refused("ffs small.jsonl --disk fast --sequential", "fast");
    std::fs::write(lab.path().join("wrong.jsonl"), "{\"op\":\"delete\",\"file\":1,\"dir\":0}\n").unwrap();
    lab.refused("ffs wrong.jsonl", "operation 0, delete f1 in d0, is impossible: no such file");
}
