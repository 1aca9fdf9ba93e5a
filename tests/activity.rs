//! Recording, importing and showing the activity of short-lived files.

use crate::common::{Lab, LoopDevice, Mounted, Running, document, is_root, text};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, pidfd_getfd, pidfd_open};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// A running recording.
struct Recording {
    child: Running,
    said: Vec<String>,
}

impl Recording {
    fn begin(command: &mut Command) -> Recording {
        let mut child = Running::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| line.contains("Ctrl-C stops")) {
            said.push(lines.next().unwrap_or_else(|| panic!("the recording did not start: {said:?}")));
        }
        // Later messages are discarded, so that they do not block the recording.
        std::thread::spawn(move || lines.for_each(drop));
        Recording { child, said }
    }

    /// Waits until the recording has processed all events: its queues are empty, and it waits for more.
    fn catch_up(&mut self) {
        let pid = self.child.id();
        let server = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).unwrap();
        let waits = || {
            let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap();
            let number = call.split(' ').next().unwrap().parse::<i64>();
            number.is_ok_and(|number| POLLS.contains(&number))
        };
        let queues: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .filter(|fd| {
                std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("notify"))
            })
            .map(|fd| fd.file_name().to_string_lossy().parse().unwrap())
            .map(|fd: i32| pidfd_getfd(&server, fd, PidfdGetfdFlags::empty()).unwrap())
            .collect();
        assert!(!queues.is_empty(), "it watches by inotify or fanotify");
        let is_empty = || queues.iter().all(|queue| rustix::io::ioctl_fionread(queue).unwrap() == 0);
        self.child.until("all that it was told", || is_empty() && waits() && is_empty());
    }

    /// Interrupts the recording and returns its result.
    fn end(self) -> Value {
        self.child.signal(Signal::INT);
        let output = self.child.wait();
        assert!(output.status.success(), "{:?}", self.said);
        document("activity record", &output)
    }
}

/// The system call numbers for polling on x86-64 and 64-bit ARM.
const POLLS: &[i64] = if cfg!(target_arch = "x86_64") { &[7, 271] } else { &[73] };

fn record(lab: &Lab, tree: &Path, by: &str, to: &str) -> Recording {
    let tree = tree.to_str().unwrap();
    Recording::begin(&mut lab.command(["activity", "record", tree, to, "--by", by, "--for", "1h", "--json"]))
}

/// Creates short-lived and surviving files. Returns the number of the short-lived ones and their bytes.
fn burst(tree: &Path, files: u64, recordings: &mut [Recording]) -> (u64, u64) {
    let mut pause = || recordings.iter_mut().for_each(Recording::catch_up);
    let new = tree.join("new/deeper");
    fs::create_dir_all(&new).unwrap();
    pause();
    let dirs = [tree.to_owned(), tree.join("old"), new];
    let path = |number: u64| dirs[(number % 3) as usize].join(format!("f{number}"));
    let mut bytes = 0;
    for number in 0..files {
        bytes += 37 * number;
        fs::write(path(number), vec![1; 37 * number as usize]).unwrap();
    }
    // One file is renamed, one has a second name for a while, one is extended, one is replaced, and one existed before.
    fs::rename(path(3), tree.join("old/moved")).unwrap();
    fs::hard_link(path(4), tree.join("other-name")).unwrap();
    fs::OpenOptions::new().append(true).open(path(5)).unwrap().write_all(b"more").unwrap();
    fs::write(tree.join("replaced"), "12345").unwrap();
    fs::write(tree.join("replacing"), "stays").unwrap();
    fs::rename(tree.join("replacing"), tree.join("replaced")).unwrap();
    fs::rename(tree.join("new"), tree.join("renamed")).unwrap();
    fs::hard_link(tree.join("old/before"), tree.join("again")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.join("link")).unwrap();
    pause();
    fs::remove_file(tree.join("old/before")).unwrap();
    fs::remove_file(tree.join("again")).unwrap();
    fs::remove_file(tree.join("link")).unwrap();
    fs::remove_file(tree.join("old/moved")).unwrap();
    fs::remove_file(tree.join("other-name")).unwrap();
    for number in (0..files).filter(|number| *number != 3) {
        let path = path(number);
        fs::remove_file(if number % 3 == 2 { tree.join(format!("renamed/deeper/f{number}")) } else { path })
            .unwrap();
    }
    pause();
    (files + 1, bytes + 9)
}

fn check(found: &Value, (files, bytes): (u64, u64)) {
    assert_eq!(found["short_lived"], files, "{found:#}");
    assert_eq!(found["bytes"], bytes, "{found:#}");
    // Includes the surviving file.
    assert_eq!(found["created"], files + 1, "{found:#}");
    assert_eq!((&found["overflows"], &found["unwatched"]), (&Value::from(0), &Value::from(0)), "{found:#}");
    assert_eq!(found["profiles"], 3, "{found:#}");
}

fn tree(root: &Path) -> std::path::PathBuf {
    let tree = root.join("tree");
    fs::create_dir_all(tree.join("old")).unwrap();
    fs::write(tree.join("old/before"), "was here").unwrap();
    // Birth times have a resolution of seconds: new files must be born in a later second.
    let second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let born_s = second();
    testing::wait_until("the next second", || second() > born_s);
    tree
}

#[test]
fn both_watchers_see_every_short_lived_file_on_ext4() {
    needs!("ext4");
    let lab = Lab::new();
    let device = LoopDevice::new(&lab.path().join("image"), 64 << 20);
    let status = Command::new("mkfs.ext4").args(["-q", "-E", "nodiscard", &device.0]).status().unwrap();
    assert!(status.success());
    let root = lab.path().join("mounted");
    fs::create_dir(&root).unwrap();
    assert!(Command::new("mount").arg(&device.0).arg(&root).status().unwrap().success());
    let mounted = Mounted::at(root.clone());
    let tree = tree(&root);
    // Events outside the tree are on the same file system.
    let mut both = [record(&lab, &tree, "fanotify", "f.jsonl"), record(&lab, &tree, "inotify", "i.jsonl")];
    fs::write(root.join("outside"), "x").unwrap();
    fs::remove_file(root.join("outside")).unwrap();
    let expected = burst(&tree, 60, &mut both);
    for recording in both {
        check(&recording.end(), expected);
    }
    let shares = |set| {
        let shown = lab.json(&format!("activity show {set}"));
        (shown["sizes"].clone(), shown["files_of_largest_profile"].clone(), shown["files"].clone())
    };
    assert_eq!(shares("f.jsonl"), shares("i.jsonl"));
    assert!(lab.run("activity show f.jsonl").contains("recorded by fanotify"));
    // The size of files that are deleted immediately after writing is known.
    let fanotify = record(&lab, &root, "fanotify", "f.jsonl");
    for number in 0..1000 {
        fs::write(tree.join("instant"), vec![1; number]).unwrap();
        fs::remove_file(tree.join("instant")).unwrap();
    }
    let found = fanotify.end();
    assert_eq!(
        (&found["short_lived"], &found["bytes"]),
        (&Value::from(1000), &Value::from(999 * 500)),
        "{found:#}"
    );
    drop(mounted);
}

#[test]
fn inotify_sees_every_short_lived_file_on_tmpfs() {
    let lab = Lab::new();
    let tree = tree(lab.path());
    let mut recording = record(&lab, &tree, "inotify", "set.jsonl");
    let expected = burst(&tree, 60, std::slice::from_mut(&mut recording));
    check(&recording.end(), expected);
}

#[test]
fn watcher_and_reason_for_fallback_are_reported() {
    let lab = Lab::new();
    let tree = tree(lab.path());
    let program = env!("CARGO_BIN_EXE_senesce");
    let without_privileges = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-sys_admin", program, "activity", "record"]).arg(&tree);
        command.arg(lab.path().join("set.jsonl")).args(args);
        command
    };
    if !is_root() || !testing::has_tool("setpriv") {
        return;
    }
    let fell_back = Recording::begin(&mut without_privileges(&["--json"]));
    assert!(fell_back.said[0].contains("requires root"), "{:?}", fell_back.said);
    assert!(fell_back.said[1].contains("with inotify"), "{:?}", fell_back.said);
    let found = fell_back.end();
    assert_eq!(found["watcher"], "inotify");
    let output = without_privileges(&["--by", "fanotify"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.lines().count() == 1 && said.contains("requires root"), "{said}");
}

#[test]
fn watch_limit_error_names_setting() {
    let lab = Lab::new();
    let tree = tree(lab.path());
    // A user namespace has its own limit.
    let script = "echo 1 > /proc/sys/user/max_inotify_watches && exec \"$@\"";
    let args = ["--user", "--map-root-user", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_senesce")];
    let output = Command::new("unshare")
        .args(args)
        .args(["activity", "record", "--by", "inotify"])
        .args([&tree, &lab.path().join("set.jsonl")])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare") || said.contains("cannot create") {
        return testing::skip("user namespaces", said);
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("after 1 directories") && said.contains("max_user_watches"), "{said}");
}

#[test]
fn real_strace_log_is_imported() {
    let lab = Lab::new();
    let script = "mkdir d; for i in 1 2 3; do echo 12345 > d/f$i; done; echo more >> d/f1; mv d e; \
        (cd e; mv f1 g; rm g); cat e/f2 > e/f4; mv e/f4 e/f2; rm e/f2; echo stays > kept; rm old";
    fs::write(lab.path().join("old"), "old").unwrap();
    if !testing::has_tool("strace") {
        return;
    }
    let traced = Command::new("strace")
        .args(["-f", "-ttt", "-y", "-o", "log", "sh", "-c", script])
        .current_dir(lab.path())
        .output()
        .unwrap();
    if !traced.status.success() {
        return testing::skip("strace", format!("it does not work here: {}", text(&traced.stderr)));
    }
    let found = lab.json("activity import --from strace log set.jsonl");
    // f1 has 6 + 5 bytes; f4, which was renamed to f2, has the 6 bytes of f2, as has the replaced f2; f3 and another file survive. The
    // renamed directory counts as another one because of its path.
    assert_eq!((&found["short_lived"], &found["created"]), (&Value::from(3), &Value::from(5)), "{found:#}");
    assert_eq!((&found["bytes"], &found["profiles"]), (&Value::from(23), &Value::from(2)), "{found:#}");
}

#[test]
fn invalid_activity_is_refused() {
    let lab = Lab::new();
    fs::write(lab.path().join("log"), "no log\n").unwrap();
    fs::create_dir(lab.path().join("dir")).unwrap();
    for (line, expected) in [
        ("activity show nowhere.jsonl", "nowhere.jsonl"),
        ("activity show log", "does not start with the header"),
        ("activity record nowhere set.jsonl", "nowhere"),
        ("activity record log set.jsonl", "not a directory"),
        ("activity record dir nowhere/set.jsonl", "nowhere/set.jsonl"),
        ("activity record dir dir", "directory"),
        ("activity record dir set.jsonl --for ever", "not a time"),
        ("activity import --from strace log set.jsonl", "line 1"),
        ("activity import --from bpftrace log set.jsonl", "line 1"),
        ("activity import --from nfsdump log set.jsonl", "line 1"),
        ("activity import --from dtrace log set.jsonl", "dtrace"),
        ("activity import --from strace set.jsonl", "OUTPUT"),
    ] {
        lab.refused(line, expected);
    }
    let shown = lab.json("activity show builtin");
    assert_eq!(shown["profiles"], 128);
    assert!(lab.run("activity script").starts_with("#!/usr/bin/env bpftrace"));
}
