//! The command line of QEMU.

use crate::Error;
use crate::job::{ROOT_TAG, port};
use crate::watch::Timeouts;
use disk::{command, run_tool};
use serde::{Deserialize, Serialize};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// The accelerator of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The processor (KVM).
    Kvm,
    /// Translation by QEMU: ten to twenty times slower.
    Tcg,
}

impl Accelerator {
    /// QEMU's name of the accelerator.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }

    /// The time limits of a machine with this accelerator.
    pub(crate) fn timeouts(self) -> Timeouts {
        let (first_output, boot) = match self {
            // KVM can be offered by a host but hang because the host lacks a requirement.
            Accelerator::Kvm => (5, 60),
            Accelerator::Tcg => (90, 300),
        };
        Timeouts {
            first_output: Duration::from_secs(first_output),
            boot: Duration::from_secs(boot),
            silence: Duration::from_secs(180),
        }
    }
}

/// The version of QEMU, such as `7.2.22`.
pub fn qemu_version() -> Result<String, Error> {
    let output = run_tool(command(PROGRAM).arg("--version"), PACKAGE)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1);
    Ok(version.unwrap_or("of an unknown version").to_owned())
}

/// The QEMU process to start. It inherits the file descriptors.
pub struct Qemu<'a> {
    pub accelerator: Accelerator,
    pub kernel: RawFd,
    pub initramfs: RawFd,
    /// A stream socket.
    pub talk: RawFd,
    /// Write ends of pipes.
    pub console: RawFd,
    pub out: RawFd,
    pub err: RawFd,
    pub memory_bytes: u64,
    /// Channels for adding memory to the running machine.
    pub memory: Option<Memory>,
    pub processors: usize,
    /// Writable directories and their tags.
    pub writable: &'a [(String, PathBuf)],
    /// The init program.
    pub init: &'a str,
}

/// Two stream sockets: the machine requests memory through one, QEMU's monitor is connected to the other.
pub struct Memory {
    pub asked: RawFd,
    pub monitor: RawFd,
}

/// Upper limit of the total memory.
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
                // The kernel enables trace events by patching its code behind a breakpoint. With one thread
                // per processor, one of them may still execute the removed breakpoint, and the kernel panics
                // (seen with QEMU 7.2).
                Accelerator::Tcg => "tcg,thread=single",
            },
        ]);
        let most = self.memory.as_ref().map_or_else(String::new, |_| format!(",maxmem={MOST_MEMORY}"));
        command.args(["-m", &format!("{}M{most}", self.memory_bytes >> 20)]);
        command.args(["-smp", &self.processors.to_string()]);
        command.args(["-kernel", &inherited(self.kernel), "-initrd", &inherited(self.initramfs)]);
        // A panic ends the machine. The first process needs `LD_LIBRARY_PATH`, because its loader knows no
        // other directory. On a busy host an emulated processor may see no tick during the kernel's timer
        // test, and would panic; under KVM there is no such test.
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

/// Shares `dir` with the machine under the name `tag`, with the permissions of this user.
fn share(command: &mut Command, tag: &str, dir: &Path, how: &str) {
    let dir = value(dir);
    command.arg("-fsdev").arg(format!("local,id={tag},path={dir},security_model=none,multidevs=remap{how}"));
    command.arg("-device").arg(format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"));
}

/// A path as the value of an option, in which a comma is doubled.
pub fn value(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

/// The path of an inherited file.
pub fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}
