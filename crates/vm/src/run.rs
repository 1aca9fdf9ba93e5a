//! Runs one command in a virtual machine.

use crate::image::uncompressed;
use crate::machine::{Failure, Machine};
use crate::modules::Modules;
use crate::qemu::{Accelerator, qemu_version};
use crate::{Error, Kernel};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Modules that every machine needs: a bus, ports, 9p, loop devices and FUSE.
const MODULES: [&str; 6] = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "loop", "fuse"];

/// Modules with the checksum algorithms of file systems, for kernels that have these as modules.
const CHECKSUMS: [&str; 2] = ["crc32c_generic", "crc32_generic"];

/// A command to run in a machine.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// The kernel to boot.
    pub kernel: &'a Kernel,
    /// Required modules besides those of every machine.
    pub modules: &'a [&'a str],
    /// Directories that the command may write to, absolute paths; all others are read-only.
    pub writable: &'a [PathBuf],
    /// Whether the command may use files as persistent memory of the machine.
    pub persistent_memory: bool,
    /// The arguments of this program inside the machine.
    pub args: &'a [OsString],
    /// Whether to return standard output instead of passing it on.
    pub keep_output: bool,
}

/// A finished command.
#[derive(Debug)]
pub struct TaskOutput {
    /// The exit status.
    pub status: i32,
    /// The standard output, if requested.
    pub output: Vec<u8>,
    /// The accelerator of the machine.
    pub accelerator: Accelerator,
}

/// Boots the kernel and runs the command. `say` receives messages for the user.
///
/// If no machine boots with KVM although it is offered, another one is started without: only a boot shows
/// whether KVM works.
pub fn run(task: &Task, say: &mut dyn FnMut(&str)) -> Result<TaskOutput, Error> {
    let qemu = version()?;
    let modules = modules(task.kernel, &MODULES, task.modules)?;
    let machine = Machine { task, qemu, kernel: kernel(&task.kernel.image)?, modules };
    if kvm_is_offered() {
        match machine.run(Accelerator::Kvm) {
            Err(Failure { up: false, error: Error::Machine { .. } }) => {
                say("KVM exists but does not work: the virtual machine is emulated, ten to twenty times \
                     slower");
            }
            ended => return ended.map_err(|broken| broken.error),
        }
    }
    machine.run(Accelerator::Tcg).map_err(|broken| broken.error)
}

/// The version of QEMU, if machines can run here.
pub fn version() -> Result<String, Error> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Error::Architecture);
    }
    qemu_version()
}

/// The modules of a machine of a kind with `base` modules that needs `more`, in load order.
pub fn modules(kernel: &Kernel, base: &[&str], more: &[&str]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let modules = Modules::of(kernel)?;
    let checksums = CHECKSUMS.iter().filter(|name| modules.has(name));
    let wanted: Vec<&str> = base.iter().chain(checksums).chain(more).copied().collect();
    modules.load_order(&wanted)
}

/// Whether KVM may work. It requires access to /dev/kvm, and can hang if the processor lacks virtualization.
fn kvm_is_offered() -> bool {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    virtualizes(&cpuinfo) && File::options().read(true).write(true).open("/dev/kvm").is_ok()
}

/// Whether a processor with this `/proc/cpuinfo` supports virtualization, by Intel or AMD.
fn virtualizes(cpuinfo: &str) -> bool {
    let flags =
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == "flags");
    flags.is_some_and(|(_, flags)| flags.split_whitespace().any(|flag| ["vmx", "svm"].contains(&flag)))
}

/// The kernel to boot, uncompressed if possible.
pub fn kernel(path: &Path) -> Result<File, Error> {
    let image = input::read(path).map_err(Error::io("reading the kernel", path))?;
    let mut file = memory_file("kernel")?;
    file.write_all(uncompressed(&image).as_ref().unwrap_or(&image))
        .map_err(Error::io("reading the kernel", path))?;
    Ok(file)
}

/// An anonymous file in memory, which lives as long as it is open.
pub fn memory_file(name: &str) -> Result<File, Error> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC);
    file.map(File::from).map_err(Error::io("creating a memory file for the", Path::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtualization_flags_are_detected() {
        let cpuinfo = |flags| {
            format!("processor\t: 0\nvmx flags\t: vnmi ept\nflags\t\t: fpu {flags} sse2\nbugs\t\t: svm\n")
        };
        for (flags, can) in [("vmx", true), ("svm", true), ("svm_lock avmx", false), ("hypervisor", false)] {
            assert_eq!(virtualizes(&cpuinfo(flags)), can, "{flags}");
        }
        assert!(!virtualizes(""));
    }
}
