//! File systems that this kernel lacks, in a virtual machine: age, kill, resume, compare, interrupt, and refused commands.

use crate::common::{Lab, text};
use crate::experiments::EXPERIMENT;

const AGE: &str = "age --fs f2fs --size 128MiB --overwrites 1 --name a --work work";

#[test]
fn bcachefs_on_several_devices_is_refused() {
    let lab = Lab::new();
    let mut image = vec![0; 16 << 10];
    image[0x1018..0x1028]
        .copy_from_slice(b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef");
    image[0x107b] = 2;
    std::fs::write(lab.path().join("one.img"), image).unwrap();
    lab.refused("probe layout one.img", "one.img is one of 2 devices of a bcachefs file system");
}

#[test]
fn planning_needs_no_virtual_machine() {
    let lab = Lab::new();
    let planned = lab.json("age --fs f2fs --size 128MiB --overwrites 1 --plan-only");
    assert_eq!((&planned["fs"], &planned["errors"]), (&"f2fs".into(), &0.into()));
    assert!(planned["live_files"].as_u64().unwrap() > 100, "{planned}");
    assert_eq!(lab.entries(), Vec::<String>::new());
}

#[test]
fn missing_vm_kernel_is_named() {
    let lab = Lab::new();
    let empty = lab.path().to_str().unwrap();
    let lacks = |fs: &str, expected: &str| {
        let mut command = lab.command(AGE.replace("f2fs", fs).split(' '));
        let output = command.env("PATH", empty).env("XDG_CACHE_HOME", empty).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
        assert!(said.lines().count() == 1 && !lab.work().exists(), "{said}");
    };
    for fs in ["f2fs", "bcachefs"] {
        if !fs::can_mount(fs::find(fs).unwrap()) {
            let expected = format!("no kernel to boot in a virtual machine with {fs}: `scripts/setup vm`");
            lacks(fs, &expected);
        }
    }
    lab.refused(&format!("{AGE} --modules {empty}"), "--kernel");
}

/// Writes `grown.toml`, without unaged copies, which take long in an emulated machine.
fn write_experiment(lab: &Lab, fs: &str, options: &str) {
    let of_fs = EXPERIMENT.replace("\"FS\"", fs).replace("pictures = [100]", "unaged = false");
    let text = of_fs.replace("[scale.small]", &format!("{options}[scale.small]"));
    std::fs::write(lab.path().join("grown.toml"), text).unwrap();
}

#[test]
fn experiment_on_a_file_system_that_this_kernel_lacks() {
    needs!("virtual machines");
    needs!("f2fs");
    let lab = Lab::new();
    write_experiment(&lab, "\"ext4\", \"f2fs\"", "");
    let part = lab.json("run grown.toml --work work --fs f2fs");
    let file_systems = |outcome: &serde_json::Value| -> Vec<String> {
        let sides = outcome["checkpoints"].as_array().unwrap().iter();
        sides.map(|side| side["fs"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(file_systems(&part), ["f2fs"; 4], "{part}");
    assert_eq!(part["left_out"], serde_json::json!(["ext4"]));
    assert_eq!(part["claims"][0]["verdict"], "cannot_be_told", "{part}");
    lab.nothing_left();

    // What is in the store is not measured again.
    let mut rest = lab.command("run grown.toml --work work --resume --json".split(' '));
    let empty = lab.path().to_str().unwrap();
    if !fs::can_mount(fs::find("f2fs").unwrap()) {
        let output =
            lab.command("run grown.toml --work other".split(' ')).env("XDG_CACHE_HOME", empty).output();
        let said = text(&output.unwrap().stderr);
        assert!(said.contains("f2fs (this kernel does not support f2fs: no kernel to boot"), "{said}");
        assert!(said.contains("1 cell failed") && said.contains("leave it out with --fs"), "{said}");
    }
    let output = rest.output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && !said.contains("with another kernel"), "{said}");
    let whole: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(file_systems(&whole), [["ext4"; 4], ["f2fs"; 4]].concat(), "{whole}");
    assert!(whole["left_out"].is_null() && whole["failed"] == serde_json::json!([]), "{whole}");
    assert_eq!(whole["claims"][0]["verdict"], "holds", "{whole}");
    lab.nothing_left();
}

#[test]
fn results_of_a_virtual_machine_survive_a_cell_that_fails_there() {
    needs!("virtual machines");
    needs!("f2fs");
    let lab = Lab::new();
    let options = "[[option]]\nname = \"plain\"\n[[option]]\nname = \"wrong\"\nmkfs_opts = \"-O nothing\"\n";
    write_experiment(&lab, "\"f2fs\"", options);
    let output = lab.command("run grown.toml --work work --json".split(' ')).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("1 cell failed; the results of the others are stored: f2fs, wrong"), "{said}");
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let sides = outcome["checkpoints"].as_array().unwrap();
    assert!(sides.len() == 4 && sides.iter().all(|side| side["option"] == "plain"), "{outcome}");
    lab.nothing_left();
}

mod soak {
    use super::AGE;
    use crate::common::{Lab, child_named, has, text, wait_for_end};

    /// Whether F2FS needs a virtual machine here and one is available; prints a skip otherwise.
    fn works() -> bool {
        if fs::can_mount(fs::find("f2fs").unwrap()) {
            testing::skip("virtual machines", "this kernel has F2FS");
            return false;
        }
        has("virtual machines") && has("f2fs")
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn an_aging_that_was_killed_goes_on_and_is_compared() {
        if !works() {
            return;
        }
        let lab = Lab::new();
        let mut child = lab.start(AGE);
        let manifest = lab.work().join("a.json");
        child.until("the aging", || {
            std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("\"replaying\""))
        });
        let qemu = child_named("qemu-system", &child).expect("a virtual machine");
        child.kill();
        wait_for_end(qemu);
        lab.nothing_left();

        lab.run(&format!("{AGE} --resume"));
        let compared = lab.json("compare a --work work --repeat 1");
        let pair = &compared["pairs"][0];
        assert_eq!(pair["fs"], "f2fs");
        assert_ne!(pair["kernel"], rustix::system::uname().release().to_str().unwrap());
        for score in ["layout_score", "dynamic_layout_score"] {
            let [aged, unaged] = ["aged", "unaged"].map(|side| pair[side][score].as_f64().unwrap());
            assert!(aged < unaged, "{score} {aged} aged, {unaged} unaged");
        }
        assert_eq!(pair["aged"]["files"], pair["unaged"]["files"]);
        assert!(pair["aged"]["free_extents"].is_null(), "free extents are not reported: {pair}");
        assert!(pair["modelled_hdd_aging_ratio"].as_f64().unwrap() > 1.0, "{pair}");
        assert!(!lab.work().join("a.unaged.img").exists(), "the unaged copy must be removed");
        assert!(
            lab.run("export --work work").contains("dynamic_layout_score"),
            "results must be in the store of the host"
        );
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn what_frees_nothing_ages_while_all_that_is_written_fits() {
        if !works() {
            return;
        }
        needs!("nilfs2");
        let lab = Lab::new();
        let age = "age --fs nilfs2 --size 256MiB --fullness 0.2 --profile agrawal --name a --work work";
        lab.refused(&format!("{age} --overwrites 2"), "nilfs2 frees no space without its cleaner");
        let aged = lab.json(&format!("{age} --overwrites 0.45"));
        assert_eq!(aged["errors"], 0, "{aged}");
        let compared = lab.json("compare a --work work --repeat 1 --no-new-file");
        let pair = &compared["pairs"][0];
        let [aged, unaged] =
            ["aged", "unaged"].map(|side| pair[side]["dynamic_layout_score"].as_f64().unwrap());
        assert!(aged < unaged, "{pair}");
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn bcachefs_ages_is_compared_saved_and_restored() {
        needs!("virtual machines");
        needs!("bcachefs");
        let lab = Lab::new();
        let aged = lab.json("age --fs bcachefs --size 128MiB --overwrites 2 --name a --work work");
        assert_eq!(aged["errors"], 0, "the data must fit: {aged}");
        let compared = lab.json("compare a --work work --repeat 1");
        let pair = &compared["pairs"][0];
        assert_eq!(pair["fs"], "bcachefs");
        let both = |measure: &str| ["aged", "unaged"].map(|side| pair[side][measure].as_f64().unwrap());
        for score in ["layout_score", "scan_layout_score"] {
            let [aged, unaged] = both(score);
            assert!(aged < unaged, "{score} {aged} aged, {unaged} unaged");
        }
        assert_eq!(pair["aged"]["files"], pair["unaged"]["files"]);
        assert!(pair["aged"]["free_extents"].is_null(), "free extents are not reported: {pair}");
        assert!(pair["modelled_hdd_aging_ratio"].as_f64().unwrap() > 1.0, "{pair}");

        lab.run("image save a --work work");
        let checked = lab.json("image verify a --deep --scratch .");
        assert!(checked["deep"]["checker"].as_str().unwrap().contains("bcachefs fsck -n"), "{checked}");
        lab.run("image restore a --work restored");
        let layout = lab.json("probe layout restored/a.img");
        assert_eq!(layout["files"].as_f64(), pair["aged"]["files"].as_f64());
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn ext4_in_persistent_memory_ages_and_is_compared() {
        needs!("ext4-dax");
        let lab = Lab::new();
        let age = "age --fs ext4-dax --size 64MiB --overwrites 1 --name a --work work";
        lab.refused(&format!("{age} --disk hdd-7200"), "uses persistent memory: leave --disk out");
        let aged = lab.json(age);
        assert_eq!(aged["errors"], 0, "{aged}");
        let compared = lab.json("compare a --work work --repeat 1");
        let pair = &compared["pairs"][0];
        assert_eq!(pair["fs"], "ext4-dax");
        let both = |measure: &str| ["aged", "unaged"].map(|side| pair[side][measure].as_f64().unwrap());
        let [aged, unaged] = both("layout_score");
        assert!(aged < unaged, "{pair}");
        let [aged, unaged] = both("free_extents");
        assert!(aged > unaged, "{pair}");
        for measure in ["dynamic_layout_score", "modelled_hdd_s_per_gib"] {
            assert!(pair["aged"][measure].is_null(), "{measure} without requests: {pair}");
        }
        lab.run("report --work work -o report.html");
        let page = std::fs::read_to_string(lab.path().join("report.html")).unwrap();
        assert!(page.contains("dax=always"), "the report must show the mount options");
        // The image is a plain ext4 on the host, and this kernel can read it.
        let layout = lab.json("probe layout work/a.img");
        assert_eq!(layout["files"].as_f64(), pair["aged"]["files"].as_f64());
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn an_aged_file_system_is_saved_and_benchmarked() {
        if !works() {
            return;
        }
        let lab = Lab::new();
        lab.run(AGE);
        lab.run("image save a --work work");
        let checked = lab.json("image verify a --deep --scratch .");
        assert!(checked["deep"]["checker"].as_str().unwrap().contains("fsck.f2fs"), "{checked}");
        let bench = "bench varmail --on work/a.img --time 1s --scale 0.05 --repeat 1 --json";
        let output = lab.command(bench.split(' ')).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success() && said.contains("emulated by QEMU"), "{said}");
        let varmail: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let metadata = lab
            .json("bench metadata --on work/a.img --data-sets 2 --precreate 20 --iterations 10 --repeats 1");
        assert!(varmail["ratio"]["operations_per_s"]["median"].as_f64().unwrap() > 0.0, "{varmail}");
        assert_eq!(metadata["pairs"].as_array().unwrap().len(), 3, "{metadata}");
        lab.refused(
            "compare-layout work/a.img work/a.img",
            "this kernel does not support f2fs, and this command runs on this kernel only",
        );
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn modelled_disk_whose_files_are_the_hosts_ages_with_the_file_system() {
        if !works() {
            return;
        }
        let lab = Lab::new();
        lab.run(&format!("{AGE} --disk ssd-sata"));
        let compared = lab.json("compare a --work work --repeat 1 --no-new-file");
        let pair = &compared["pairs"][0];
        let [aged, unaged] =
            ["aged", "unaged"].map(|side| pair[side]["dynamic_layout_score"].as_f64().unwrap());
        assert!(aged < unaged, "{pair}");
        // The host reads what the machine wrote.
        let listed = lab.json("disk list work/a.disk");
        assert_eq!(listed["disk"]["size_bytes"].as_u64(), Some(128 << 20), "{listed}");
        lab.nothing_left();
    }

    /// The kernels unpacked by `scripts/setup vm`.
    fn kernels() -> Vec<String> {
        let roots = std::fs::read_dir(vm::kernels_dir()).into_iter().flatten().flatten();
        let boots = roots
            .flat_map(|root| std::fs::read_dir(root.path().join("boot")).into_iter().flatten().flatten());
        let images = boots.filter(|entry| entry.file_name().to_string_lossy().starts_with("vmlinuz-"));
        let mut images: Vec<String> = images.map(|entry| entry.path().display().to_string()).collect();
        images.sort();
        images
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn one_file_system_on_two_kernels_is_compared_side_by_side() {
        let kernels = kernels();
        needs!("virtual machines");
        needs!("ext4");
        if kernels.len() < 2 {
            return testing::skip(
                "virtual machines",
                "fewer than two kernels are unpacked (scripts/setup vm)",
            );
        }
        let lab = Lab::new();
        let line = format!(
            "compare --matrix fs=ext4 kernel={},{} --agings 1 --size 64MiB --overwrites 1 --repeat 1 --no-new-file --work work",
            kernels[0], kernels[1]
        );
        let compared = lab.json(&line);
        let pairs = compared["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), 2, "{compared}");
        assert_ne!(pairs[0]["kernel"], pairs[1]["kernel"]);
        assert_eq!(compared["matrix"]["facts"], serde_json::json!(["kernel"]));
        let files = |pair: &serde_json::Value| pair["aged"]["files"].as_f64().unwrap();
        assert!(
            files(&pairs[0]) > 0.0 && files(&pairs[0]) == files(&pairs[1]),
            "both kernels must have the same aging: {compared}"
        );
        for pair in pairs {
            assert!(pair["aged"]["dynamic_layout_score"].is_f64(), "{pair}");
        }
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn ctrl_c_ends_the_command_inside() {
        if !works() {
            return;
        }
        let lab = Lab::new();
        let mut running = lab.start(AGE);
        let manifest = lab.work().join("a.json");
        running.until("the aging", || {
            std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("\"replaying\""))
        });
        let (said, _) = lab.interrupts(running);
        assert!(
            said.iter().any(|line| line.starts_with("senesce: ") && line.contains("interrupted")),
            "{said:#?}"
        );
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn what_else_a_machine_lacks_is_named() {
        if !works() {
            return;
        }
        let lab = Lab::new();
        let empty = lab.path().to_str().unwrap();
        for (variable, value, expected) in [
            ("PATH", "/usr/sbin:/sbin", "qemu-system-x86_64 is not on the PATH: apt install qemu-system-x86"),
            ("XDG_CACHE_HOME", empty, "no kernel to boot in a virtual machine with f2fs: `scripts/setup vm`"),
            ("PATH", empty, "mkfs.f2fs is not on the PATH: apt install f2fs-tools"),
        ] {
            let output = lab.command(AGE.split_whitespace()).env(variable, value).output().unwrap();
            let said = text(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
            assert!(said.lines().count() == 1 && !lab.work().exists(), "{said}");
        }
        let bcachefs = AGE.replace("f2fs", "bcachefs");
        let output = lab.command(bcachefs.split(' ')).env("PATH", empty).output().unwrap();
        let said = text(&output.stderr);
        let expected = match vm::Kernel::find(&["bcachefs"]) {
            Ok(_) => "mkfs.bcachefs is not on the PATH: install bcachefs-tools from https://bcachefs.org",
            // A kernel with it is unpacked by `scripts/setup vm`, not for other tests.
            Err(_) => "no kernel to boot in a virtual machine with bcachefs: `scripts/setup vm`",
        };
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
        let kernel = std::env::current_exe().unwrap();
        lab.refused(&format!("{AGE} --kernel {}", kernel.display()), "it is not an x86 Linux kernel image");
    }
}
