//! The first process of the machine: mounts the host's files as root, starts the command there, and reports
//! its end.

use crate::guest_environment::{GuestEnvironment, VARIABLE};
use crate::job::{FILE, Job, PROGRAM, ROOT_TAG, module_file, port};
use crate::talk::{HEARTBEAT_INTERVAL, INTERRUPT, Message};
use crate::virtual_time::guest as virtual_time;
use rustix::fs::sync;
use rustix::mount::{MountFlags, mount, mount_bind_recursive, mount_move};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, chdir, chroot, kill_process, wait};
use rustix::system::{RebootCommand, reboot};
use std::ffi::CString;
use std::fs::{File, create_dir_all, read_to_string, write};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Mount options for the host's files: shared mappings, as SQLite uses them, need a cache; nothing else is
/// cached.
const SHARED: &str = "trans=virtio,version=9p2000.L,msize=512000,cache=mmap";

/// The run directory of the command, which records its mounts etc.; they end with the machine.
const RUN_DIR: &str = "/dev/senesce";

/// The mount point of the new root.
const ROOT: &str = "/root";

/// Whether this process is the first one of a machine started by `run`.
pub fn is_init() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == PROGRAM)
}

/// Runs the first process, and powers the machine off at its end.
pub fn init() -> ! {
    if let Err(why) = work() {
        // The port may not exist yet.
        eprintln!("senesce-init: {why}");
    }
    sync();
    let _ = reboot(RebootCommand::PowerOff);
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn work() -> Result<(), String> {
    for (kind, dir) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mounted(kind, kind, Path::new(dir), "")?;
    }
    if virtual_time::is_asked_for() {
        return virtual_time::work();
    }
    let job = std::fs::read(FILE).map_err(|e| format!("reading {FILE}: {e}"))?;
    let job: Job = serde_json::from_slice(&job).map_err(|e| format!("{FILE}: {e}"))?;
    load_modules(&job.modules)?;
    let [mut talk, out, err] = [find_port(port::TALK)?, find_port(port::OUT)?, find_port(port::ERR)?];
    let said =
        make_root(&job).and_then(|()| carry_out(&job, &talk, out, err)).unwrap_or_else(Message::Failed);
    // Sync before the end is reported, because the machine may be killed after that.
    sync();
    writeln!(talk, "{said}").map_err(|e| format!("reporting the end of the command: {e}"))
}

fn mounted(kind: &str, source: &str, dir: &Path, data: &str) -> Result<(), String> {
    let data = CString::new(data).expect("mount options contain no NUL");
    mount(source, dir, kind, MountFlags::empty(), Some(data.as_c_str()))
        .map_err(|e| format!("mounting {kind} on {}: {e}", dir.display()))
}

/// Loads modules in this order.
pub fn load_modules(modules: &[String]) -> Result<(), String> {
    for (index, name) in modules.iter().enumerate() {
        load(&module_file(index, name)).map_err(|e| format!("loading module {name}: {e}"))?;
    }
    Ok(())
}

fn load(path: &str) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: the system call takes a file descriptor, a NUL-terminated string, and flags.
    let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        // The module is built in, although its file exists.
        e if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        e => Err(e),
    }
}

/// Waits, up to a limit, for a device that the kernel detects asynchronously.
pub fn detected<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..600 {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// Opens the port of that name.
pub fn find_port(name: &str) -> Result<File, String> {
    let is_it = |entry: &std::fs::DirEntry| {
        read_to_string(entry.path().join("name")).is_ok_and(|found| found.trim() == name)
    };
    let open = || {
        let ports = std::fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten();
        let device = ports.filter(is_it).map(|entry| Path::new("/dev").join(entry.file_name())).next();
        File::options().read(true).write(true).open(device?).ok()
    };
    detected(open).ok_or_else(|| format!("no port {name}"))
}

/// Tells a command about the machine.
pub fn inform(command: &mut Command, guest: &GuestEnvironment) {
    command.env("SENESCE_RUN_DIR", RUN_DIR);
    command.env(VARIABLE, serde_json::to_string(guest).expect("plain data serializes"));
}

/// Mounts the host's files as root, with the machine's own file systems in it.
fn make_root(job: &Job) -> Result<(), String> {
    let in_root = |path: &Path| Path::new(ROOT).join(path.strip_prefix("/").unwrap_or(path));
    let moved = |from: &str, to: &str| {
        let to = in_root(Path::new(to));
        mount_move(from, &to).map_err(|e| format!("moving {from} to {}: {e}", to.display()))
    };
    mounted("9p", ROOT_TAG, Path::new(ROOT), SHARED)?;
    // Share /dev/shm: files in memory belong to the host, unlike devices.
    let shm = mount_bind_recursive(in_root(Path::new("/dev/shm")), "/shm").is_ok();
    for dir in ["/proc", "/sys", "/dev"] {
        moved(dir, dir)?;
    }
    if shm {
        let dir = in_root(Path::new("/dev/shm"));
        create_dir_all(&dir).map_err(|e| format!("creating {}: {e}", dir.display()))?;
        moved("/shm", "/dev/shm")?;
    }
    for (tag, dir) in &job.writable {
        let dir = in_root(dir);
        mounted("9p", tag, &dir, SHARED)?;
    }
    // Some kernels lack these file systems; programs that need them report the error.
    let _ = mounted("tracefs", "tracefs", &in_root(Path::new("/sys/kernel/tracing")), "");
    let _ = memory_limits(&in_root(Path::new("/sys/fs/cgroup")));
    let entered =
        chdir(ROOT).and_then(|()| mount_move(".", "/")).and_then(|()| chroot(".")).and_then(|()| chdir("/"));
    entered.map_err(|e| format!("entering the root of the host: {e}"))
}

/// Makes memory limits possible, at the usual place `groups`.
pub fn memory_limits(groups: &Path) -> Result<(), String> {
    mounted("cgroup2", "cgroup2", groups, "")?;
    // Limits are for children of the root group.
    write(groups.join("cgroup.subtree_control"), "+memory").map_err(|e| e.to_string())
}

/// Runs the command to its end.
fn carry_out(job: &Job, talk: &File, out: File, err: File) -> Result<Message, String> {
    let mut command = Command::new(&job.program);
    command.args(&job.args).env_clear().envs(job.env.iter().map(|(name, value)| (name, value)));
    inform(&mut command, &job.guest);
    command.current_dir(&job.dir).stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    take_number(job.pid);
    let child = command.spawn().map_err(|e| format!("starting {}: {e}", job.program.display()))?;
    let pid = Pid::from_child(&child);
    let clone = || talk.try_clone().map_err(|e| format!("using the port: {e}"));
    let (hears, mut beats) = (clone()?, clone()?);
    let _ = writeln!(beats, "{}", Message::Up);
    std::thread::spawn(move || {
        while writeln!(beats, "{}", Message::Alive).is_ok() {
            std::thread::sleep(HEARTBEAT_INTERVAL);
        }
    });
    std::thread::spawn(move || {
        for line in BufReader::new(hears).lines().map_while(Result::ok) {
            if line == INTERRUPT {
                let _ = kill_process(pid, Signal::INT);
            }
        }
    });
    // The first process is the parent of all orphans.
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == pid => return Ok(exit_message(status)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(format!("waiting for the command: {e}")),
        }
    }
}

fn exit_message(status: WaitStatus) -> Message {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => Message::Exit(status),
        (None, signal) => Message::Signal(signal.unwrap_or_default()),
    }
}

/// Makes the next process get this number, if the kernel supports it (`CONFIG_CHECKPOINT_RESTORE`).
fn take_number(pid: u32) {
    /// The upper limit of pid_max.
    const PID_MAX_LIMIT: &str = "4194304";
    let kernel = PathBuf::from("/proc/sys/kernel");
    let _ = write(kernel.join("pid_max"), PID_MAX_LIMIT);
    let _ = write(kernel.join("ns_last_pid"), (pid - 1).to_string());
}
