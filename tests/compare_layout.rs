//! `senesce compare-layout`: comparing the layout of two file systems.

use crate::common::{Lab, LoopDevice, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn age(lab: &Lab, fs: &str, size: &str, seed: u64, more: &str) {
    let line = format!("age --fs {fs} --size {size} --profile wang_os --seed {seed} --work work {more}");
    lab.run(&format!("{line} --name {fs}-{seed}"));
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    text(&output.stdout)[..64].to_owned()
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value}"))
}

#[test]
fn distance_is_zero_only_for_equal_layouts() {
    needs!("ext4");
    let lab = Lab::new();
    age(&lab, "ext4", "256MiB", 1, "--no-fill --fullness 0.6 --overwrites 1");
    age(&lab, "ext4", "256MiB", 2, "--no-fill --fullness 0.5 --overwrites 4");
    lab.run("image save ext4-1 --work work");
    let image = lab.work().join("ext4-1.img");
    let before = sha256(&image);
    let same = lab.json("compare-layout work/ext4-1 ext4-1 --new-file 16MiB --scratch .");
    for distance in ["free_extents", "free_bytes", "file_extents"] {
        assert_eq!(number(&same, &format!("/apart/{distance}/earth_mover_doublings")), 0.0);
        assert_eq!(number(&same, &format!("/apart/{distance}/kolmogorov_smirnov")), 0.0);
    }
    assert_eq!(
        (number(&same, "/apart/layout_score"), number(&same, "/apart/new_file_fragments")),
        (0.0, 1.0)
    );
    assert_eq!(number(&same, "/sides/0/new_file/bytes"), f64::from(16 << 20));
    assert!(number(&same, "/sides/0/new_file/fragments") > 1.0);
    // The results equal those of the probes.
    let free = lab.json(&format!("probe free-space {}", image.display()));
    assert_eq!(same["sides"][0]["free"], free);
    let layout = lab.json(&format!("probe layout {}", image.display()));
    assert_eq!(same["sides"][0]["layout"]["by_size"], layout["by_size"]);
    let extents = layout["extents_by_length"].as_array().unwrap();
    let counted: u64 = extents.iter().map(|bin| bin["extents"].as_u64().unwrap()).sum();
    assert_eq!(counted, layout["extents"], "no extent is longer than the last bin");

    let other = lab.json("compare-layout work/ext4-1 work/ext4-2 --no-new-file");
    assert!(number(&other, "/apart/free_bytes/earth_mover_doublings") > 0.1, "{}", other["apart"]);
    assert_eq!(other["sides"][0]["new_file"], Value::Null);
    let told = lab.run("compare-layout work/ext4-1.img work/ext4-2.img --new-file 8MiB --scratch .");
    assert!(told.contains("earth mover's") && told.contains("fragments of a new file"), "{told}");
    assert_eq!(sha256(&image), before, "the image was written to");
    lab.refused("compare-layout work work/ext4-1", "several aged file systems; name one, as in work/ext4-1");
    lab.refused("compare-layout nowhere work/ext4-1", "the saved image");
    lab.nothing_left();
}

#[test]
fn device_that_was_not_unmounted_is_only_read() {
    needs!("ext4");
    let lab = Lab::new();
    let file = lab.path().join("disk");
    let device = LoopDevice::new(&file, 128 << 20);
    assert!(Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status().unwrap().success());
    let dir = lab.path().join("mnt");
    std::fs::create_dir(&dir).unwrap();
    assert!(Command::new("mount").args([&device.0]).arg(&dir).status().unwrap().success());
    for n in 0..200 {
        std::fs::write(dir.join(format!("f{n}")), vec![1; 1000 * n]).unwrap();
    }
    let live = lab.json(&format!("compare-layout {0} {0}", dir.display()));
    assert_eq!(number(&live, "/sides/0/census/files"), 200.0);
    assert!(
        live["sides"][0]["not_measured"][0]
            .as_str()
            .unwrap()
            .contains("does not write to a file system in use")
    );
    lab.refused_with(&format!("compare-layout {} {}", device.0, dir.display()), "mounted");
    // The state after a power cut: a copy while the journal holds data that is not yet in its final location.
    assert!(Command::new("sync").arg("-f").arg(&dir).status().unwrap().success());
    let cut = lab.path().join("cut.img");
    std::fs::copy(&file, &cut).unwrap();
    assert!(Command::new("umount").arg(&dir).status().unwrap().success());
    let before = sha256(&cut);
    let other = LoopDevice(
        text(&Command::new("losetup").args(["--find", "--show"]).arg(&cut).output().unwrap().stdout)
            .trim()
            .to_owned(),
    );
    let seen = lab.json(&format!("compare-layout {} {} --new-file 8MiB --scratch .", other.0, device.0));
    assert_eq!(number(&seen, "/sides/0/new_file/bytes"), f64::from(8 << 20));
    drop(other);
    assert_eq!(sha256(&cut), before, "the journal must not be replayed");
}

#[test]
fn unsupported_measures_of_betreefs_are_reported() {
    needs!("betreefs");
    let lab = Lab::new();
    age(&lab, "betreefs", "128MiB", 1, "--overwrites 1");
    let seen = lab.json("compare-layout work work");
    assert_eq!((&seen["sides"][0]["layout"], &seen["apart"]["free_extents"]), (&Value::Null, &Value::Null));
    assert_eq!(seen["sides"][0]["not_measured"].as_array().unwrap().len(), 3);
    assert!(lab.run("compare-layout work work").contains("not measured"));
    lab.nothing_left();
}

mod soak {
    use super::{Lab, age, number, sha256};

    /// A new file on a copy without data has the same number of fragments as on the file system itself.
    #[test]
    #[ignore = "soak: when delayed data is written back is a matter of moments"]
    fn a_new_file_falls_into_the_same_pieces_on_the_copy() {
        for (fs, size) in [("ext4", "256MiB"), ("xfs", "320MiB"), ("btrfs", "256MiB")] {
            needs!(fs);
            let lab = Lab::new();
            age(&lab, fs, size, 1, "--fullness 0.6 --overwrites 1");
            let image = lab.work().join(format!("{fs}-1.img"));
            let before = sha256(&image);
            let told = lab.json("compare-layout work work --new-file 16MiB --scratch .");
            assert_eq!(sha256(&image), before, "the image was written to");
            let really = lab.json(&format!("probe new-file {} --size 16MiB", image.display()));
            println!("{fs}: {} on a copy, {} on itself", told["sides"][0]["new_file"], really);
            let (copied, itself) =
                (number(&told, "/sides/0/new_file/fragments"), number(&really, "/fragments"));
            // The time at which delayed data is written back varies.
            assert!((copied - itself).abs() <= 2.0 + itself * 0.1, "{fs}: {copied} and {itself}");
            assert_eq!(told["sides"][0]["new_file"]["fragments"], told["sides"][1]["new_file"]["fragments"]);
            lab.nothing_left();
        }
    }
}
