//! The write cache of a drive: runs of bytes that are not yet on the media, merged where they touch and destaged in one direction, like an
//! elevator.

use std::collections::BTreeMap;

/// The waiting runs, and the run that is being destaged.
pub(super) struct WriteCache {
    capacity_bytes: u64,
    /// Start and end of each waiting run; no two touch.
    runs: BTreeMap<u64, u64>,
    /// Bytes of the waiting runs and the run that is being destaged.
    used_bytes: u64,
    /// Completion time and length of the run that is being destaged.
    destaging: Option<(f64, u64)>,
}

impl WriteCache {
    pub fn new(capacity_bytes: u64) -> WriteCache {
        WriteCache { capacity_bytes, runs: BTreeMap::new(), used_bytes: 0, destaging: None }
    }

    /// Whether a run of this length fits into an empty cache.
    pub fn could_hold(&self, bytes: u64) -> bool {
        bytes <= self.capacity_bytes
    }

    /// Whether a run of this length fits now.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes + bytes <= self.capacity_bytes
    }

    pub fn is_empty(&self) -> bool {
        self.used_bytes == 0
    }

    /// Whether the cache holds all of `start..end`.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.runs.range(..=start).next_back().is_some_and(|(_, &run_end)| end <= run_end)
    }

    /// Inserts a written run; it replaces overlapping data and merges with adjacent runs.
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        while let Some((&run_start, &run_end)) = self.runs.range(..=end).next_back() {
            if run_end < start {
                break;
            }
            self.runs.remove(&run_start);
            self.used_bytes -= run_end - run_start;
            (start, end) = (start.min(run_start), end.max(run_end));
        }
        self.runs.insert(start, end);
        self.used_bytes += end - start;
    }

    /// Whether destaging should start in the background: no run is being destaged, and more than half of the cache is used.
    pub fn should_destage(&self) -> bool {
        self.destaging.is_none() && self.used_bytes > self.capacity_bytes / 2
    }

    /// The next few runs for a head at `head`, upwards and then again from the lowest, cut so that a read waits for at most a quarter of
    /// the cache. They stay in the cache until [`Self::begin_destage`] is called.
    pub fn next_runs(&self, head: u64) -> impl Iterator<Item = (u64, u64)> {
        let longest = (self.capacity_bytes / 4).max(4096);
        let around = self.runs.range(head..).chain(self.runs.range(..head));
        around.take(32).map(move |(&start, &end)| (start, end.min(start + longest)))
    }

    /// Marks a run of [`Self::next_runs`] as being destaged until `done_ns`.
    pub fn begin_destage(&mut self, start: u64, end: u64, done_ns: f64) {
        if let Some(run_end) = self.runs.remove(&start)
            && run_end > end
        {
            self.runs.insert(end, run_end);
        }
        self.destaging = Some((done_ns, end - start));
    }

    /// Drops the run that is being destaged if it is on the media by `now_ns`.
    pub fn finish_destage(&mut self, now_ns: f64) {
        if self.destaging.is_some_and(|(done_ns, _)| done_ns <= now_ns) {
            self.wait_for_destage();
        }
    }

    /// Removes the run that is being destaged and returns the time at which it is on the media, or `None` if there is none.
    pub fn wait_for_destage(&mut self) -> Option<f64> {
        let (done_ns, bytes) = self.destaging.take()?;
        self.used_bytes -= bytes;
        Some(done_ns)
    }
}
