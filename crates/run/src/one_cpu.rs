//! Keeps a thread on one processor.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// While it exists, the thread that created it, and what it starts, run on one processor. File systems choose places by processor: ext4 has a
/// group of blocks for small files on each, XFS frees inodes on each. A thread that moves gives every aging another layout.
pub(crate) struct OneCpu {
    before: Option<CpuSet>,
}

impl OneCpu {
    /// Keeps the calling thread on the first of its processors. Does nothing if the system refuses: only repeatability suffers.
    pub fn keep() -> OneCpu {
        OneCpu::keep_nth(0)
    }

    /// Keeps the calling thread on one of its processors, counted from 0 and round again.
    pub fn keep_nth(nth: usize) -> OneCpu {
        let keep = |all: &CpuSet| {
            let mut one = CpuSet::new();
            let nth = nth % (all.count() as usize).max(1);
            one.set((0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).nth(nth)?);
            sched_setaffinity(None, &one).ok()
        };
        let before = sched_getaffinity(None).ok();
        OneCpu { before: before.filter(|all| keep(all).is_some()) }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_is_on_one_processor_until_dropped() {
        let count = || sched_getaffinity(None).unwrap().count();
        let before = count();
        let kept = OneCpu::keep();
        assert_eq!(count(), 1);
        assert_eq!(std::thread::spawn(count).join().unwrap(), 1);
        drop(kept);
        assert_eq!(count(), before);
    }
}
