//! Device models on the command line, and pricing a recorded scan on them.

use crate::common::{Lab, has, is_root};
use std::process::Command;

#[test]
fn models_are_listed_shown_and_checked() {
    let lab = Lab::new();
    let models = lab.json("disk models");
    let names: Vec<_> =
        models.as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "ideal",
            "hdd-7200",
            "hdd-1994",
            "hdd-1996",
            "hdd-wd20ears",
            "smr",
            "ssd-sata",
            "ssd-intel-320",
            "ssd-crucial-m4",
            "ssd-adata-s510",
            "ssd-nvme"
        ]
    );
    assert_eq!(lab.json("disk show hdd-7200")["hdd"]["rpm"], 7200.0);
    // The printed model can be modified and used.
    let text =
        lab.run("disk show hdd-7200").replace("rpm = 7200.0", "rpm = 5400").replace("hdd-7200", "slow");
    std::fs::write(lab.path().join("slow.toml"), &text).unwrap();
    assert_eq!(lab.json("disk check slow.toml")["name"], "slow");
    let best =
        |model: &str| lab.json(&format!("disk show {model} --curve"))["curve"]["best_bytes_per_s"].as_f64();
    assert!(best("slow.toml") <= best("hdd-7200"));
    std::fs::write(lab.path().join("zero.toml"), text.replace("rpm = 5400", "rpm = 0")).unwrap();
    lab.refused("disk check zero.toml", "zero.toml is not a device model: hdd.rpm is 0");
    lab.refused("disk show nothing", "no device model named \"nothing\"");
    lab.refused("disk price nothing.parquet --model ideal", "nothing.parquet");
    lab.refused("disk price zero.toml --model ideal", "zero.toml as a request log");
}

#[test]
fn recorded_scan_is_priced_like_the_probe() {
    let lab = Lab::new();
    if !is_root() || !has("ext4") {
        return;
    }
    if let Err(why) = probe::blocktrace::available() {
        return testing::skip("block tracepoints", why);
    }
    let image = lab.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    for name in 0..50 {
        std::fs::write(tree.join(name.to_string()), vec![b'x'; 100_000]).unwrap();
    }
    let made = Command::new("mkfs.ext4").arg("-q").arg("-d").arg(&tree).arg(&image).status();
    assert!(made.unwrap().success());
    let probed = lab.json("probe scan disk.img --save-log scan.parquet");
    let on = |model: &str| lab.json(&format!("disk price scan.parquet --model {model}"));
    let hdd = on("hdd-7200");
    assert_eq!(hdd["log"]["size_bytes"], 64 << 20);
    assert_eq!(hdd["priced"]["reads"]["requests"], probed["scans"][0]["dynamic_layout"]["requests"]);
    assert!(hdd["priced"]["reads"]["bytes"].as_u64().unwrap() >= 5_000_000);
    // The probe and the pricing of the log agree.
    let gib = probed["census"]["ext4_bytes"].as_f64().unwrap() / (1u64 << 30) as f64;
    let probed_s = probed["scans"][0]["modelled_s_per_gib"]["hdd-7200"].as_f64().unwrap() * gib;
    assert!((hdd["total_s"].as_f64().unwrap() / probed_s - 1.0).abs() < 1e-9, "{hdd} {probed}");
    assert_eq!(on("ideal")["total_s"], 0.0);
    assert!(on("ssd-nvme")["total_s"].as_f64() < on("ssd-sata")["total_s"].as_f64());
    assert!(on("ssd-sata")["total_s"].as_f64() < hdd["total_s"].as_f64());
}
