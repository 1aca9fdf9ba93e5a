//! A replay stays within the limit of open files. The limit applies to a process, so the test runs in its own process.

use crate::common::{creates, dir};
use rustix::process::{Resource, Rlimit, setrlimit};
use senesce_replay::{Flow, Options, Replay, verify};
use trace::{DirId, Op, ROOT};

const LIMIT: u64 = 64;
const DEEP: u32 = 1_200;
const WIDE: u32 = 2_000;

#[test]
fn thousands_of_directories_need_few_descriptors() {
    testing::in_own_process(|| {
        let root = dir();
        setrlimit(Resource::Nofile, Rlimit { current: Some(32), maximum: Some(LIMIT) }).unwrap();
        // A chain with a path longer than one system call accepts, and a wide directory.
        let mut ops: Vec<Op> =
            (1..=DEEP).map(|dir| Op::Mkdir { dir: DirId(dir), parent: DirId(dir - 1) }).collect();
        ops.extend((1..=WIDE).map(|dir| Op::Mkdir { dir: DirId(DEEP + dir), parent: ROOT }));
        ops.extend(
            (1..=DEEP + WIDE)
                .flat_map(|dir| creates(dir.into(), 1, DirId(dir * 7919 % (DEEP + WIDE) + 1), 10)),
        );
        ops.extend((1..=DEEP + WIDE).flat_map(|dir| creates((1 << 20) + u64::from(dir), 1, DirId(dir), 10)));
        for threads in [1, 8] {
            let options = Options { threads, ..Options::default() };
            let mut replay = Replay::posix(root.path(), &options).unwrap();
            let mut most = 0;
            let mut watch = |_: &_| {
                most = most.max(std::fs::read_dir("/proc/self/fd").unwrap().count());
                Flow::Continue
            };
            let outcome = replay.run(&mut Vec::from(&ops[..]).into_iter(), None, &mut watch).unwrap();
            assert_eq!((outcome.operations as usize, replay.failures()), (ops.len(), [].as_slice()));
            // Several threads may have few open when they are counted.
            let least = if threads == 1 { 10 } else { 0 };
            assert!((least..LIMIT as usize).contains(&most), "{most} descriptors");
            let verified = verify(root.path(), 0).unwrap();
            assert_eq!(
                (verified.files, verified.mismatches),
                (2 * u64::from(DEEP + WIDE), 0),
                "{:?}",
                verified.first_mismatch
            );
            remove(root.path());
        }
    });
}

/// The standard library would open every directory on the path down.
fn remove(root: &std::path::Path) {
    let status = std::process::Command::new("find").arg(root).args(["-mindepth", "1", "-delete"]).status();
    assert!(status.unwrap().success());
}
