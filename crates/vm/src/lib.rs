//! A micro virtual machine: another kernel for one command.
//!
//! The host's kernel may lack a feature that another kernel has. [`run`] boots one with QEMU and runs this
//! program in it with other arguments. Inside, 9p provides the host's files under their own paths: all of
//! them read-only, except for the directories named as writable. So the command inside needs no installation,
//! and its output files have the same paths as without the machine. Its output, progress and exit status are
//! transferred through virtio ports.
//!
//! The first process inside is also this program: [`init`] mounts file systems, loads modules, starts the
//! command and reports.

mod cpio;
mod error;
mod guest;
mod guest_environment;
mod image;
mod initramfs;
mod job;
mod kernel;
mod machine;
mod memory;
mod modules;
mod qemu;
mod run;
mod talk;
mod virtual_time;
mod watch;

pub use error::{Error, setup_part};
pub use guest::{init, is_init};
pub use guest_environment::{GuestEnvironment, guest_environment, is_emulated};
pub use kernel::{Kernel, kernels_dir};
pub use memory::persistent_memory;
pub use qemu::{Accelerator, qemu_version};
pub use run::{Task, TaskOutput, run};
pub use virtual_time::{
    AttachedDisk, VIRTUAL_TIME_MEMORY_BYTES, VIRTUAL_TIME_MODULES, VirtualTimeOutput, VirtualTimeTask,
    attached_disk, check_virtual_disks, has_virtual_clock, run_in_virtual_time,
};
