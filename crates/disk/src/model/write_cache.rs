//! Writes that a drive has taken and not yet brought to its media: runs of bytes, merged where they touch, and brought
//! there in one direction, as an elevator goes.

use std::collections::BTreeMap;

/// The written runs that wait, and the one on its way to the media.
pub(super) struct WriteCache {
    capacity_bytes: u64,
    /// Start and end of each waiting run; no two touch.
    runs: BTreeMap<u64, u64>,
    /// Bytes that wait or are on their way.
    used_bytes: u64,
    /// When the run on its way is on the media, and its length.
    leaving: Option<(f64, u64)>,
}

impl WriteCache {
    pub fn new(capacity_bytes: u64) -> WriteCache {
        WriteCache { capacity_bytes, runs: BTreeMap::new(), used_bytes: 0, leaving: None }
    }

    /// Whether it could ever hold so much.
    pub fn could_hold(&self, bytes: u64) -> bool {
        bytes <= self.capacity_bytes
    }

    /// Whether it has room for so much now.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes + bytes <= self.capacity_bytes
    }

    pub fn is_empty(&self) -> bool {
        self.used_bytes == 0
    }

    /// Whether all of `start..end` waits in it.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.runs.range(..=start).next_back().is_some_and(|(_, &run_end)| end <= run_end)
    }

    /// Takes a written run; what waited of it already is replaced.
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

    /// Whether the media should be written to without being asked: nothing is on its way, and half of it is full.
    pub fn wants_to_leave(&self) -> bool {
        self.leaving.is_none() && self.used_bytes > self.capacity_bytes / 2
    }

    /// The next few runs for a head at `head`, upwards and then from the lowest again, cut such that a read waits for a
    /// quarter of the cache at most. They go on waiting until [`Self::leave`] has one.
    pub fn next_runs(&self, head: u64) -> impl Iterator<Item = (u64, u64)> {
        let longest = (self.capacity_bytes / 4).max(4096);
        let around = self.runs.range(head..).chain(self.runs.range(..head));
        around.take(32).map(move |(&start, &end)| (start, end.min(start + longest)))
    }

    /// A run of [`Self::next_runs`] is on its way, and on the media at `done_ns`.
    pub fn leave(&mut self, start: u64, end: u64, done_ns: f64) {
        if let Some(run_end) = self.runs.remove(&start)
            && run_end > end
        {
            self.runs.insert(end, run_end);
        }
        self.leaving = Some((done_ns, end - start));
    }

    /// Forgets the run on its way if it is on the media by `now_ns`.
    pub fn arrive(&mut self, now_ns: f64) {
        if self.leaving.is_some_and(|(done_ns, _)| done_ns <= now_ns) {
            self.await_leaving();
        }
    }

    /// When the run on its way is on the media; it takes no room any more then. None if none is on its way.
    pub fn await_leaving(&mut self) -> Option<f64> {
        let (done_ns, bytes) = self.leaving.take()?;
        self.used_bytes -= bytes;
        Some(done_ns)
    }
}
