//! A micro virtual machine: another kernel for one command.
//!
//! What this machine's kernel lacks, another kernel may have. [`run`] boots one by QEMU and has it run this very program with
//! other arguments. Inside, the files of the host are seen under their own paths, through 9p: all of them to be read, and those
//! directories to be written that were named. So the command inside needs no installation, and what it writes lies where it
//! would lie without the machine. What it prints, its progress and its exit status come out through virtio ports.
//!
//! The first process inside is this program too: [`init`] mounts, loads modules, starts the command and reports.

mod cpio;
mod error;
mod guest;
mod image;
mod initramfs;
mod inside;
mod job;
mod kernel;
mod machine;
mod memory;
mod modules;
mod qemu;
mod run;
mod talk;
mod watch;

pub use error::Error;
pub use guest::{init, is_init};
pub use inside::{Inside, inside};
pub use kernel::{Kernel, kernels_dir};
pub use memory::persistent_memory;
pub use qemu::{Accelerator, qemu_version};
pub use run::{Ended, Task, run};
