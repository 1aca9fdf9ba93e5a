//! The command line of QEMU.
//!
//! What makes times repeat: `-icount` with a fixed shift and without sleep, one processor in one thread, a clock that
//! starts at a fixed date, no device that completes requests in a thread of the host, no address randomization, and
//! constants for what the kernel otherwise calibrates.

use super::AttachedDisk;
use crate::job::PROGRAM as INIT;
use crate::qemu::{PROGRAM, inherited, value};
use disk::command;
use std::os::fd::RawFd;
use std::process::Command;

/// Memory of the kernel and its page cache in bytes, the same for all disks, which have their own.
pub const VIRTUAL_TIME_MEMORY_BYTES: u64 = 1 << 30;

/// Where the first disk is; memory of the machine cannot go there.
const FIRST_DISK: u64 = 4 << 30;

/// The date when the machine boots: later than those of the files on any disk.
const DATE: &str = "2038-01-01T00:00:00";

/// What the kernel is told about the machine, so that it need not measure or randomize.
const KERNEL: &str = "nokaslr norandmaps tsc=reliable tsc_early_khz=1000000 lpj=4000000 mitigations=off no_timer_check random.trust_cpu=on";

/// The QEMU process to start. It inherits the file descriptors.
pub struct Qemu<'a> {
    pub kernel: RawFd,
    pub initramfs: RawFd,
    /// Write ends of pipes.
    pub console: RawFd,
    pub result: RawFd,
    /// The disks and their sizes in bytes.
    pub disks: Vec<(&'a AttachedDisk, u64)>,
    pub seed: u64,
}

impl Qemu<'_> {
    pub fn command(&self) -> Command {
        let mut command = command(PROGRAM);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        command.args(["-machine", "pc,max-ram-below-4g=1G", "-cpu", "qemu64", "-smp", "1"]);
        command.args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
        command.args(["-rtc", &format!("base={DATE},clock=vm"), "-seed", "1"]);
        self.memory(&mut command);
        command.args(["-kernel", &inherited(self.kernel), "-initrd", &inherited(self.initramfs)]);
        command.args(["-append", &self.kernel_line()]);
        for (id, fd) in [("console", self.console), ("result", self.result)] {
            command.arg("-chardev").arg(format!("file,id={id},path={}", inherited(fd)));
            command.args(["-serial", &format!("chardev:{id}")]);
        }
        command
    }

    /// The memory of the kernel, then one node for each disk, which has the file as its memory.
    fn memory(&self, command: &mut Command) {
        let all = VIRTUAL_TIME_MEMORY_BYTES + self.disks.iter().map(|(_, bytes)| bytes).sum::<u64>();
        command.args(["-m", &format!("{}M", all >> 20)]);
        command.args(["-object", &format!("memory-backend-ram,id=memory,size={VIRTUAL_TIME_MEMORY_BYTES}")]);
        command.args(["-numa", "node,cpus=0,memdev=memory"]);
        for (index, (disk, bytes)) in self.disks.iter().enumerate() {
            let share = if disk.is_written { "on" } else { "off" };
            command.arg("-object").arg(format!(
                "memory-backend-file,id=disk{index},size={bytes},share={share},mem-path={}",
                value(&disk.image)
            ));
            command.args(["-numa", &format!("node,memdev=disk{index}")]);
        }
    }

    /// The seed has always the same length, so that it moves nothing else in memory.
    fn kernel_line(&self) -> String {
        let mut line = format!(
            "console=ttyS0 loglevel=6 panic=-1 oops=panic hung_task_panic=1 {KERNEL} LD_LIBRARY_PATH=/lib rdinit={INIT} seed={:020}",
            self.seed
        );
        let mut at = FIRST_DISK;
        for (_, bytes) in &self.disks {
            line += &format!(" memmap={bytes}!{at}");
            at += bytes;
        }
        line
    }
}
