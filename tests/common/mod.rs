//! Shared helpers of the whole-program tests: running the program in a private directory, and checking for leftovers.

mod running;
mod schemas;

pub use running::{Running, child_named, signal, wait_for_end};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use tempfile::TempDir;

/// Parses the JSON document printed by a command and checks it against the schema of the command.
pub fn document(line: &str, output: &Output) -> Value {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let document = serde_json::from_str(&out).unwrap_or_else(|e| panic!("senesce {line}: {e}\n{out}\n{err}"));
    schemas::check(line, &document);
    document
}

/// Parses the error that a command with `--json` printed, and checks it against the schema.
pub fn error_object(line: &str) -> Value {
    let error = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    schemas::check_as("error", &error);
    error
}

/// A private directory of a test: in memory if available, so that images need no disk.
pub struct Lab {
    dir: TempDir,
    /// The processes started by this test.
    ended: Mutex<Vec<u32>>,
}

impl Lab {
    pub fn new() -> Lab {
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        Lab { dir: dir.unwrap(), ended: Mutex::default() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// A command of the program in this directory with a private registry.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_senesce"));
        command
            .args(args)
            .current_dir(self.path())
            .env("SENESCE_RUN_DIR", self.path().join("run"))
            .env("SENESCE_IMAGES", self.path().join("library"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .env_remove("SENESCE_WORK");
        command
    }

    /// Runs the program, which must succeed. Returns its standard output.
    pub fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "senesce {line}\n{out}\n{err}");
        out
    }

    /// Runs the program with `--json`, which must succeed and print one JSON document.
    pub fn json(&self, line: &str) -> Value {
        let output = self.try_run(&format!("{line} --json"));
        assert!(output.status.success(), "senesce {line}\n{}", text(&output.stderr));
        document(line, &output)
    }

    pub fn try_run(&self, line: &str) -> Output {
        self.output(self.command(line.split_whitespace()))
    }

    /// Runs a command to its end.
    pub fn output(&self, mut command: Command) -> Output {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.ended.lock().unwrap().push(child.id());
        child.wait_with_output().unwrap()
    }

    /// Runs the program, which must fail with a line that contains `expected`, create nothing and leave nothing behind.
    pub fn refused(&self, line: &str, expected: &str) {
        self.refused_with(line, expected);
        self.nothing_left();
    }

    /// The same as [`Self::refused`] while something is mounted.
    pub fn refused_with(&self, line: &str, expected: &str) {
        let before = self.entries();
        let output = self.try_run(line);
        let err = text(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "senesce {line}: status {code:?}\n{err}");
        let message: Vec<&str> = err.lines().filter(|l| l.contains(expected)).collect();
        assert!(!message.is_empty(), "senesce {line}: no {expected:?} in\n{err}");
        assert!(!err.contains("panicked"), "senesce {line}\n{err}");
        assert!(output.stdout.is_empty(), "senesce {line}: standard output is not empty");
        assert_eq!(self.entries(), before, "senesce {line} created something");
    }

    /// Starts the program.
    pub fn start(&self, line: &str) -> Running {
        self.started(self.command(line.split_whitespace()))
    }

    /// Starts a prepared command.
    pub fn started(&self, mut command: Command) -> Running {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running::new(command);
        self.ended.lock().unwrap().push(running.id());
        running
    }

    /// Starts the program and waits until it stops at a step: `PHASE` or `PHASE@N` of `SENESCE_TEST_STOP_AT`.
    pub fn stopped(&self, line: &str, step: &str) -> Running {
        let at = self.path().join("stopped");
        // From a run that was killed at a step.
        let _ = std::fs::remove_file(&at);
        let mut command = self.command(line.split_whitespace());
        command.env("SENESCE_TEST_STOP_AT", format!("{} {step}", at.display()));
        let mut running = self.started(command);
        running.until(&format!("{step:?} of {line}"), || at.exists());
        running
    }

    /// Lets a program continue that stopped at a step.
    pub fn go_on(&self) {
        std::fs::remove_file(self.path().join("stopped")).unwrap();
    }

    /// Interrupts the program at a step. Returns its messages and its output.
    pub fn interrupted(&self, line: &str, step: &str) -> (Vec<String>, Output) {
        self.interrupts(self.stopped(line, step))
    }

    /// Interrupts a program. Returns its messages and its output.
    pub fn interrupts(&self, running: Running) -> (Vec<String>, Output) {
        running.signal(Signal::INT);
        let output = running.wait();
        let said: Vec<String> = text(&output.stderr).lines().map(str::to_owned).collect();
        assert_eq!(output.status.code(), Some(1), "{said:#?}");
        self.nothing_left();
        (said, output)
    }

    /// Whether a process whose name starts with `name` runs for a program of this directory. A server may overwrite its command line and
    /// its environment with a status text; its ancestors then show the directory.
    pub fn runs(&self, name: &str) -> bool {
        let here = self.path().to_str().unwrap();
        let read = |process: &str, file: &str| {
            text(&std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default())
        };
        let is_ours =
            |process: &String| ["cmdline", "environ"].iter().any(|file| read(process, file).contains(here));
        let parent = |process: &String| {
            let stat = read(process, "stat");
            Some(stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.to_owned())
        };
        std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let process = process.file_name().to_string_lossy().into_owned();
            read(&process, "comm").starts_with(name)
                && std::iter::successors(Some(process), parent).any(|process| is_ours(&process))
        })
    }

    /// Runs `cleanup`, after which nothing may be left.
    pub fn clean_up(&self) {
        // A process that a killed run was just starting holds its lock for a moment longer.
        let is_free = |journal: &String| {
            std::fs::File::open(journal)
                .is_ok_and(|file| flock(file, FlockOperation::NonBlockingLockShared).is_ok())
        };
        testing::wait_until("the locks of killed runs", || self.journals().iter().all(is_free));
        self.run("cleanup");
        self.nothing_left();
    }

    /// The files of the run directory that name something to remove.
    fn journals(&self) -> Vec<String> {
        let mut files = Vec::new();
        collect(&self.path().join("run"), &mut files);
        // A test with its own session has a journal too.
        files.retain(|path| {
            !std::fs::read_to_string(path).is_ok_and(|text| text.ends_with("\"entries\":[]}"))
        });
        files
    }

    /// The contents of the directory, except the registry and the file of a stopped step.
    pub fn entries(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        collect(self.path(), &mut names);
        names.retain(|n| !n.contains("/run") && !n.ends_with("/stopped"));
        names.sort();
        names
    }

    /// A search path of the programs of ext4 alone: with it, the demonstration leaves the other file systems out.
    pub fn only_ext4(&self) -> PathBuf {
        let programs = self.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        for program in ["mkfs.ext4", "e2fsck", "grep", "blkid", "cp"] {
            let mut found = std::env::split_paths(&path).map(|dir| dir.join(program));
            let found = found.find(|file| file.exists()).expect(program);
            std::os::unix::fs::symlink(found, programs.join(program)).unwrap();
        }
        programs
    }

    /// Checks that no loop device, mount, process or trace instance of this test is left.
    pub fn nothing_left(&self) {
        let here = self.path().to_str().unwrap();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(here), "left mounted: {mounts}");
        // A process that another test starts meanwhile holds copies of the mounts for a moment.
        testing::wait_until("the end of the loop devices", || self.loops().is_empty());
        // Mounts are visible only to their process; a resource that could not be removed is in its journal.
        let registry = self.journals();
        let journals: Vec<String> =
            registry.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        assert!(registry.is_empty(), "left in the run directory: {registry:?}: {journals:?}");
        let cells = self.cells();
        let begun = self.path().metadata().unwrap().created().unwrap();
        for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            let path = entry.path().display().to_string();
            if cells.iter().any(|cell| path.starts_with(cell)) {
                // PIDs are reused: a cell that is older than this directory is of a run that was cut off.
                let older = entry.metadata().and_then(|m| m.created()).is_ok_and(|created| created < begun);
                assert!(older, "{path} is left");
            }
        }
    }

    /// The path prefixes of the images that experiments keep for their cells.
    fn cells(&self) -> Vec<String> {
        let ended = self.ended.lock().unwrap();
        ended.iter().map(|pid| format!("/dev/shm/.senesce-cell-{pid}-")).collect()
    }

    /// Loop devices whose file is in this directory or belongs to a cell, even if it is deleted.
    pub fn loops(&self) -> Vec<String> {
        let mut ours = vec![format!("{}/", self.path().display())];
        ours.extend(self.cells());
        let mut left = Vec::new();
        for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
            let backing = std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
            if ours.iter().any(|dir| backing.contains(dir)) {
                left.push(format!("{} {}", entry.file_name().to_string_lossy(), backing.trim()));
            }
        }
        left
    }

    /// The sorted list of (path, size) of all files on an image.
    pub fn list(&self, image: &Path) -> Vec<(String, u64)> {
        let mount = Mounted::new(image, self.path());
        let mut files = Vec::new();
        sizes(&mount.dir, &mount.dir, &mut files);
        files.sort();
        files
    }
}

impl Drop for Lab {
    /// Removes the leftovers of the programs of a failed test.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.command(["cleanup"]).output();
        }
    }
}

/// A mount made by the test itself.
pub struct Mounted {
    pub dir: PathBuf,
    /// The mounted image.
    image: Option<PathBuf>,
}

impl Mounted {
    /// What is mounted here already.
    pub fn at(dir: PathBuf) -> Mounted {
        Mounted { dir, image: None }
    }

    /// Mounts an image read-only, in a new directory.
    pub fn new(image: &Path, below: &Path) -> Mounted {
        let dir = below.join(format!("mnt-{}", image.file_name().unwrap().to_string_lossy()));
        std::fs::create_dir_all(&dir).unwrap();
        // XFS refuses to mount a UUID twice, and an image and its copy may have the same.
        let mut magic = [0; 4];
        std::fs::File::open(image).unwrap().read_exact(&mut magic).unwrap();
        let options = if &magic == b"XFSB" { "loop,ro,nouuid" } else { "loop,ro" };
        let status = Command::new("mount").args(["-o", options]).arg(image).arg(&dir).status().unwrap();
        assert!(status.success());
        Mounted { dir, image: Some(image.to_owned()) }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.dir).status();
        let _ = std::fs::remove_dir(&self.dir);
        // A process that another test starts meanwhile holds a copy of the mount for a moment, and with it the loop device.
        if let Some(image) = self.image.as_ref().filter(|_| !std::thread::panicking()) {
            testing::wait_until("the end of the loop device of an image", || {
                Command::new("losetup").arg("--associated").arg(image).output().unwrap().stdout.is_empty()
            });
        }
    }
}

/// A loop device created by the test. Detached on drop.
pub struct LoopDevice(pub String);

impl LoopDevice {
    /// Creates a loop device on a new file of `bytes` bytes.
    pub fn new(file: &Path, bytes: u64) -> LoopDevice {
        std::fs::File::create(file).unwrap().set_len(bytes).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        LoopDevice(text(&output.stdout).trim().to_owned())
    }

    /// Counts the files of the file system on the device.
    pub fn files(&self, lab: &Lab) -> usize {
        let dir = lab.path().join("mnt-device");
        std::fs::create_dir_all(&dir).unwrap();
        let status = Command::new("mount").args(["-o", "ro", &self.0]).arg(&dir).status().unwrap();
        assert!(status.success());
        let mounted = Mounted::at(dir);
        let mut files = Vec::new();
        sizes(&mounted.dir, &mounted.dir, &mut files);
        files.len()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
        let _ = Command::new("losetup").args(["--detach", &self.0]).output();
    }
}

fn collect(dir: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        names.push(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            collect(&entry.path(), names);
        }
    }
}

fn sizes(root: &Path, dir: &Path, files: &mut Vec<(String, u64)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            sizes(root, &entry.path(), files);
        } else {
            files.push((entry.path().strip_prefix(root).unwrap().display().to_string(), meta.len()));
        }
    }
}

/// The checksum of a file.
pub fn digest(path: &Path) -> String {
    disk::checksum(path).unwrap().to_string()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a file system, FUSE or virtual machines are available; reports a skip if not.
pub fn has(what: &str) -> bool {
    let lacks = |name: &str, why: &dyn std::fmt::Display| {
        testing::skip(name, why);
        false
    };
    if !rustix::process::geteuid().is_root() {
        return lacks("root", &"run the tests as root");
    }
    if !Path::new("/dev/loop-control").exists() {
        return lacks("loop devices", &"load the kernel module loop");
    }
    match what {
        "FUSE" => match std::fs::File::options().read(true).write(true).open("/dev/fuse") {
            Ok(_) => true,
            Err(error) => lacks("/dev/fuse", &error),
        },
        "virtual machines" => match vm::qemu_version().and_then(|_| vm::Kernel::find(&[])) {
            Ok(_) => true,
            Err(error) => lacks(what, &error),
        },
        _ => {
            let kind = fs::find(what).unwrap();
            if fs::can_mount(kind) {
                return fs::ready(kind).map_or_else(|error| lacks(what, &error), |()| true);
            }
            match (vm::Kernel::find(&kind.modules()), fs::require_tools(kind)) {
                (Ok(_), Ok(())) => true,
                (Err(error), _) => lacks(what, &error),
                (_, Err(error)) => lacks(what, &error),
            }
        }
    }
}

/// Whether the tests run as root; reports a skip if not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        testing::skip("root", "run the tests as root");
    }
    root
}

/// Whether Dovecot is available; reports a skip if not.
pub fn has_dovecot() -> bool {
    workload::mail::find_dovecot().map_or_else(
        |error| {
            testing::skip("dovecot", error);
            false
        },
        |_| true,
    )
}

/// Returns from the test if something is not available, which is reported as a skip.
macro_rules! needs {
    ($what:expr) => {
        if !crate::common::has($what) {
            return;
        }
    };
}
