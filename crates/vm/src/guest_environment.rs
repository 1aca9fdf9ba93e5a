//! Information about the virtual machine for the program inside.

use crate::{Accelerator, Kernel};
use serde::{Deserialize, Serialize};

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
}

impl GuestEnvironment {
    /// A short description: `QEMU 7.2.22, tcg`.
    pub fn description(&self) -> String {
        format!("QEMU {}, {}", self.qemu, self.accelerator.name())
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
