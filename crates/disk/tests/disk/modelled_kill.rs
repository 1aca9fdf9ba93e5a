//! The state of a modelled disk after its user or its server was killed.

use crate::common::*;
use rustix::process::{Pid, Signal, kill_process};
use senesce_disk::modelled::ModelledDisk;
use senesce_disk::{LoopDevice, Mount, cleanup, isolate};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use testing::wait_until;

/// The environment variable with the store of the victim process.
const VICTIM: &str = "SENESCE_TEST_MODELLED_VICTIM";

#[test]
#[ignore = "run by the others, to be killed"]
fn victim() {
    let Some(store) = std::env::var_os(VICTIM) else { return };
    // The test harness has threads already: only the calling thread and its children move to the namespace.
    isolate().unwrap();
    let session = begin();
    let on = make_fs(&session, Path::new(&store), KINDS[0]);
    println!("mounted {}", on.mount.dir().display());
    for i in 0.. {
        // After the server was killed, a write fails sooner or later and never hangs.
        let path = on.mount.dir().join(format!("f{}", i % 1000));
        let written = std::fs::write(&path, vec![1; 100_000]).and_then(|()| File::open(&path)?.sync_all());
        if let Err(e) = written {
            println!("error {e}");
            break;
        }
        if i == 50 {
            println!("has written {i} files");
        }
    }
    drop(on);
    println!("taken down");
}

#[test]
#[ignore = "run by the others"]
fn cleans_up() {
    if is_started_by_another() {
        assert!(cleanup().unwrap().failed.is_empty());
    }
}

fn clean_up(dir: &Path) {
    assert!(itself("modelled_kill::cleans_up", &dir.join("run")).status().unwrap().success());
}

fn start_victim(store: &Path) -> (Child, impl Iterator<Item = String> + use<>) {
    let dir = store.parent().unwrap();
    let mut child = itself("modelled_kill::victim", &dir.join("run"))
        .env(VICTIM, store)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out.lines().map_while(Result::ok))
}

/// Starts a victim and waits until it has written for a while.
fn start_mounted_victim(store: &Path) -> (Child, impl Iterator<Item = String> + use<>) {
    let (child, mut lines) = start_victim(store);
    wait_for(&mut lines, "mounted");
    wait_for(&mut lines, "has written");
    (child, lines)
}

fn wait_for(lines: &mut impl Iterator<Item = String>, what: &str) {
    assert!(lines.any(|line| line.contains(what)), "the victim never said {what:?}");
}

#[test]
fn killing_the_user_leaves_nothing() {
    if !is_available() {
        return;
    }
    let dir = in_memory();
    let store = dir.path().join("store");
    let (mut child, _lines) = start_mounted_victim(&store);
    assert_eq!(servers(&store).len(), 1);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    wait_until("the end of the server", || servers(&store).is_empty());
    clean_up(dir.path());
    let session = begin();
    assert_eq!(left_behind(dir.path(), &store), None);
    // The file system was unmounted when the process died; it is clean and usable.
    let disk = ModelledDisk::attach(&session, &store).unwrap();
    let device = LoopDevice::attach(&session, disk.file(), 128).unwrap();
    assert!(is_clean("ext4", device.device()));
    device.detach().unwrap();
    disk.detach().unwrap();
}

#[test]
fn killing_the_server_causes_errors_and_no_hang() {
    if !is_available() {
        return;
    }
    let dir = in_memory();
    let store = dir.path().join("store");
    let (mut child, mut lines) = start_mounted_victim(&store);
    let server = servers(&store)[0];
    kill_process(Pid::from_raw(server as i32).unwrap(), Signal::KILL).unwrap();
    wait_for(&mut lines, "error");
    wait_for(&mut lines, "taken down");
    child.wait().unwrap();
    clean_up(dir.path());
    assert_eq!(left_behind(dir.path(), &store), None);
    // The data that the kernel had written is there: the journal recovers the file system.
    let session = begin();
    let disk = ModelledDisk::attach(&session, &store).unwrap();
    let device = LoopDevice::attach(&session, disk.file(), 128).unwrap();
    let mount = Mount::new(&session, device.device(), "ext4", &[]).unwrap();
    assert!(std::fs::read_dir(mount.dir()).unwrap().count() > 1);
    tear_down(OnDisk { mount, device, disk });
}
