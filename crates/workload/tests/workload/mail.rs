//! The mail workload: its operations are valid, and agree with the files of a real server.

use rustix::process::{Pid, Signal, kill_process};
use senesce_workload::Error;
use senesce_workload::mail::{Event, Extracted, Live, Parameters, Plan};
use std::collections::{BTreeMap, HashMap};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use trace::{DirId, FileId, Op, Source, ValidatingSource};

/// Set for the child process of a test that kills it; the value is the directory for the mail.
const VICTIM: &str = "SENESCE_TEST_MAIL";

fn small() -> Parameters {
    Parameters { users: 2, mailboxes: 3, messages: 20, operations: 120, days: 3, ..Parameters::default() }
}

/// Sorted message sizes of each mailbox of each user.
type Sizes = BTreeMap<(u32, u32), Vec<u64>>;

/// The contents of the mailboxes at the end of each day according to the plan.
fn planned(plan: &Plan) -> Vec<Sizes> {
    let mut there: BTreeMap<(u32, u32), HashMap<u32, u64>> = BTreeMap::new();
    let mut days = Vec::new();
    for event in plan.script() {
        match event {
            Event::Create { user, mailbox } => drop(there.insert((user, mailbox), HashMap::new())),
            Event::Insert { user, mailbox, uid, size_bytes } => {
                there.get_mut(&(user, mailbox)).unwrap().insert(uid, size_bytes.into());
            }
            Event::Delete { user, mailbox, uid } => {
                there.get_mut(&(user, mailbox)).unwrap().remove(&uid).unwrap();
            }
            Event::DayEnds { .. } => {
                days.push(there.iter().map(|(&at, uids)| (at, sorted(uids.values().copied()))).collect());
            }
        }
    }
    days
}

fn sorted(sizes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    sizes
}

fn operations(plan: &Plan) -> Vec<Op> {
    let mut source = ValidatingSource::new(Extracted::new(plan));
    let mut batch = Vec::new();
    let mut all = Vec::new();
    loop {
        source.next_batch(&mut batch).expect("every operation is valid");
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

/// The contents of `cur` and `new` of each mailbox at each checkpoint of a trace.
fn extracted(ops: &[Op], parameters: &Parameters) -> Vec<Sizes> {
    // Directories per user: one for the user, three for the inbox, and four for each mailbox.
    let mailbox_of = |dir: DirId| {
        let per_user = 4 + 4 * parameters.mailboxes;
        let (user, within) = ((dir.0 - 1) / per_user, (dir.0 - 1) % per_user);
        match within.checked_sub(4) {
            Some(nth) if matches!(nth % 4, 1 | 2) => Some((user, nth / 4)),
            _ => None,
        }
    };
    let mut files: HashMap<FileId, (DirId, u64)> = HashMap::new();
    let mut days = Vec::new();
    for op in ops {
        match *op {
            Op::Create { file, parent, size, .. } => drop(files.insert(file, (parent, size))),
            Op::Rename { file, to_file, to_parent, .. } => {
                let (_, size) = files.remove(&file).unwrap();
                files.insert(to_file, (to_parent, size));
            }
            Op::Delete { file, .. } => drop(files.remove(&file)),
            Op::Checkpoint { number } => {
                assert_eq!(number, days.len() as u64);
                let mut sizes: Sizes = (0..parameters.users)
                    .flat_map(|user| (0..parameters.mailboxes).map(move |mailbox| ((user, mailbox), vec![])))
                    .collect();
                for &(parent, size) in files.values() {
                    if let Some(at) = mailbox_of(parent) {
                        sizes.get_mut(&at).unwrap().push(size);
                    }
                }
                sizes.values_mut().for_each(|sizes| sizes.sort_unstable());
                days.push(sizes);
            }
            _ => {}
        }
    }
    days
}

#[test]
fn extracted_matches_plan_after_every_day() {
    for parameters in
        [small(), Parameters { insert_share: 0.1, ..small() }, Parameters { messages: 0, ..small() }]
    {
        let plan = Plan::new(parameters, 42).unwrap();
        let days = extracted(&operations(&plan), &parameters);
        assert_eq!(days.len(), 4);
        assert_eq!(days, planned(&plan));
    }
}

#[test]
fn messages_are_synced_and_logs_rotated() {
    let parameters =
        Parameters { users: 1, mailboxes: 2, messages: 300, operations: 2000, days: 4, ..small() };
    let plan = Plan::new(parameters, 1).unwrap();
    let ops = operations(&plan);
    let count = |kind: &str| ops.iter().filter(|op| Op::KINDS[op.kind()] == kind).count() as u64;
    assert_eq!(count("mkdir"), 4 + 2 * 4);
    assert_eq!(count("checkpoint"), 5);
    assert!(count("fsync") > 3 * 600);
    assert!(count("link") > 8, "each log is rotated on a later day, the list's more often");
    let inserts = plan.script().filter(|event| matches!(event, Event::Insert { .. })).count() as u64;
    let messages =
        ops.iter().filter(|op| matches!(op, Op::Create { parent: DirId(8 | 12), .. })).count() as u64;
    assert_eq!(messages, inserts, "each message is written once, in tmp");
}

/// The contents of `cur` and `new` of each mailbox of a real server.
fn on_disk(root: &Path, parameters: &Parameters) -> Sizes {
    let each = |user| (0..parameters.mailboxes).map(move |mailbox| (user, mailbox));
    (0..parameters.users)
        .flat_map(each)
        .map(|(user, mailbox)| {
            let dir = root.join(format!("u{user}/.m{mailbox}"));
            let entries =
                ["cur", "new"].into_iter().flat_map(|part| std::fs::read_dir(dir.join(part)).unwrap());
            ((user, mailbox), sorted(entries.map(|entry| entry.unwrap().metadata().unwrap().len())))
        })
        .collect()
}

fn session() -> Arc<disk::Session> {
    disk::Session::begin().unwrap()
}

/// Starts a live run in a new directory; skips the test without a server.
fn begin(plan: &Plan, port: Option<u16>) -> Option<(tempfile::TempDir, Live)> {
    let dir = tempfile::tempdir().unwrap();
    match Live::begin(plan, &dir.path().join("mail"), port, &session()) {
        Err(Error::Disk(missing @ disk::Error::MissingTool { .. })) => {
            testing::skip("dovecot", missing);
            None
        }
        live => Some((dir, live.unwrap())),
    }
}

#[test]
fn live_matches_extracted_after_every_day() {
    testing::in_own_process(|| {
        let parameters = small();
        let plan = Plan::new(parameters, 7).unwrap();
        let Some((dir, mut live)) = begin(&plan, None) else { return };
        let days = extracted(&operations(&plan), &parameters);
        for (day, expected) in days.iter().enumerate() {
            live.run_day(day as u32).unwrap();
            if day == 1 {
                live.pause().unwrap();
                live.pause().unwrap();
            }
            assert_eq!(&on_disk(&dir.path().join("mail"), &parameters), expected, "day {day}");
            live.resume().unwrap();
        }
        let error = live.run_day(1).unwrap_err().to_string();
        assert!(error.contains("next day is 4"), "{error}");
        live.end().unwrap();
    });
}

/// Mounts a separate file system; skips the test without root or without a server.
fn mounted(plan: &Plan, size_bytes: u64) -> Option<(disk::Mount, disk::LoopDevice, tempfile::TempDir)> {
    if !testing::is_root() {
        return None;
    }
    let (dir, live) = begin(plan, None)?;
    drop(live);
    let session = session();
    let image = disk::Image::create(&dir.path().join("disk.img"), size_bytes).unwrap();
    let device = disk::LoopDevice::attach(&session, image.path(), 128).unwrap();
    let made =
        disk::run_tool(disk::command("mkfs.ext4").arg("-q").arg(device.device()), "e2fsprogs").unwrap();
    assert!(made.status.success());
    Some((disk::Mount::new(&session, device.device(), "ext4", &[]).unwrap(), device, dir))
}

#[test]
fn file_system_can_be_unmounted_between_days() {
    testing::in_own_process(|| {
        let parameters = Parameters { operations: 30, ..small() };
        let plan = Plan::new(parameters, 3).unwrap();
        let Some((mut mount, _device, _dir)) = mounted(&plan, 64 << 20) else { return };
        let root = mount.dir().join("mail");
        let mut live = Live::begin(&plan, &root, None, &session()).unwrap();
        for (day, expected) in planned(&plan).iter().enumerate() {
            live.run_day(day as u32).unwrap();
            live.pause().unwrap();
            mount.unmount().unwrap();
            mount.mount().unwrap();
            assert_eq!(&on_disk(&root, &parameters), expected, "day {day}");
        }
        live.end().unwrap();
    });
}

#[test]
fn full_file_system_is_reported() {
    testing::in_own_process(|| {
        let plan = Plan::new(Parameters { messages: 1000, ..small() }, 3).unwrap();
        let Some((mut mount, _device, _dir)) = mounted(&plan, 16 << 20) else { return };
        let mut live = Live::begin(&plan, &mount.dir().join("mail"), None, &session()).unwrap();
        let error = live.run_day(0).unwrap_err().to_string();
        assert!(
            error.contains("putting message") && error.contains("space") && !error.contains('\n'),
            "{error}"
        );
        drop(live);
        mount.unmount().unwrap();
    });
}

#[test]
fn unusable_port_or_directory_is_rejected() {
    testing::in_own_process(|| {
        let plan = Plan::new(small(), 7).unwrap();
        let Some((dir, live)) = begin(&plan, Some(0)) else { return };
        drop(live);
        let session = session();
        let refused = |root: &Path, port| {
            let error = Live::begin(&plan, root, port, &session).err().expect("the start fails").to_string();
            assert!(!error.contains('\n'), "{error}");
            error
        };
        let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = holder.local_addr().unwrap().port();
        let error = refused(&dir.path().join("new"), Some(port));
        assert!(error.contains(&format!("port {port}")) && error.contains("in use"), "{error}");
        std::fs::write(dir.path().join("new/file"), "").unwrap();
        assert!(refused(&dir.path().join("new"), None).contains("not empty"));
        assert!(refused(&dir.path().join("not/there"), None).contains("No such file"));
        assert!(refused(&dir.path().join("a name"), None).contains("letters"));
    });
}

/// Processes of a group that have not ended.
fn processes_of(group: Pid) -> Vec<String> {
    let group = group.as_raw_nonzero().to_string();
    let stats = std::fs::read_dir("/proc").unwrap();
    stats
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            // After the name in brackets: state, parent, group.
            let mut fields = stat.rsplit(')').next().unwrap().split_whitespace();
            fields.next() != Some("Z") && fields.nth(1) == Some(&group)
        })
        .collect()
}

/// The process number of the server's master, which Dovecot writes to its directory.
fn master(home: &Path) -> Option<Pid> {
    let number = std::fs::read_to_string(home.join("base/master.pid")).ok()?.trim().parse().ok()?;
    Pid::from_raw(number)
}

/// The child process of the next test, not a test: a run with many days.
#[test]
#[ignore = "run by another, to be ended"]
fn victim() {
    let Some(root) = std::env::var_os(VICTIM) else { return };
    disk::catch_interrupts();
    let endless = Parameters { operations: 100_000_000, ..small() };
    let plan = Plan::new(endless, 1).unwrap();
    let mut live = Live::begin(&plan, Path::new(&root), None, &session()).unwrap();
    live.run_day(0).unwrap();
    assert!(matches!(live.run_day(1), Err(Error::Interrupted)));
}

#[test]
fn interrupt_and_kill_leave_no_process() {
    testing::in_own_process(|| {
        let Some((dir, live)) = begin(&Plan::new(small(), 7).unwrap(), None) else { return };
        drop(live);
        for signal in [Signal::INT, Signal::KILL] {
            let root = dir.path().join(format!("signal{}", signal.as_raw()));
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "mail::victim", "--ignored"])
                .env(VICTIM, &root)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let home = disk::run_dir().join(format!("mail-{}-0", child.id()));
            // The index is written once its log has grown: on the first day, after the server has worked for
            // some time.
            testing::wait_until("an index", || {
                assert_eq!(child.try_wait().unwrap(), None, "the run has ended");
                root.join("u1/.m2/dovecot.index").exists()
            });
            let group = master(&home);
            kill_process(Pid::from_child(&child), signal).unwrap();
            let ended = child.wait().unwrap();
            let group = group.expect("the server was running");
            testing::wait_until(&format!("the end of the server after {signal:?}"), || {
                processes_of(group).is_empty()
            });
            assert_eq!((ended.success(), home.exists()), (signal == Signal::INT, signal == Signal::KILL));
            disk::cleanup().unwrap();
            assert!(!home.exists());
        }
    });
}
