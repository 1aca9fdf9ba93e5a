//! One machine, from start to end.

use crate::Error;
use crate::guest_environment::GuestEnvironment;
use crate::initramfs;
use crate::job::{Job, PROGRAM};
use crate::memory;
use crate::qemu::{Accelerator, Memory, Qemu};
use crate::run::{Task, TaskOutput, memory_file};
use crate::watch::{Console, MonitoredMachine, pass_on};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The memory of a machine; less if half of the host's available memory is less.
const MEMORY_BYTES: u64 = 2 << 30;

/// Time limit for the machine to power off.
const POWER_OFF: Duration = Duration::from_secs(20);

/// A machine to start.
pub struct Machine<'a> {
    pub task: &'a Task<'a>,
    /// The version of QEMU.
    pub qemu: String,
    pub kernel: File,
    /// The modules in load order.
    pub modules: Vec<(String, Vec<u8>)>,
}

/// The failure of a machine.
pub struct Failure {
    /// Whether the command had started.
    pub up: bool,
    pub error: Error,
}

impl Machine<'_> {
    /// Boots the machine and waits until the command has ended.
    pub fn run(&self, accelerator: Accelerator) -> Result<TaskOutput, Failure> {
        let starting = |error| Failure { up: false, error };
        let fail = Error::io("starting", Path::new("a virtual machine"));
        let channels = Channels::open().map_err(fail).map_err(starting)?;
        let (ours, theirs) = channels;
        let child = self.start(accelerator, &theirs).map_err(starting)?;
        let mut qemu = Process::new(child);
        memory::serve(ours.asked, ours.monitor, self.task.writable.to_vec());
        // Otherwise QEMU's ends would stay open after QEMU exits.
        drop(theirs);
        let console = Console::read(ours.console);
        let out = pass_on(ours.out, (!self.task.keep_output).then(std::io::stdout));
        let err = pass_on(ours.err, Some(std::io::stderr()));
        let ended = MonitoredMachine::new(ours.talk, &console, accelerator.timeouts())
            .and_then(|mut watched| watched.wait());
        qemu.end(ended.is_ok());
        let output = out.join().unwrap_or_default();
        let _ = err.join();
        match ended {
            Ok(status) => Ok(TaskOutput { status, output, accelerator }),
            Err(stopped) => {
                let what = format!("QEMU {}, {}", self.qemu, accelerator.name());
                let up = stopped.up;
                let console = console.cause();
                let error =
                    stopped.why.map_or(Error::Interrupted, |why| Error::Machine { what, why, console });
                Err(Failure { up, error })
            }
        }
    }

    fn start(&self, accelerator: Accelerator, theirs: &QemuEnds) -> Result<Child, Error> {
        let starting = || Error::io("starting", Path::new("a virtual machine"));
        let tagged = self.task.writable.iter().enumerate().map(|(i, dir)| (format!("w{i}"), dir.clone()));
        let job = Job {
            modules: self.modules.iter().map(|(name, _)| name.clone()).collect(),
            writable: tagged.collect(),
            program: disk::current_exe().map_err(starting())?,
            args: self.task.args.to_vec(),
            env: std::env::vars_os().collect(),
            dir: std::env::current_dir().map_err(starting())?,
            pid: std::process::id(),
            guest: GuestEnvironment {
                qemu: self.qemu.clone(),
                accelerator,
                kernel: self.task.kernel.clone(),
                disks: Vec::new(),
            },
        };
        let initramfs = memory_file("initramfs")?;
        initramfs::write(&initramfs, &job, &self.modules)?;
        let qemu = Qemu {
            accelerator,
            kernel: self.kernel.as_raw_fd(),
            initramfs: initramfs.as_raw_fd(),
            talk: theirs.talk.as_raw_fd(),
            console: theirs.console.as_raw_fd(),
            out: theirs.out.as_raw_fd(),
            err: theirs.err.as_raw_fd(),
            memory_bytes: memory_bytes(),
            memory: self
                .task
                .persistent_memory
                .then(|| Memory { asked: theirs.asked.as_raw_fd(), monitor: theirs.monitor.as_raw_fd() }),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            writable: &job.writable,
            init: PROGRAM,
        };
        let mut command = qemu.command();
        // QEMU's own errors go to the console stream, with the kernel's messages.
        command.stdout(Stdio::null()).stderr(theirs.console.try_clone().map_err(starting())?);
        let mut inherits = vec![qemu.kernel, qemu.initramfs, qemu.talk, qemu.console, qemu.out, qemu.err];
        inherits.extend(qemu.memory.iter().flat_map(|memory| [memory.asked, memory.monitor]));
        dies_with_us(&mut command, inherits);
        command.spawn().map_err(starting())
    }
}

/// Makes `command` die when this thread ends in any way, and inherit these file descriptors. Ctrl-C does not
/// reach it: this process handles it and signals the command inside.
pub fn dies_with_us(command: &mut Command, inherits: Vec<RawFd>) {
    command.process_group(0);
    let parent = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            return Err(ErrorKind::NotFound.into());
        }
        for fd in &inherits {
            // SAFETY: the descriptors stay open while the command is being started.
            fcntl_setfd(unsafe { BorrowedFd::borrow_raw(*fd) }, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(prepare) };
}

fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    available.map_or(MEMORY_BYTES, |kib| MEMORY_BYTES.min(kib * 1024 / 2))
}

/// This process's ends of all channels.
struct HostEnds {
    talk: UnixStream,
    asked: UnixStream,
    monitor: UnixStream,
    console: std::io::PipeReader,
    out: std::io::PipeReader,
    err: std::io::PipeReader,
}

/// QEMU's ends of all channels.
struct QemuEnds {
    talk: UnixStream,
    asked: UnixStream,
    monitor: UnixStream,
    console: std::io::PipeWriter,
    out: std::io::PipeWriter,
    err: std::io::PipeWriter,
}

struct Channels;

impl Channels {
    fn open() -> std::io::Result<(HostEnds, QemuEnds)> {
        let [talk, asked, monitor] = [UnixStream::pair()?, UnixStream::pair()?, UnixStream::pair()?];
        let [console, out, err] = [std::io::pipe()?, std::io::pipe()?, std::io::pipe()?];
        let ours = HostEnds {
            talk: talk.0,
            asked: asked.0,
            monitor: monitor.0,
            console: console.0,
            out: out.0,
            err: err.0,
        };
        let theirs = QemuEnds {
            talk: talk.1,
            asked: asked.1,
            monitor: monitor.1,
            console: console.1,
            out: out.1,
            err: err.1,
        };
        Ok((ours, theirs))
    }
}

/// The QEMU process, killed on drop.
pub struct Process {
    pub child: Child,
}

impl Process {
    pub fn new(child: Child) -> Process {
        Process { child }
    }

    /// Waits a while if the process is about to exit on its own, then kills it.
    pub fn end(&mut self, by_itself: bool) {
        if by_itself {
            let _ = disk::wait_timeout(&mut self.child, POWER_OFF);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(false);
    }
}
