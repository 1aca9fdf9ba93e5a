//! Tests of the probe commands for disks and caches.

use crate::betreefs::has_fuse;
use crate::common::{Lab, Mounted, document, text};
use std::path::PathBuf;
use std::process::Command;

/// Creates an ext4 image with files of 1 MiB.
fn image(lab: &Lab, files: usize) -> PathBuf {
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    for n in 0..files {
        std::fs::write(tree.join(format!("f{n}")), vec![b'x'; 1 << 20]).unwrap();
    }
    let image = lab.path().join("a.img");
    let made = Command::new("mkfs.ext4").args(["-q", "-d"]).arg(&tree).arg(&image).arg("96M").output();
    assert!(made.unwrap().status.success());
    std::fs::remove_dir_all(tree).unwrap();
    image
}

/// What a scan costs on a model without a cause.
fn without(causes: &serde_json::Value, cause: &str) -> f64 {
    let all = causes["without"].as_array().unwrap();
    let one =
        all.iter().find(|one| one["cause"] == cause).unwrap_or_else(|| panic!("no {cause} in {causes}"));
    one["total_s"].as_f64().unwrap()
}

/// The control groups of a process.
fn groups(pid: u32) -> String {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-name", &format!("senesce-{pid}-*")]).output();
    text(&found.unwrap().stdout)
}

#[test]
fn causes_of_the_cost_of_a_scan_are_told_apart() {
    let lab = Lab::new();
    for (fs, size) in [("ext4", "128MiB"), ("xfs", "320MiB"), ("btrfs", "320MiB")] {
        needs!(fs);
        lab.run(&format!("age --fs {fs} --size {size} --overwrites 2 --name {fs} --work work"));
        let image = lab.work().join(format!("{fs}.img"));
        let measured = lab.json(&format!("probe scan {} --causes --disk hdd-7200,ssd-nvme", image.display()));
        // On Btrfs this needs the addresses on the device, which are not those of its extent maps.
        let causes = &measured["causes"]["hdd-7200"];
        let (bytes, files) =
            (measured["census"]["bytes"].as_f64().unwrap(), causes["file_bytes"].as_f64().unwrap());
        assert!(
            (0.9..1.3).contains(&(files / bytes)),
            "{fs}: {bytes} bytes of files, {files} read: {causes}"
        );
        let cost = measured["scans"][0]["modelled_s_per_gib"]["hdd-7200"].as_f64().unwrap();
        let gib = causes["allocated_bytes"].as_f64().unwrap() / f64::from(1 << 30);
        let (total, least) = (causes["total_s"].as_f64().unwrap(), causes["least_s"].as_f64().unwrap());
        assert!((total / gib / cost - 1.0).abs() < 1e-9, "{fs}: {cost} s/GiB, {causes}");
        assert!(without(causes, "order") < 0.9 * total && least < 0.5 * total, "{fs}: {causes}");
        assert!(without(&measured["causes"]["ssd-nvme"], "die_collisions") > 0.0);
    }
    let printed = lab.run("probe scan work/ext4.img --causes");
    assert!(printed.contains("without fragmentation between files"), "{printed}");
    let pair = &lab.json("compare ext4 --work work --repeat 2 --no-new-file")["pairs"][0];
    for side in ["aged", "unaged"] {
        let value =
            |measure: &str| pair[side][measure].as_f64().unwrap_or_else(|| panic!("no {measure}: {pair}"));
        assert!(value("without_causes_s_per_gib") < value("without_metadata_s_per_gib"), "{pair}");
        assert!(value("without_metadata_s_per_gib") < value("all_causes_s_per_gib"), "{pair}");
        assert!(pair[side]["without_die_collisions_s_per_gib"].is_null(), "no dies: {pair}");
    }
    lab.nothing_left();
}

#[test]
fn aged_flash_is_a_cause() {
    needs!("ext4");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    lab.run("age --fs ext4 --size 64MiB --overwrites 1 --name a --work work --disk ssd-crucial-m4");
    lab.run("disk precondition work/a.disk aged");
    let causes = |line: &str| lab.json(line)["causes"].clone();
    let aged = causes("probe scan work/a.disk --causes --disk ssd-crucial-m4,ssd-sata --reader builtin");
    let on = &aged["ssd-crucial-m4"];
    assert!(without(on, "flash_order") < on["total_s"].as_f64().unwrap(), "{aged}");
    // The flash of another model is not that of the disk.
    let names: Vec<_> =
        aged["ssd-sata"]["without"].as_array().unwrap().iter().map(|one| &one["cause"]).collect();
    assert_eq!(names, ["pieces", "order", "metadata", "splitting", "die_collisions"]);
    let pair = &lab.json("compare a --work work --repeat 1 --no-new-file")["pairs"][0];
    let value =
        |measure: &str| pair["aged"][measure].as_f64().unwrap_or_else(|| panic!("no {measure}: {pair}"));
    assert!(value("without_flash_order_s_per_gib") < value("all_causes_s_per_gib"), "{pair}");
    lab.nothing_left();
}

#[test]
fn transfer_size_of_an_image_is_measured_without_writes() {
    needs!("ext4");
    let lab = Lab::new();
    let image = image(&lab, 1);
    let before = std::fs::read(&image).unwrap();
    let line = "probe transfer-size a.img --sizes 4KiB,64KiB,1MiB,1GiB --reads 5 --time 1h --seed 3";
    let measured = lab.json(line);
    let sizes: Vec<_> = measured["points"].as_array().unwrap().iter().map(|p| &p["read_bytes"]).collect();
    assert_eq!(sizes, [4096, 65536, 1 << 20], "sizes larger than the disk must be skipped");
    assert!(measured["points"].as_array().unwrap().iter().all(|p| p["reads"] == 5));
    let natural = |name: &str| measured[name].as_u64().unwrap();
    assert!(natural("natural_50_bytes") <= natural("natural_90_bytes"));
    assert!(measured["allocated_bytes"].as_u64() < measured["disk_bytes"].as_u64());
    assert!(lab.run(line).contains("natural transfer size"));
    assert!(std::fs::read(&image).unwrap() == before);
    lab.refused("probe transfer-size a.img --sizes 5000", "multiples of 4 KiB");
    lab.refused("probe transfer-size .", "not a block device or image");
    lab.refused("probe transfer-size nowhere", "nowhere");
}

#[test]
fn copy_of_a_mounted_xfs_is_probed() {
    needs!("xfs");
    let lab = Lab::new();
    let (original, copy) = (lab.path().join("a.img"), lab.path().join("b.img"));
    std::fs::File::create(&original).unwrap().set_len(320 << 20).unwrap();
    assert!(Command::new("mkfs.xfs").arg("-q").arg(&original).status().unwrap().success());
    std::fs::copy(&original, &copy).unwrap();
    let mounted = Mounted::new(&original, lab.path());
    assert_eq!(lab.json("probe layout b.img")["files"], 0);
    drop(mounted);
    lab.nothing_left();
}

#[test]
fn reads_are_priced_on_the_given_disks() {
    needs!("ext4");
    let lab = Lab::new();
    image(&lab, 8);
    let measured = lab.json("probe scan a.img --disk ssd-sata,hdd-7200");
    let cost = |disk: &str| measured["scans"][0]["modelled_s_per_gib"][disk].as_f64().unwrap();
    assert!(0.0 < cost("ssd-sata") && cost("ssd-sata") < cost("hdd-7200"), "{measured}");
    let layout = lab.json("probe layout a.img --disk hdd-7200");
    assert!(layout["modelled_s_per_gib"]["hdd-7200"].as_f64().unwrap() > 0.0, "{layout}");
    let curve = |disk: &str| {
        let line = format!("probe transfer-size a.img --sizes 4KiB,1MiB --reads 20 --disk {disk}");
        let measured = lab.json(&line);
        assert_eq!(measured["clock"], disk);
        measured["points"][0]["bytes_per_s"].as_f64().unwrap()
    };
    assert!(curve("ssd-nvme") > 10.0 * curve("hdd-7200"));
    lab.run("disk create d --size 32MiB --model hdd-7200");
    let own = lab.json("probe transfer-size d --sizes 4KiB --reads 5");
    assert_eq!(own["clock"], "hdd-7200");
    // A modelled disk uses the same model, so a single read has the cost of a priced read.
    assert!(own["points"][0]["bytes_per_s"].as_f64().unwrap() < 2e6, "{own}");
    lab.refused("probe scan a.img --disk drum", "no device model named");
    lab.nothing_left();
}

#[test]
fn write_amplification_compares_command_and_device_writes() {
    needs!("ext4");
    let lab = Lab::new();
    let image = image(&lab, 1);
    let dir = lab.path().join("mnt");
    std::fs::create_dir(&dir).unwrap();
    let mounted = Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&dir).status().unwrap();
    assert!(mounted.success());
    let mounted = Mounted::at(dir);
    let probe = ["probe", "write-amplification", "mnt", "--json", "--", "sh", "-c"];
    // The command's output is not part of the document, but its ten bytes count as written.
    let script = "head -c 4194304 /dev/urandom > mnt/new; echo 123456789";
    let output = lab.command(probe.iter().chain([&script])).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let measured = document("probe write-amplification", &output);
    assert_eq!(measured["changed_bytes"], (4 << 20) + 10);
    assert!(measured["written_bytes"].as_u64().unwrap() >= 4 << 20, "{measured}");
    assert!(text(&output.stderr).contains("123456789"));
    let failed = lab.try_run("probe write-amplification mnt -- false");
    assert!(failed.stdout.is_empty() && text(&failed.stderr).contains("running false: it ended with"));
    drop(mounted);
    lab.refused("probe write-amplification /proc -- true", "it is not on a block device");
    lab.refused("probe write-amplification nowhere -- true", "nowhere");
    lab.refused("probe write-amplification .", "COMMAND");
}

#[test]
fn what_a_memory_limit_does_not_count_is_said() {
    needs!("btrfs");
    let lab = Lab::new();
    let tree = lab.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("file"), "contents").unwrap();
    let image = lab.path().join("b.img");
    std::fs::File::create(&image).unwrap().set_len(128 << 20).unwrap();
    let made = Command::new("mkfs.btrfs").args(["-q", "--mixed", "-r"]).args([&tree, &image]).output();
    assert!(made.unwrap().status.success());
    let output = lab.try_run("probe warm-scan b.img --memory 16MiB --repeat 1");
    let err = text(&output.stderr);
    if err.contains("no memory controller") {
        return testing::skip("memory controller", err);
    }
    assert!(output.status.success(), "{err}");
    let uncounted = fs::find("btrfs").unwrap().memory_limit_note();
    assert_eq!(err.contains("does not count metadata of Btrfs"), uncounted.is_some(), "{err}");
    lab.nothing_left();
}

#[test]
fn warm_scans_reread_data_that_does_not_fit() {
    needs!("ext4");
    let lab = Lab::new();
    image(&lab, 48);
    let output = lab.try_run("probe warm-scan a.img --memory 16MiB,256MiB --repeat 2 --json");
    let err = text(&output.stderr);
    if err.contains("no memory controller") {
        return testing::skip("memory controller", err);
    }
    assert!(output.status.success(), "{err}");
    let measured = document("probe warm-scan", &output);
    let read = |limit: usize, scan: &str| {
        measured["limits"][limit].pointer(scan).unwrap()["device_read_bytes"].as_u64().unwrap()
    };
    for (limit, memory_bytes) in [16_u64 << 20, 256 << 20].into_iter().enumerate() {
        assert_eq!(measured["limits"][limit]["memory_bytes"], memory_bytes);
        assert_eq!(measured["limits"][limit]["warm"].as_array().unwrap().len(), 2);
        assert!(read(limit, "/cold") >= 48 << 20);
    }
    assert!(read(0, "/warm/1") > 24 << 20 && read(1, "/warm/1") < 1 << 20, "{measured}");
    assert!(measured["limits"][0]["cold"]["s_per_gib"].as_f64().unwrap() > 0.0);
    lab.nothing_left();

    // A killed probe leaves an empty group, which cleanup removes.
    let line = "probe warm-scan a.img --memory 16MiB --repeat 1000";
    let mut child = lab.start(line);
    let pid = child.id();
    child.until("a control group", || !groups(pid).is_empty());
    child.kill();
    lab.clean_up();
    assert_eq!(groups(pid).len(), 0);
    lab.refused("probe warm-scan a.img", "--memory");
    lab.refused("probe warm-scan nowhere --memory 64MiB", "nowhere");
}
