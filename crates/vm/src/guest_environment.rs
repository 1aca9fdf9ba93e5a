//! Information about the virtual machine for the program inside.

use crate::{Accelerator, Kernel};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The environment variable with the information.
pub const VARIABLE: &str = "SENESCE_VM";

/// The virtual machine around this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestEnvironment {
    /// The version of QEMU.
    pub qemu: String,
    /// The accelerator that executes the machine.
    pub accelerator: Accelerator,
    /// The kernel, with host paths.
    pub kernel: Kernel,
    /// The paths of the disks in persistent memory, if its clock counts instructions.
    #[serde(default)]
    pub disks: Vec<PathBuf>,
}

impl GuestEnvironment {
    /// A short description: `QEMU 7.2.22, tcg`, or `QEMU 7.2.22, tcg, virtual clock`.
    pub fn description(&self) -> String {
        let clock = if self.disks.is_empty() { "" } else { ", virtual clock" };
        format!("QEMU {}, {}{clock}", self.qemu, self.accelerator.name())
    }
}

/// Whether the processor is emulated by a machine that was started by `run`, so that times say nothing.
pub fn is_emulated() -> bool {
    guest_environment().is_some_and(|guest| guest.accelerator == Accelerator::Tcg)
}

/// The virtual machine around this process, if it was started by `run`.
pub fn guest_environment() -> Option<GuestEnvironment> {
    serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
}
