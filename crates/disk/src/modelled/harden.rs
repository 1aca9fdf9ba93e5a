//! Prevents the server from waiting for the disk that it serves.
//!
//! When memory is short, the kernel frees some by writing to disks. If the server waited for a write to its own disk, both would wait
//! forever. Therefore the server locks its memory, so that it never has to be read back; it is an "I/O flusher", which never waits for
//! writes when it allocates memory; it leaves any memory control group that its users may fill; and it is the last process to be killed
//! when memory runs out.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

/// The protections in effect. A system or a container may not allow all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Hardening {
    /// The memory is locked.
    pub memory_locked: bool,
    /// The process is an I/O flusher.
    pub io_flusher: bool,
    /// The OOM killer kills the process last.
    pub last_to_be_ended: bool,
    /// The process is in the root memory control group, or the system has none.
    pub outermost_memory_group: bool,
}

impl Hardening {
    /// The protections expected for a server started by this process, given its capabilities.
    pub fn expected() -> Hardening {
        let has = |capability| {
            rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
        };
        let resource = has(CapabilitySet::SYS_RESOURCE);
        Hardening {
            memory_locked: has(CapabilitySet::IPC_LOCK),
            io_flusher: resource,
            last_to_be_ended: resource,
            outermost_memory_group: true,
        }
    }

    /// Describes the missing protections; `None` if there are none.
    pub fn lacks(&self) -> Option<String> {
        let wants = [
            (self.memory_locked, "its memory is not locked (CAP_IPC_LOCK)"),
            (self.io_flusher, "it is not an I/O flusher (CAP_SYS_RESOURCE)"),
            (self.last_to_be_ended, "the OOM killer may end it (CAP_SYS_RESOURCE)"),
            (self.outermost_memory_group, "it is in the memory group of the process that started it"),
        ];
        let lacks: Vec<_> = wants.into_iter().filter(|(holds, _)| !holds).map(|(_, lack)| lack).collect();
        (!lacks.is_empty()).then(|| lacks.join("; "))
    }
}

/// Applies every protection that the system allows. Call it before starting threads.
pub fn harden() -> Hardening {
    // Modelled times are slept, and on a fast disk they are shorter than the default timer slack.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    // `MCL_ONFAULT`: pages that are never touched, such as most of the buffers for the largest requests, take no memory.
    let locking = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    Hardening {
        io_flusher: rustix::process::configure_io_flusher_behavior(true).is_ok(),
        last_to_be_ended: std::fs::write("/proc/self/oom_score_adj", "-1000").is_ok(),
        outermost_memory_group: leave_memory_group(),
        memory_locked: mlockall(locking).is_ok(),
    }
}

/// Moves to the root memory control group (cgroup v1 and v2); true if the process is there.
fn leave_memory_group() -> bool {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut left = true;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs"],
            all if all.split(',').any(|one| one == "memory") => &["/sys/fs/cgroup/memory/cgroup.procs"],
            _ => continue,
        };
        left &= path == "/" || roots.iter().any(|root| std::fs::write(root, "0").is_ok());
    }
    left
}
