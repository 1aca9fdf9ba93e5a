//! A drive with moving heads: seek, rotation, zones, read-ahead into a buffer, a write cache (after Ruemmler and Wilkes, *An Introduction
//! to Disk Drive Modeling*, 1994).
//!
//! After a read the head continues to read ahead until it has to move. A request directly behind the previous one therefore finds its bytes
//! under the head or in the buffer, and a request that skips a little is reached by reading on if that is faster than seeking. Data that
//! was read ahead stays in one of a few segments of the buffer. A head that has filled its segment stops and continues when the host has
//! taken some of it; the model assumes that this costs no rotation.
//!
//! A drive that reads on arrival also keeps what passes under the head while it waits for the first byte (DiskSim's parameter "Read any free
//! blocks": Bucy et al., The DiskSim Simulation Environment, CMU-PDL-08-101, 2008), so requests that jump to and fro on a track find their
//! bytes in the buffer.

use super::geometry::Geometry;
use super::parameters::HddParameters;
use super::write_cache::WriteCache;
use std::collections::VecDeque;

/// The state of a drive. Byte positions count from the outer edge of the drive, times are in nanoseconds.
pub(super) struct Drive {
    geometry: Geometry,
    command_ns: f64,
    write_settle_ns: f64,
    host_bytes_per_ns: f64,
    segment_bytes: u64,
    segments_max: usize,
    reads_on_arrival: bool,
    /// Buffer contents of earlier streams, oldest first.
    segments: VecDeque<(u64, u64)>,
    stream: Stream,
    writes: WriteCache,
    /// The time at which the head has completed its commands.
    head_free_ns: f64,
}

/// The range that the head reads, and reads ahead.
struct Stream {
    /// First byte of the stream in the buffer.
    start: u64,
    /// The position that the head had read up to at `anchor_ns`.
    anchor: u64,
    anchor_ns: f64,
    /// The position at which read-ahead stops.
    limit: u64,
}

/// How a read gets its bytes; the times are when the last byte is available.
enum Strategy {
    Buffered,
    Streamed(f64),
    Sought(f64),
}

impl Drive {
    /// A drive at rest with its head at `start`.
    pub fn new(hdd: &HddParameters, drive_bytes: u64, start: u64) -> Drive {
        let geometry = Geometry::new(hdd, drive_bytes);
        Drive {
            geometry,
            command_ns: hdd.command_ms * 1e6,
            write_settle_ns: hdd.write_settle_ms * 1e6,
            host_bytes_per_ns: hdd.host_mb_per_s / 1e3,
            segment_bytes: hdd.read_segment_bytes,
            segments_max: hdd.read_segments as usize,
            reads_on_arrival: hdd.read_on_arrival,
            segments: VecDeque::new(),
            stream: Stream { start, anchor: start, anchor_ns: 0.0, limit: start },
            writes: WriteCache::new(hdd.write_cache_bytes),
            head_free_ns: 0.0,
        }
    }

    /// The completion time of a command without data.
    pub fn idle_command(&self, arrival_ns: f64) -> f64 {
        arrival_ns + self.command_ns
    }

    /// Reads `start..end`. Returns the completion time.
    pub fn read(&mut self, start: u64, end: u64, arrival_ns: f64) -> f64 {
        self.read_all(&[(start, end)], arrival_ns)
    }

    /// Reads ranges, from start to end, by one command. Returns the completion time.
    pub fn read_all(&mut self, ranges: &[(u64, u64)], arrival_ns: f64) -> f64 {
        let now_ns = arrival_ns + self.command_ns;
        ranges.iter().fold(now_ns, |done_ns, &(start, end)| done_ns.max(self.read_range(start, end, now_ns)))
    }

    fn read_range(&mut self, start: u64, end: u64, now_ns: f64) -> f64 {
        let to_host_ns = (end - start) as f64 / self.host_bytes_per_ns;
        let free_ns = now_ns.max(self.head_free_ns);
        let read_ns = match self.strategy(start, end, free_ns) {
            Strategy::Buffered => {
                let (from, to) = self.buffered(free_ns);
                if from <= start && end <= to {
                    self.read_on_behind(end, free_ns);
                }
                now_ns
            }
            Strategy::Streamed(ready_ns) => {
                self.read_on_behind(end, free_ns);
                self.head_free_ns = self.head_free_ns.max(ready_ns);
                ready_ns
            }
            Strategy::Sought(ready_ns) => {
                let passed = match self.reads_on_arrival {
                    true => self.geometry.passed_bytes(free_ns, self.head(free_ns), start),
                    false => 0,
                };
                self.save_stream(free_ns);
                let limit = end.saturating_add(self.segment_bytes);
                self.stream = Stream { start: start - passed, anchor: end, anchor_ns: ready_ns, limit };
                self.head_free_ns = ready_ns;
                ready_ns
            }
        };
        // The transfer to the host overlaps with reading the next bytes.
        read_ns.max(now_ns + to_host_ns)
    }

    /// Puts a write into the cache; waits for space if necessary.
    pub fn write(&mut self, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let mut now_ns = arrival_ns + self.command_ns;
        let to_host_ns = (end - start) as f64 / self.host_bytes_per_ns;
        self.forget(start, end, now_ns);
        if !self.writes.could_hold(end - start) {
            now_ns = self.destage_all(now_ns);
            return self.write_media(start, end, now_ns).max(now_ns + to_host_ns);
        }
        self.writes.finish_destage(now_ns);
        while !self.writes.has_room(end - start) {
            now_ns = self.destage_next(now_ns);
        }
        self.writes.insert(start, end);
        if self.writes.should_destage() {
            self.start_destaging(now_ns);
        }
        now_ns + to_host_ns
    }

    /// Writes all cached data to the media.
    pub fn flush(&mut self, arrival_ns: f64) -> f64 {
        self.destage_all(arrival_ns + self.command_ns)
    }

    /// Writes to the media, bypassing the cache. The head stops at the end of the written range.
    pub fn write_media(&mut self, start: u64, end: u64, now_ns: f64) -> f64 {
        let now_ns = now_ns.max(self.head_free_ns);
        self.forget(start, end, now_ns);
        let head = self.head(now_ns);
        let done_ns = self.transfer_ns(head, start, end, now_ns + self.settle_ns(head, start));
        self.save_stream(now_ns);
        self.stream = Stream { start: end, anchor: end, anchor_ns: done_ns, limit: end };
        self.head_free_ns = done_ns;
        done_ns
    }

    /// The time until the head has read `start..end`; 0 if the range is cached.
    pub fn access_ns(&self, start: u64, end: u64) -> f64 {
        match self.strategy(start, end, self.head_free_ns) {
            Strategy::Buffered => 0.0,
            Strategy::Streamed(ready_ns) | Strategy::Sought(ready_ns) => ready_ns - self.head_free_ns,
        }
    }

    /// The fastest strategy to read `start..end` for a head that is free at `now_ns`.
    fn strategy(&self, start: u64, end: u64, now_ns: f64) -> Strategy {
        let head = self.head(now_ns);
        let within = |&(from, to): &(u64, u64)| from <= start && end <= to;
        let stream = self.buffered(now_ns);
        if within(&stream) || self.segments.iter().any(within) || self.writes.holds(start, end) {
            return Strategy::Buffered;
        }
        let sought_ns = self.transfer_ns(head, start, end, now_ns);
        // A head that has reached the read-ahead limit has stopped and lost its position.
        if stream.0 <= start && head < self.stream.limit {
            let rotations =
                self.geometry.rotations_behind(end) - self.geometry.rotations_behind(self.stream.anchor);
            let streamed_ns = self.stream.anchor_ns + rotations * self.geometry.rotation_ns;
            if streamed_ns <= sought_ns {
                return Strategy::Streamed(streamed_ns);
            }
        }
        Strategy::Sought(sought_ns)
    }

    /// The time at which a head at `head` has moved to `start` and passed over everything up to `end`.
    fn transfer_ns(&self, head: u64, start: u64, end: u64, now_ns: f64) -> f64 {
        let rotations = self.geometry.rotations_behind(end) - self.geometry.rotations(start);
        self.geometry.reach_ns(now_ns, head, start) + rotations.max(0.0) * self.geometry.rotation_ns
    }

    /// The settle time before a write at `start`; 0 if the write continues the previous one.
    fn settle_ns(&self, head: u64, start: u64) -> f64 {
        if head == start { 0.0 } else { self.write_settle_ns }
    }

    /// The position that the head has read or written up to at `now_ns`.
    fn head(&self, now_ns: f64) -> u64 {
        let stream = &self.stream;
        if now_ns <= stream.anchor_ns || stream.anchor >= stream.limit {
            return stream.anchor;
        }
        let rotations = (now_ns - stream.anchor_ns) / self.geometry.rotation_ns;
        self.geometry.byte_at(self.geometry.rotations_behind(stream.anchor) + rotations).min(stream.limit)
    }

    /// The part of the stream that its buffer segment holds at `now_ns`: the most recently read bytes.
    fn buffered(&self, now_ns: f64) -> (u64, u64) {
        let end = self.head(now_ns);
        (self.stream.start.max(end.saturating_sub(self.segment_bytes)), end)
    }

    /// Continues read-ahead behind `end`, which the host has taken at `now_ns`. A stopped head resumes from its position.
    fn read_on_behind(&mut self, end: u64, now_ns: f64) {
        let head = self.head(now_ns);
        let stream = &mut self.stream;
        if head >= stream.limit {
            (stream.anchor, stream.anchor_ns) = (head, now_ns.max(stream.anchor_ns));
        }
        stream.limit = stream.limit.max(end.saturating_add(self.segment_bytes));
    }

    /// Saves the buffered part of the stream at `now_ns` in a segment of its own.
    fn save_stream(&mut self, now_ns: f64) {
        let (start, end) = self.buffered(now_ns);
        if start < end && self.segments_max > 0 {
            if self.segments.len() == self.segments_max {
                self.segments.pop_front();
            }
            self.segments.push_back((start, end));
        }
    }

    /// Drops the buffered data at `now_ns` of `start..end`, which is being overwritten.
    fn forget(&mut self, start: u64, end: u64, now_ns: f64) {
        self.segments.retain(|&(from, to)| end <= from || to <= start);
        if start < self.stream.limit && self.buffered(now_ns).0 < end {
            self.stream.start = self.stream.limit;
        }
    }

    fn destage_all(&mut self, mut now_ns: f64) -> f64 {
        while !self.writes.is_empty() {
            now_ns = self.destage_next(now_ns);
        }
        now_ns
    }

    /// Waits for the run that is being destaged, or starts destaging the next one. Returns the time afterwards.
    fn destage_next(&mut self, now_ns: f64) -> f64 {
        match self.writes.wait_for_destage() {
            Some(done_ns) => done_ns.max(now_ns),
            None => {
                self.start_destaging(now_ns);
                now_ns
            }
        }
    }

    /// Starts destaging a run: of the next runs, the one whose write can begin first.
    fn start_destaging(&mut self, now_ns: f64) {
        let free_ns = now_ns.max(self.head_free_ns);
        let head = self.head(free_ns);
        let begun_ns = |&(start, _): &(u64, u64)| {
            self.geometry.reach_ns(free_ns + self.settle_ns(head, start), head, start)
        };
        let next = self.writes.next_runs(head).min_by(|a, b| begun_ns(a).total_cmp(&begun_ns(b)));
        if let Some((start, end)) = next {
            let done_ns = self.write_media(start, end, now_ns);
            self.writes.begin_destage(start, end, done_ns);
        }
    }
}
