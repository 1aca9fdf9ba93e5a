//! Tests of ZFS with zfs-fuse: age, kill, resume, compare.

use crate::common::{Lab, is_root, text};

mod soak {
    use crate::common::{Lab, child_named, wait_for_end};

    #[test]
    #[ignore = "soak: a server that Debian's installation of the tests lacks"]
    fn a_pool_ages_goes_on_after_a_kill_and_is_compared() {
        needs!("zfs");
        let lab = Lab::new();
        let age = "age --fs zfs --size 192MiB --overwrites 3 --name a --work work";
        let child = lab.stopped(age, "aging@1");
        let daemon = child_named("zfs-fuse", &child).expect("a daemon of its own");
        child.kill();
        wait_for_end(daemon);
        lab.clean_up();

        let aged = lab.json(&format!("{age} --resume"));
        assert_eq!(aged["errors"], 0, "{aged}");
        let compared = lab.json("compare a --work work --repeat 1");
        let pair = &compared["pairs"][0];
        assert_eq!(pair["fs"], "zfs");
        assert_eq!(pair["aged"]["files"], pair["unaged"]["files"]);
        for measure in ["layout_score", "free_extents"] {
            assert!(pair["aged"][measure].is_null(), "{measure} is not reported: {pair}");
        }
        let [aged, unaged] =
            ["aged", "unaged"].map(|side| pair[side]["dynamic_layout_score"].as_f64().unwrap());
        assert!(aged < 1.0 && unaged < 1.0, "{pair}");
        // So small and young a pool may be read faster after aging, so the test does not check the ratio's size.
        assert!(pair["modelled_hdd_aging_ratio"].as_f64().unwrap() > 0.0, "{pair}");
        lab.nothing_left();
    }

    #[test]
    #[ignore = "soak: a server that Debian's installation of the tests lacks"]
    fn a_pool_on_a_modelled_disk_ages_and_is_compared() {
        needs!("zfs");
        let lab = Lab::new();
        lab.run("age --fs zfs --size 192MiB --overwrites 1.5 --disk hdd-7200 --name d --work work");
        let compared = lab.json("compare d --work work --repeat 1");
        assert!(compared["pairs"][0]["aged"]["dynamic_layout_score"].is_f64(), "{compared}");
        lab.nothing_left();
    }
}

#[test]
fn missing_zfs_fuse_is_named() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let output = lab
        .command("age --fs zfs --size 192MiB --work work".split(' '))
        .env("PATH", lab.path())
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("zfs-fuse is not on the PATH: apt install zfs-fuse"), "{said}");
    assert!(output.status.code() == Some(1) && !lab.work().exists(), "{said}");
}
