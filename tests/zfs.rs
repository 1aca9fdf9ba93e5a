//! Tests of OpenZFS in a virtual machine: age, kill, resume, compare, save.

use crate::common::{Lab, is_root, text};

mod soak {
    use crate::common::{Lab, child_named, wait_for_end};

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn a_pool_ages_goes_on_after_a_kill_is_compared_and_saved() {
        needs!("virtual machines");
        needs!("zfs");
        let lab = Lab::new();
        let age = "age --fs zfs --size 256MiB --overwrites 1 --name a --work work";
        let mut child = lab.start(age);
        let manifest = lab.work().join("a.json");
        child.until("the aging", || {
            std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("\"replaying\""))
        });
        let machine = child_named("qemu-system", &child);
        child.kill();
        if let Some(machine) = machine {
            wait_for_end(machine);
        }
        lab.clean_up();

        let aged = lab.json(&format!("{age} --resume"));
        assert_eq!(aged["errors"], 0, "the data must fit: {aged}");
        let compared = lab.json("compare a --work work --repeat 1");
        let pair = &compared["pairs"][0];
        assert_eq!(pair["fs"], "zfs");
        assert_eq!(pair["aged"]["files"], pair["unaged"]["files"]);
        for measure in ["layout_score", "free_extents"] {
            assert!(pair["aged"][measure].is_null(), "{measure} is not reported: {pair}");
        }
        let [aged, unaged] =
            ["aged", "unaged"].map(|side| pair[side]["dynamic_layout_score"].as_f64().unwrap());
        assert!(aged < unaged, "{pair}");
        assert!(pair["modelled_hdd_aging_ratio"].as_f64().unwrap() > 1.0, "{pair}");

        lab.run("image save a --work work");
        let checked = lab.json("image verify a --deep --scratch .");
        let checker = checked["deep"]["checker"].as_str().unwrap();
        assert!(checker.contains("zdb -e -p"), "{checked}");
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn snapshots_of_a_pool_are_taken_and_deleted() {
        needs!("virtual machines");
        needs!("zfs");
        let lab = Lab::new();
        let aged = lab.json(
            "age --workload cloned --rounds 4 --set kept=2 --set snapshots=true --set file_bytes=4194304 --set fullness=0.3 --fs zfs \
             --size 256MiB --name s --work work",
        );
        assert_eq!((&aged["workload"], &aged["checker_clean"]), (&"cloned".into(), &true.into()));
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn a_pool_on_a_modelled_disk_ages_and_is_compared() {
        needs!("virtual machines");
        needs!("zfs");
        let lab = Lab::new();
        lab.run("age --fs zfs --size 256MiB --overwrites 0.6 --disk hdd-7200 --name d --work work");
        let compared = lab.json("compare d --work work --repeat 1");
        assert!(compared["pairs"][0]["aged"]["dynamic_layout_score"].is_f64(), "{compared}");
        lab.nothing_left();
    }
}

#[test]
fn missing_zfs_is_named() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let empty = lab.path();
    let age = "age --fs zfs --size 256MiB --work work";
    let lacks = |variables: &[&str], expected: &str| {
        let mut command = lab.command(age.split(' '));
        command.envs(variables.iter().map(|name| (*name, empty)));
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
        assert!(said.lines().count() == 1 && !lab.work().exists(), "{said}");
    };
    if fs::can_mount(fs::find("zfs").unwrap()) {
        lacks(&["PATH"], "zpool is not on the PATH: `scripts/setup zfs` installs zfsutils-linux");
    } else {
        lacks(
            &["PATH", "XDG_CACHE_HOME"],
            "no kernel to boot in a virtual machine with zfs: `scripts/setup zfs` unpacks that of Debian",
        );
    }
}
