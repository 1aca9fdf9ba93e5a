//! Processes as ranks: the results are those of threads, and killing one ends the run.

use crate::Recorder;
use ranks::{Group as _, ProcessRank, Processes, Timeouts};
use senesce_bench::metadata::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
#[ignore = "run by the others, as a rank"]
fn rank_process() {
    let (mut group, job) = ProcessRank::join().unwrap();
    let (settings, root): (Settings, PathBuf) = serde_json::from_slice(&job).unwrap();
    std::fs::write(root.with_extension(group.rank().to_string()), std::process::id().to_string()).unwrap();
    let mut files = Posix::new(&root);
    let _ = run(&settings, &mut group, &mut files, None, &|| false, &mut Recorder::default());
}

fn start(settings: &Settings, ranks: u32, root: &Path) -> Processes {
    let job = serde_json::to_vec(&(settings, root)).unwrap();
    let command = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["processes::rank_process", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .stdout(Stdio::null());
        command
    };
    Processes::start(ranks, command, &job).unwrap()
}

#[test]
fn processes_behave_like_threads() {
    let settings =
        Settings { data_sets: 3, precreate: 20, iterations: 10, repeats: 2, ..Settings::default() };
    for ranks in [1, 2, 4] {
        let dir = crate::dir();
        let root = dir.path().join("out");
        let mut told = Recorder::default();
        let mut group = start(&settings, ranks, &root);
        run(&settings, &mut group, &mut Posix::new(&root), None, &|| false, &mut told).unwrap();
        let all = u64::from(ranks) * 3;
        let seen: Vec<_> =
            told.0.iter().map(|o| (o.phase.name(), o.objects, o.errors, o.ranks.len())).collect();
        let (objects, ranks) = ([all * 20, all * 10, all * 10, all * 20], ranks as usize);
        let names = ["precreate", "benchmark", "benchmark", "cleanup"];
        let expected: Vec<_> =
            names.into_iter().zip(objects).map(|(name, of)| (name, of, 0, ranks)).collect();
        assert_eq!(seen, expected);
        assert!(!root.exists());
    }
}

#[test]
fn killed_rank_is_named_and_ends_the_run() {
    // The other ranks would run for hours; they are killed if they do not end by themselves.
    let settings = Settings { data_sets: 3, precreate: 1_000_000_000, ..Settings::default() };
    let dir = crate::dir();
    let root = dir.path().join("out");
    let mut group = start(&settings, 4, &root);
    group.timeouts = Timeouts { exit_status: Duration::from_secs(3600), exit: Duration::from_millis(50) };
    let victim = root.with_extension("2");
    let first = root.join("2_0/file-0");
    let killer = std::thread::spawn(move || {
        testing::wait_until("the first object of rank 2", || first.exists());
        let pid = std::fs::read_to_string(&victim).unwrap().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    let error = run(&settings, &mut group, &mut Posix::new(&root), None, &|| false, &mut Recorder::default())
        .unwrap_err();
    assert_eq!(error.to_string(), "rank 2: it was killed by signal 9");
    drop(group);
    killer.join().unwrap();
    for rank in [1, 3] {
        let pid = std::fs::read_to_string(root.with_extension(rank.to_string())).unwrap();
        assert!(!Path::new("/proc").join(pid).exists(), "rank {rank} is still running");
    }
}
