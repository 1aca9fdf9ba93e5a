//! Runs one command in a virtual machine, from outside.

use crate::image::uncompressed;
use crate::machine::{Broken, Machine};
use crate::modules::Modules;
use crate::qemu::{Accelerator, qemu_version};
use crate::{Error, Kernel};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What every machine needs: a bus, ports, the host's files, and disks made of files.
const MODULES: [&str; 6] = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "loop", "fuse"];

/// How file systems make their checksums, where that is in modules of these names.
const CHECKSUMS: [&str; 2] = ["crc32c_generic", "crc32_generic"];

/// A command to run in a machine.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// The kernel to boot.
    pub kernel: &'a Kernel,
    /// Modules that it must have besides those of every machine.
    pub modules: &'a [&'a str],
    /// Directories that the command writes to, absolute paths; all else can only be read.
    pub writable: &'a [PathBuf],
    /// Whether the command has files be persistent memory of the machine.
    pub memory: bool,
    /// The arguments of this program inside.
    pub args: &'a [OsString],
    /// Whether its standard output is kept, and not passed on.
    pub keep_output: bool,
}

/// A command that ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: i32,
    /// Its standard output, if it was to be kept.
    pub output: Vec<u8>,
    /// What executed the machine.
    pub accelerator: Accelerator,
}

/// Boots the kernel and runs the command. `say` is told what the user should know.
///
/// Where KVM is offered but no machine comes up with it, one is started without: whether KVM works can only be tried.
pub fn run(task: &Task, say: &mut dyn FnMut(&str)) -> Result<Ended, Error> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Error::Architecture);
    }
    let qemu = qemu_version()?;
    let modules = Modules::of(task.kernel)?;
    let checksums = CHECKSUMS.into_iter().filter(|name| modules.has(name));
    let wanted: Vec<&str> =
        MODULES.into_iter().chain(checksums).chain(task.modules.iter().copied()).collect();
    let modules = modules.load_order(&wanted)?;
    let machine = Machine { task, qemu, kernel: kernel(&task.kernel.image)?, modules };
    if kvm_is_offered() {
        match machine.run(Accelerator::Kvm) {
            Err(Broken { up: false, error: Error::Machine { .. } }) => {
                say("KVM exists but does not work: the virtual machine is emulated, ten to twenty times \
                     slower");
            }
            ended => return ended.map_err(|broken| broken.error),
        }
    }
    machine.run(Accelerator::Tcg).map_err(|broken| broken.error)
}

/// Whether KVM may work. Whoever may not open it cannot use it; and it may be there, and hang, where the processor lacks what it takes.
fn kvm_is_offered() -> bool {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    virtualizes(&cpuinfo) && File::options().read(true).write(true).open("/dev/kvm").is_ok()
}

/// Whether the processor of this `/proc/cpuinfo` can execute machines, by Intel's means or by AMD's.
fn virtualizes(cpuinfo: &str) -> bool {
    let flags =
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == "flags");
    flags.is_some_and(|(_, flags)| flags.split_whitespace().any(|flag| ["vmx", "svm"].contains(&flag)))
}

/// The kernel to boot, uncompressed where it can be booted so.
fn kernel(path: &Path) -> Result<File, Error> {
    let image = input::read(path).map_err(Error::io("reading the kernel", path))?;
    let mut file = memory_file("kernel")?;
    file.write_all(uncompressed(&image).as_ref().unwrap_or(&image))
        .map_err(Error::io("reading the kernel", path))?;
    Ok(file)
}

/// A file without a name, which is gone with those who have it open.
pub fn memory_file(name: &str) -> Result<File, Error> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC);
    file.map(File::from).map_err(Error::io("creating a memory file for the", Path::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_says_whether_it_executes_machines() {
        let cpuinfo = |flags| {
            format!("processor\t: 0\nvmx flags\t: vnmi ept\nflags\t\t: fpu {flags} sse2\nbugs\t\t: svm\n")
        };
        for (flags, can) in [("vmx", true), ("svm", true), ("svm_lock avmx", false), ("hypervisor", false)] {
            assert_eq!(virtualizes(&cpuinfo(flags)), can, "{flags}");
        }
        assert!(!virtualizes(""));
    }
}
