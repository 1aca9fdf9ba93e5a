//! A virtual machine whose clock counts instructions.
//!
//! One emulated processor executes everything, and each instruction takes one nanosecond. No instruction waits for
//! the host: program, tools and modules are in the initramfs, disks are private copies of images in persistent
//! memory, and the result is transferred at the end. Times of the same command on the same disks are therefore
//! equal in each run, on a busy host too. They contain the cost of the code of a file system, but not that of
//! caches, memory and media.

pub mod guest;
mod job;
mod qemu;
mod root;

use crate::guest_environment::GuestEnvironment;
use crate::machine::{Process, dies_with_us};
use crate::qemu::Accelerator;
use crate::run::{kernel, memory_file, modules, version};
use crate::watch::{Console, pass_on};
use crate::{Error, Kernel};
use job::{Ended, Job};
use qemu::Qemu;
pub use qemu::VIRTUAL_TIME_MEMORY_BYTES;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Modules that every machine with a virtual clock needs: persistent memory at addresses of the kernel's command
/// line, and FUSE.
pub const VIRTUAL_TIME_MODULES: [&str; 3] = ["nd_e820", "nd_pmem", "fuse"];

/// Interval for checking for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Alignment of persistent memory.
const ALIGN_BYTES: u64 = 2 << 20;

/// Maximum total size of the disks: the kernel needs a 64th of it in its memory.
const MOST_BYTES: u64 = 16 << 30;

/// A command to run in virtual time.
#[derive(Clone, Debug)]
pub struct VirtualTimeTask<'a> {
    /// The kernel to boot.
    pub kernel: &'a Kernel,
    /// Required modules besides those of every machine.
    pub modules: &'a [&'a str],
    /// Other programs that the command uses, and their packages.
    pub tools: &'a [(&'a str, &'static str)],
    /// The disks.
    pub disks: &'a [AttachedDisk],
    /// The arguments of this program inside the machine.
    pub args: &'a [OsString],
    /// Its working directory, an absolute path.
    pub dir: &'a Path,
    /// Its standard input.
    pub input: Vec<u8>,
    /// Seed of the kernel's random numbers.
    pub seed: u64,
}

/// An image in the persistent memory of a machine with a virtual clock.
#[derive(Clone, Debug)]
pub struct AttachedDisk {
    /// The image; its size is a multiple of 2 MiB.
    pub image: PathBuf,
    /// Its path inside the machine, as [`attached_disk`] finds it.
    pub inside: PathBuf,
    /// Whether the image is changed; otherwise the machine writes to a private copy in memory.
    pub is_written: bool,
}

/// A command that ran in virtual time.
#[derive(Debug)]
pub struct VirtualTimeOutput {
    /// The exit status.
    pub status: i32,
    /// The standard output.
    pub output: String,
    /// The standard error.
    pub errors: String,
}

/// Runs the command in a machine with a virtual clock.
pub fn run_in_virtual_time(task: &VirtualTimeTask) -> Result<VirtualTimeOutput, Error> {
    let version = version()?;
    let sizes = sizes(task.disks)?;
    let initramfs = initramfs(task, &sizes, &version)?;
    let kernel = kernel(&task.kernel.image)?;
    let starting = || Error::io("starting", Path::new("a virtual machine"));
    let (console_in, console) = std::io::pipe().map_err(starting())?;
    let (result_in, result) = std::io::pipe().map_err(starting())?;
    let qemu = Qemu {
        kernel: kernel.as_raw_fd(),
        initramfs: initramfs.as_raw_fd(),
        console: console.as_raw_fd(),
        result: result.as_raw_fd(),
        disks: task.disks.iter().zip(sizes).collect(),
        seed: task.seed,
    };
    let mut command = qemu.command();
    // QEMU's own errors go to the console stream, with the kernel's messages.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(console.try_clone().map_err(starting())?);
    dies_with_us(&mut command, vec![qemu.kernel, qemu.initramfs, qemu.console, qemu.result]);
    let mut process = Process::new(command.spawn().map_err(starting())?);
    // Otherwise the pipes would stay open after QEMU exits.
    drop((command, console, result));
    let console = Console::read(console_in);
    let result = pass_on(result_in, None::<std::io::Stdout>);
    let waited = wait(&mut process, &console);
    process.end(false);
    let why = match waited.map(|()| serde_json::from_slice(&result.join().unwrap_or_default())) {
        Ok(Ok(Ended::Exit { status, output, errors })) => {
            return Ok(VirtualTimeOutput { status, output, errors });
        }
        Ok(Ok(Ended::Failed { why })) | Err(Stopped::Hangs(why)) => why,
        Ok(Err(_)) => "ended before its command did".to_owned(),
        Err(Stopped::Interrupted) => return Err(Error::Interrupted),
    };
    let what = format!("QEMU {version}, virtual clock");
    Err(Error::Machine { what, why, console: console.cause() })
}

/// Why a machine was stopped.
enum Stopped {
    Interrupted,
    Hangs(String),
}

/// Waits until the machine has powered off. There are no heartbeats, which would cost time inside; a kernel that
/// waits for ever panics.
fn wait(qemu: &mut Process, console: &Console) -> Result<(), Stopped> {
    let (begun, first_output) = (Instant::now(), Accelerator::Tcg.timeouts().first_output);
    loop {
        match disk::wait_timeout(&mut qemu.child, LOOK) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if disk::interrupted() => return Err(Stopped::Interrupted),
            Ok(None) if begun.elapsed() > first_output && console.is_silent() => {
                let why = format!("hangs: no kernel message for {} s", first_output.as_secs());
                return Err(Stopped::Hangs(why));
            }
            Ok(None) => {}
            Err(e) => return Err(Stopped::Hangs(format!("cannot be waited for: {e}"))),
        }
    }
}

/// The sizes of disks.
fn sizes(disks: &[AttachedDisk]) -> Result<Vec<u64>, Error> {
    let fail = |disk: &AttachedDisk, why: String| Error::Memory { path: disk.image.clone(), why };
    let mut sizes = Vec::new();
    for disk in disks {
        sizes.push(std::fs::metadata(&disk.image).map_err(|e| fail(disk, e.to_string()))?.len());
        check_virtual_disks(&sizes).map_err(|why| fail(disk, why))?;
    }
    Ok(sizes)
}

/// Refuses disks of these sizes together in one machine with a virtual clock, and says why.
pub fn check_virtual_disks(sizes: &[u64]) -> Result<(), String> {
    if let Some(bytes) = sizes.iter().find(|bytes| **bytes == 0 || **bytes % ALIGN_BYTES != 0) {
        return Err(format!("{bytes} bytes are not a multiple of 2 MiB: choose another size"));
    }
    if sizes.iter().sum::<u64>() > MOST_BYTES {
        return Err(format!("disks in virtual time have at most {} together", input::bytes(MOST_BYTES)));
    }
    Ok(())
}

/// The root of the machine, with the job.
fn initramfs(task: &VirtualTimeTask, sizes: &[u64], qemu: &str) -> Result<File, Error> {
    let modules = modules(task.kernel, &VIRTUAL_TIME_MODULES, task.modules)?;
    let disks: Vec<PathBuf> = task.disks.iter().map(|disk| disk.inside.clone()).collect();
    let job = Job {
        modules: modules.iter().map(|(name, _)| name.clone()).collect(),
        disks: disks.iter().cloned().zip(sizes.iter().copied()).collect(),
        args: task.args.to_vec(),
        dir: task.dir.to_owned(),
        guest: GuestEnvironment {
            qemu: qemu.to_owned(),
            accelerator: Accelerator::Tcg,
            kernel: task.kernel.clone(),
            disks,
        },
    };
    let file = memory_file("initramfs")?;
    root::write(&file, &job, &task.input, task.tools, &modules)?;
    Ok(file)
}

/// The persistent memory that holds this disk, in a machine with a virtual clock.
pub fn attached_disk(path: &Path) -> Option<PathBuf> {
    let guest = crate::guest_environment()?;
    let index = guest.disks.iter().position(|disk| disk == path)?;
    Some(job::device(index))
}

/// Whether the clock of this machine counts instructions.
pub fn has_virtual_clock() -> bool {
    crate::guest_environment().is_some_and(|guest| !guest.disks.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_that_do_not_fit_in_memory_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let of = |bytes: u64| {
            let image = dir.path().join(format!("{bytes}.img"));
            File::create(&image).unwrap().set_len(bytes).unwrap();
            AttachedDisk { image, inside: "/disk0".into(), is_written: false }
        };
        assert_eq!(sizes(&[of(6 << 20), of(4 << 20)]).unwrap(), [6 << 20, 4 << 20]);
        for bytes in [0, 3 << 20] {
            let said = sizes(&[of(2 << 20), of(bytes)]).unwrap_err().to_string();
            assert!(said.contains(&format!("{bytes}.img")), "{said}");
            assert!(said.ends_with("are not a multiple of 2 MiB: choose another size"), "{said}");
        }
        let said = sizes(&[of(2 << 20), of(16 << 30)]).unwrap_err().to_string();
        assert!(said.contains("17179869184.img") && said.ends_with("at most 16 GiB together"), "{said}");
    }
}
