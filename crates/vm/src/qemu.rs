//! The command line of QEMU.

use crate::Error;
use crate::job::{ROOT_TAG, port};
use crate::watch::Patience;
use disk::{command, run_tool};
use serde::{Deserialize, Serialize};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// What executes the instructions of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The processor.
    Kvm,
    /// QEMU, which translates them: ten to twenty times slower.
    Tcg,
}

impl Accelerator {
    /// As QEMU calls it.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }

    /// How long is waited for a machine that it executes.
    pub(crate) fn patience(self) -> Patience {
        let (first_word, boot) = match self {
            // It hangs where a host offers it and lacks what it takes.
            Accelerator::Kvm => (5, 60),
            Accelerator::Tcg => (90, 300),
        };
        Patience {
            first_word: Duration::from_secs(first_word),
            boot: Duration::from_secs(boot),
            silence: Duration::from_secs(180),
        }
    }
}

/// The version of QEMU, as in `7.2.22`.
pub fn qemu_version() -> Result<String, Error> {
    let output = run_tool(command(PROGRAM).arg("--version"), PACKAGE)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1);
    Ok(version.unwrap_or("of an unknown version").to_owned())
}

/// A machine to start. File descriptors are those that QEMU inherits.
pub struct Qemu<'a> {
    pub accelerator: Accelerator,
    pub kernel: RawFd,
    pub initramfs: RawFd,
    /// A stream socket.
    pub talk: RawFd,
    /// Ends of pipes to be written to.
    pub console: RawFd,
    pub out: RawFd,
    pub err: RawFd,
    pub memory_bytes: u64,
    /// Where memory may be added while it runs.
    pub memory: Option<Memory>,
    pub processors: usize,
    /// Directories that the machine may write to, with their tags.
    pub writable: &'a [(String, PathBuf)],
    /// The program that the kernel starts.
    pub init: &'a str,
}

/// Two stream sockets: the machine asks for memory by one, and QEMU is told to add it by the other.
pub struct Memory {
    pub asked: RawFd,
    pub monitor: RawFd,
}

/// So much memory there can be in all.
const MOST_MEMORY: &str = "512G";

impl Qemu<'_> {
    pub fn command(&self) -> Command {
        let mut command = command(PROGRAM);
        command.args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-machine",
            "pc",
            "-cpu",
            "max",
        ]);
        command.args([
            "-accel",
            match self.accelerator {
                Accelerator::Kvm => "kvm",
                // The kernel switches trace events on by patching its code behind a breakpoint. With a thread for each processor
                // one of them may still execute the breakpoint that is gone, and the kernel panics (seen with QEMU 7.2).
                Accelerator::Tcg => "tcg,thread=single",
            },
        ]);
        let most = self.memory.as_ref().map_or_else(String::new, |_| format!(",maxmem={MOST_MEMORY}"));
        command.args(["-m", &format!("{}M{most}", self.memory_bytes >> 20)]);
        command.args(["-smp", &self.processors.to_string()]);
        command.args(["-kernel", &inherited(self.kernel), "-initrd", &inherited(self.initramfs)]);
        // A panic ends the machine. `LD_LIBRARY_PATH` is for the first process: its loader knows of no other directory. On a busy host an
        // emulated processor may see no tick in the time that the kernel tests the timer for, and it would panic; under KVM it tests none.
        let line = "console=ttyS0 earlyprintk=ttyS0 loglevel=6 panic=-1 oops=panic no_timer_check LD_LIBRARY_PATH=/lib";
        command.args(["-append", &format!("{line} rdinit={}", self.init)]);
        for (id, fd) in [("console", self.console), ("out", self.out), ("err", self.err)] {
            command.arg("-chardev").arg(format!("file,id={id},path={}", inherited(fd)));
        }
        command.arg("-chardev").arg(format!("socket,id=talk,fd={}", self.talk));
        command.args(["-serial", "chardev:console", "-device", "virtio-serial-pci"]);
        for (id, name) in [("talk", port::TALK), ("out", port::OUT), ("err", port::ERR)] {
            command.arg("-device").arg(format!("virtserialport,chardev={id},name={name}"));
        }
        if let Some(Memory { asked, monitor }) = &self.memory {
            command.arg("-chardev").arg(format!("socket,id=memory,fd={asked}"));
            command.arg("-device").arg(format!("virtserialport,chardev=memory,name={}", port::MEMORY));
            command.arg("-chardev").arg(format!("socket,id=monitor,fd={monitor}"));
            command.args(["-mon", "chardev=monitor,mode=control"]);
        }
        share(&mut command, ROOT_TAG, Path::new("/"), ",readonly=on");
        for (tag, dir) in self.writable {
            share(&mut command, tag, dir, "");
        }
        command
    }
}

/// Lets the machine see `dir` under the name `tag`, with the rights of the user who runs it.
fn share(command: &mut Command, tag: &str, dir: &Path, how: &str) {
    // A comma would end the value.
    let dir = dir.to_string_lossy().replace(',', ",,");
    command.arg("-fsdev").arg(format!("local,id={tag},path={dir},security_model=none,multidevs=remap{how}"));
    command.arg("-device").arg(format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"));
}

fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}
