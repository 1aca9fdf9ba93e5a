//! What keeps the server from waiting for the disk that it serves.
//!
//! When memory is short the kernel frees some by writing to disks. If the server had to wait for that, and the disk
//! were its own, both would wait for ever. So: its memory is locked, so that none of it has to be read back; as an
//! "I/O flusher" it never waits for writes when it asks for memory; it is not counted in a memory group that its
//! users may fill; and it is the last to be ended when there is no memory at all.

use rustix::mm::{MlockAllFlags, mlockall};

/// Does all of it, before threads start; each where the machine allows it.
pub fn harden() {
    let _ = rustix::process::configure_io_flusher_behavior(true);
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    leave_memory_group();
    // Modelled times are slept, and those of a fast disk are shorter than the slack that timers usually have.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    // On fault: buffers that are larger than any request so far take no memory.
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
}

/// Moves to the outermost memory group, in the first and the second version of control groups.
fn leave_memory_group() {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
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
        if path != "/" {
            roots.iter().for_each(|root| drop(std::fs::write(root, "0")));
        }
    }
}
