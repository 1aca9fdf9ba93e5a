//! Probes of a betreefs on an image, a modelled disk and a device, and their messages where FUSE reports no extents.

use crate::betreefs::{Mounted, has_fuse};
use crate::common::{Lab, LoopDevice};
use serde_json::Value;

fn number(of: &Value, at: &str) -> f64 {
    of.pointer(at).and_then(Value::as_f64).unwrap_or_else(|| panic!("{at} in {of}"))
}

#[test]
fn modelled_disk_is_probed_and_unsupported_probes_are_refused() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    let tree = "--interfile 50 --files 1000 --name p --work work";
    lab.run(&format!("age --fs betreefs --size 128MiB --disk ssd-sata {tree}"));
    for probe in ["layout work/p.disk", "new-file work/p.disk", "scan work/p.disk --causes"] {
        lab.refused_with(&format!("probe {probe}"), "betreefs does not report file extents");
    }
    lab.refused_with("probe free-space work/p.disk", "betreefs does not report free extents");
    let scan = lab.json("probe scan work/p.disk --disk hdd-7200,ssd-sata");
    assert_eq!(scan["census"]["files"], 1000);
    assert!(number(&scan, "/scans/0/dynamic_layout/score") > 0.5);
    let cost = |disk: &str| number(&scan, &format!("/scans/0/modelled_s_per_gib/{disk}"));
    assert!(0.0 < cost("ssd-sata") && cost("ssd-sata") < cost("hdd-7200"), "{scan}");
    assert!(number(&scan, "/scans/0/disk_clock_s_per_gib") > 0.0);
    let hot = lab.json("probe hot-files work/p.disk --runs 1 --share 10%");
    assert!(hot.to_string().contains(r#""layout":null"#), "{hot}");
    // Created files are on the disk at the end of the measured time, so the rate cannot exceed the rate of the interface.
    let line = "probe sequential work/p.disk --runs 1 --sizes 256KiB --total 8MiB --disk hdd-7200";
    let rates = lab.json(line);
    let rate = |phase: &str| number(&rates, &format!("/sizes/0/{phase}/alone/modelled/mean"));
    assert!((1e6..150e6).contains(&rate("create")) && (1e6..150e6).contains(&rate("read")), "{rates}");
    let again = lab.json("probe scan work/p.disk");
    assert_eq!(again["census"]["files"], 1000, "the disk must be unchanged");
    lab.nothing_left();
}

#[test]
fn device_is_aged_compared_and_probed() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    let device = LoopDevice::new(&lab.path().join("disk.img"), 160 << 20);
    let dev = &device.0;
    let tree = "--interfile 100 --files 1000 --every 100 --name d --work work";
    lab.run(&format!("age --fs betreefs --size 128MiB --device {dev} --erase {dev} {tree}"));
    let compared = lab.json("compare d --work work --repeat 1");
    let pair = &compared["pairs"][0];
    assert!(number(pair, "/modelled_aging_ratio") > 0.0);
    assert!(pair["aging_ratio"].is_null(), "the sides are on different disks: {pair}");
    assert!(number(pair, "/aged/key_order_layout_score") > 0.0);
    assert!(pair["aged"]["layout_score"].is_null() && pair["aged"]["free_extents"].is_null(), "{pair}");
    let scan = lab.json(&format!("probe scan {dev}"));
    assert_eq!(scan["census"]["files"], 1000);
    assert!(lab.json(&format!("betreefs stat {dev}"))["levels"][0]["nodes"].as_u64().unwrap() > 1);
}

#[test]
fn probe_of_mounted_directory_reports_warm_server() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    lab.run("betreefs mkfs disk.img --size 64MiB");
    let mounted = Mounted::new(&lab, "disk.img", "");
    std::fs::write(lab.path().join("mnt/file"), vec![7; 100_000]).unwrap();
    let scan = lab.json("probe scan mnt");
    assert!(
        scan["cold"].to_string().contains("could not drop the cache of the process that serves it"),
        "{scan}"
    );
    assert!(scan["scans"][0]["dynamic_layout"].is_null(), "it is not on a block device: {scan}");
    lab.refused_with("probe layout mnt", "does not report file extents");
    mounted.unmount();
    lab.nothing_left();
}
