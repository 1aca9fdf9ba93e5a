//! What keeps the server from waiting for the disk that it serves.
//!
//! When memory is short the kernel frees some by writing to disks. If the server had to wait for that, and the disk
//! were its own, both would wait for ever. So: its memory is locked, so that none of it has to be read back; as an
//! "I/O flusher" it never waits for writes when it asks for memory; it is not counted in a memory group that its
//! users may fill; and it is the last to be ended when there is no memory at all.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

/// What holds of this. A machine, or a container, may withhold it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Hardening {
    /// Its memory is locked.
    pub memory_locked: bool,
    /// It is an I/O flusher.
    pub io_flusher: bool,
    /// It is the last to be ended for want of memory.
    pub last_to_be_ended: bool,
    /// It is in the outermost memory group, or there are none.
    pub outermost_memory_group: bool,
}

impl Hardening {
    /// What would hold of a server that this process started, by its capabilities.
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

    /// What does not hold, in words; none if all is well.
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

/// Does all of it, before threads start; each where the machine allows it.
pub fn harden() -> Hardening {
    // Modelled times are slept, and those of a fast disk are shorter than the slack that timers usually have.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    // On fault: what is never touched, as most of the room for the largest requests, takes no memory.
    let locking = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    Hardening {
        io_flusher: rustix::process::configure_io_flusher_behavior(true).is_ok(),
        last_to_be_ended: std::fs::write("/proc/self/oom_score_adj", "-1000").is_ok(),
        outermost_memory_group: leave_memory_group(),
        memory_locked: mlockall(locking).is_ok(),
    }
}

/// Moves to the outermost memory group, in the first and the second version of control groups; true if it is there.
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
