//! ZFS by zfs-fuse: aged, killed, resumed, compared.

use crate::common::{Lab, child_named, is_there, signal, text, until};
use rustix::process::Signal;
use std::process::Stdio;

#[test]
fn a_pool_ages_goes_on_after_a_kill_and_is_compared() {
    needs!("zfs");
    let lab = Lab::new();
    let age = "age --fs zfs --size 192MiB --overwrites 3 --name a --work work";
    let mut child = lab.command(age.split_whitespace()).stderr(Stdio::null()).spawn().unwrap();
    let manifest = lab.work().join("a.json");
    until("the aging", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("\"replaying\""))
    });
    let daemon = child_named("zfs-fuse", &child).expect("a daemon of its own");
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    until("the end of the daemon", || !is_there(daemon));
    lab.clean_up();

    let aged = lab.json(&format!("{age} --resume"));
    assert_eq!(aged["errors"], 0, "{aged}");
    let compared = lab.json("compare a --work work --repeat 1");
    let pair = &compared["pairs"][0];
    assert_eq!(pair["fs"], "zfs");
    assert_eq!(pair["aged"]["files"], pair["unaged"]["files"]);
    for measure in ["layout_score", "free_extents"] {
        assert!(pair["aged"][measure].is_null(), "nothing tells {measure}: {pair}");
    }
    let [aged, unaged] = ["aged", "unaged"].map(|side| pair[side]["dynamic_layout_score"].as_f64().unwrap());
    assert!(aged < 1.0 && unaged < 1.0, "{pair}");
    // So little and old a pool may be read faster aged: how much it aged is for a user to find out.
    assert!(pair["modelled_hdd_aging_ratio"].as_f64().unwrap() > 0.0, "{pair}");
    lab.nothing_left();
}

#[test]
fn a_pool_on_a_modelled_disk_ages_and_is_compared() {
    needs!("zfs");
    let lab = Lab::new();
    lab.run("age --fs zfs --size 192MiB --overwrites 1.5 --disk hdd-7200 --name d --work work");
    let compared = lab.json("compare d --work work --repeat 1");
    assert!(compared["pairs"][0]["aged"]["dynamic_layout_score"].is_f64(), "{compared}");
    lab.nothing_left();
}

#[test]
fn what_zfs_lacks_is_named() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
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
