//! What a program knows of the machine that it runs in.

use crate::{Accelerator, Kernel};
use serde::{Deserialize, Serialize};

/// The variable that says it.
pub const VARIABLE: &str = "SENESCE_VM";

/// The virtual machine around this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    /// The version of QEMU.
    pub qemu: String,
    /// What executes the machine's instructions.
    pub accelerator: Accelerator,
    /// The kernel, as the host has it.
    pub kernel: Kernel,
}

impl Inside {
    /// In a few words: `QEMU 7.2.22, tcg`.
    pub fn words(&self) -> String {
        format!("QEMU {}, {}", self.qemu, self.accelerator.name())
    }
}

/// The virtual machine of ours that this process runs in, if it does.
pub fn inside() -> Option<Inside> {
    serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
}
