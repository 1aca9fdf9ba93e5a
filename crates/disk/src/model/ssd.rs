//! A flash drive: dies behind channels, a controller, an address table, read-ahead.
//!
//! Scattered reads are slow for these reasons: every page that was not read ahead must be sensed before its transfer (Agrawal et al., ATC
//! 2008); pages of one request or window may be on the same die and wait for each other (Chen, Lee and Zhang, HPCA 2011; Jun et al., FAST
//! 2024); their part of the address table may not be in memory (Gupta et al., DFTL, ASPLOS 2009); and the drive's own read-ahead, which
//! hides all of this from a sequential stream, does not help when addresses jump (Chen, Koufaty and Zhang, SIGMETRICS 2009). Addresses are
//! striped over the dies page by page.

use super::parameters::SsdParameters;
use lru::LruCache;
use std::collections::VecDeque;
use std::hash::Hash;

/// The state of a flash drive. Times are in nanoseconds.
pub(super) struct Flash {
    page_bytes: u64,
    page_read_ns: f64,
    page_program_ns: f64,
    bus_bytes_per_ns: f64,
    host_bytes_per_ns: f64,
    command_ns: f64,
    turnaround_ns: f64,
    /// Bytes of the disk covered by one page of the address table.
    map_page_covers: u64,
    /// The times at which the controller, the link, each channel and each die are free.
    controller_free_ns: f64,
    link_free_ns: f64,
    channels_free_ns: Vec<f64>,
    dies_free_ns: Vec<f64>,
    /// The pages of the address table in memory.
    map: Recent<u64, ()>,
    /// The pages read ahead, and the times at which they are available.
    ahead: Recent<u64, f64>,
    /// Streams, keyed by a serial number.
    streams: Recent<u64, Stream>,
    streams_made: u64,
    read_ahead_bytes: u64,
    writes: Writes,
}

/// A sequence of adjacent reads.
#[derive(Clone, Copy)]
struct Stream {
    end: u64,
    /// Length of the read-ahead window behind its end.
    window_bytes: u64,
}

/// Written data on its way to the flash. It fills pages one after another regardless of its addresses, like a log.
struct Writes {
    buffer_bytes: u64,
    /// Bytes that do not yet fill a page.
    part_bytes: u64,
    /// Completion times of the pages being programmed, in the round-robin order of the dies.
    programs_ns: VecDeque<f64>,
    next_die: usize,
}

impl Flash {
    pub fn new(ssd: &SsdParameters) -> Flash {
        let dies = ssd.channels as usize * ssd.dies_per_channel as usize;
        let map_page_covers = (ssd.page_bytes / ssd.map_entry_bytes).max(1) * ssd.map_unit_bytes;
        // Each stream has a read-ahead window, and its previous window may still be in use.
        let ahead_pages = 2 * u64::from(ssd.read_streams) * ssd.read_ahead_bytes.div_ceil(ssd.page_bytes);
        Flash {
            page_bytes: ssd.page_bytes,
            page_read_ns: ssd.page_read_us * 1e3,
            page_program_ns: ssd.page_program_us * 1e3,
            bus_bytes_per_ns: ssd.bus_mb_per_s / 1e3,
            host_bytes_per_ns: ssd.host_mb_per_s / 1e3,
            command_ns: ssd.command_us * 1e3,
            turnaround_ns: ssd.turnaround_us * 1e3,
            map_page_covers,
            controller_free_ns: 0.0,
            link_free_ns: 0.0,
            channels_free_ns: vec![0.0; ssd.channels as usize],
            dies_free_ns: vec![0.0; dies],
            map: Recent::new(ssd.map_cache_bytes / ssd.page_bytes),
            ahead: Recent::new(ahead_pages),
            streams: Recent::new(ssd.read_streams.into()),
            streams_made: 0,
            read_ahead_bytes: ssd.read_ahead_bytes,
            writes: Writes {
                buffer_bytes: ssd.write_buffer_bytes,
                part_bytes: 0,
                programs_ns: VecDeque::new(),
                next_die: 0,
            },
        }
    }

    /// The completion time of a command without data.
    pub fn command(&mut self, arrival_ns: f64) -> f64 {
        self.accept(arrival_ns) + self.turnaround_ns
    }

    /// Reads `start..end`. Returns the completion time.
    pub fn read(&mut self, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let now_ns = self.accept(arrival_ns);
        let mut done_ns = now_ns;
        for page in start / self.page_bytes..end.div_ceil(self.page_bytes) {
            let bytes = end.min((page + 1) * self.page_bytes) - start.max(page * self.page_bytes);
            let ready_ns = match self.ahead.used.get(&page) {
                Some(&ready_ns) => ready_ns.max(now_ns),
                None => self.read_page(page, bytes, now_ns),
            };
            self.link_free_ns = self.link_free_ns.max(ready_ns) + bytes as f64 / self.host_bytes_per_ns;
            done_ns = self.link_free_ns;
        }
        self.follow(start, end, now_ns);
        done_ns + self.turnaround_ns
    }

    /// Takes a write into the buffer; waits for space if necessary.
    pub fn write(&mut self, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let mut now_ns = self.accept(arrival_ns);
        for page in start / self.page_bytes..end.div_ceil(self.page_bytes) {
            let bytes = end.min((page + 1) * self.page_bytes) - start.max(page * self.page_bytes);
            self.ahead.used.pop(&page);
            while self.writes.programs_ns.front().is_some_and(|&done_ns| done_ns <= now_ns) {
                self.writes.programs_ns.pop_front();
            }
            if (self.writes.programs_ns.len() as u64 + 1) * self.page_bytes > self.writes.buffer_bytes {
                now_ns = now_ns.max(self.writes.programs_ns.pop_front().unwrap_or(now_ns));
            }
            self.link_free_ns = self.link_free_ns.max(now_ns) + bytes as f64 / self.host_bytes_per_ns;
            now_ns = self.link_free_ns;
            self.writes.part_bytes += bytes;
            if self.writes.part_bytes >= self.page_bytes {
                self.writes.part_bytes -= self.page_bytes;
                self.program_page(now_ns);
            }
        }
        now_ns + self.turnaround_ns
    }

    /// Programs all buffered data.
    pub fn flush(&mut self, arrival_ns: f64) -> f64 {
        let now_ns = self.accept(arrival_ns);
        if self.writes.part_bytes > 0 {
            self.writes.part_bytes = 0;
            self.program_page(now_ns);
        }
        let done_ns = self.writes.programs_ns.drain(..).fold(now_ns, f64::max);
        done_ns + self.turnaround_ns
    }

    /// Accepts a command; the controller processes one after another.
    fn accept(&mut self, arrival_ns: f64) -> f64 {
        self.controller_free_ns = self.controller_free_ns.max(arrival_ns) + self.command_ns;
        self.controller_free_ns
    }

    /// Senses a page after looking up its position, and transfers `bytes` of it to the controller.
    fn read_page(&mut self, page: u64, bytes: u64, now_ns: f64) -> f64 {
        let map_page = page * self.page_bytes / self.map_page_covers;
        let mut now_ns = now_ns;
        if self.map.used.get(&map_page).is_none() {
            // The address table is on the flash too; its pages are striped over the dies like data.
            now_ns = self.sense(map_page, self.page_bytes, now_ns);
            self.map.put(map_page, ());
        }
        self.sense(page, bytes, now_ns)
    }

    fn sense(&mut self, page: u64, bytes: u64, now_ns: f64) -> f64 {
        let die = (page % self.dies_free_ns.len() as u64) as usize;
        let channel = die % self.channels_free_ns.len();
        let sensed_ns = self.dies_free_ns[die].max(now_ns) + self.page_read_ns;
        let sent_ns = self.channels_free_ns[channel].max(sensed_ns) + bytes as f64 / self.bus_bytes_per_ns;
        // The page occupies the register of the die until it is transferred.
        self.channels_free_ns[channel] = sent_ns;
        self.dies_free_ns[die] = sent_ns;
        sent_ns
    }

    fn program_page(&mut self, now_ns: f64) {
        let die = self.writes.next_die;
        let channel = die % self.channels_free_ns.len();
        self.writes.next_die = (die + 1) % self.dies_free_ns.len();
        let begun_ns = self.channels_free_ns[channel].max(self.dies_free_ns[die]).max(now_ns);
        let sent_ns = begun_ns + self.page_bytes as f64 / self.bus_bytes_per_ns;
        self.channels_free_ns[channel] = sent_ns;
        self.dies_free_ns[die] = sent_ns + self.page_program_ns;
        self.writes.programs_ns.push_back(self.dies_free_ns[die]);
    }

    /// Detects streams and reads ahead of those that continue. A skipped page does not end a stream.
    fn follow(&mut self, start: u64, end: u64, now_ns: f64) {
        let near = |stream: &Stream| (stream.end..=stream.end + self.page_bytes).contains(&start);
        let found =
            self.streams.used.iter().find(|(_, stream)| near(stream)).map(|(&key, &stream)| (key, stream));
        let Some((key, stream)) = found else {
            self.streams_made += 1;
            self.streams.put(self.streams_made, Stream { end, window_bytes: 0 });
            return;
        };
        let window_bytes = (2 * stream.window_bytes.max(end - start)).min(self.read_ahead_bytes);
        self.streams.put(key, Stream { end, window_bytes });
        for page in end / self.page_bytes..(end + window_bytes) / self.page_bytes {
            if !self.ahead.used.contains(&page) {
                let ready_ns = self.read_page(page, self.page_bytes, now_ns);
                self.ahead.put(page, ready_ns);
            }
        }
    }
}

/// A map of the `most` recently used entries, at least one. Its memory grows with its contents.
struct Recent<K: Hash + Eq, V> {
    used: LruCache<K, V>,
    most: u64,
}

impl<K: Hash + Eq, V> Recent<K, V> {
    fn new(most: u64) -> Recent<K, V> {
        Recent { used: LruCache::unbounded(), most: most.max(1) }
    }

    fn put(&mut self, key: K, value: V) {
        self.used.put(key, value);
        if self.used.len() as u64 > self.most {
            self.used.pop_lru();
        }
    }
}
