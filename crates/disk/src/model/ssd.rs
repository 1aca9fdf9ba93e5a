//! A flash drive: dies behind channels, a controller, an address table, read-ahead.
//!
//! Scattered reads are slow for these reasons: every page that was not read ahead must be sensed before its transfer (Agrawal et al., ATC
//! 2008); pages of one request or window may be on the same die and wait for each other (Chen, Lee and Zhang, HPCA 2011; Jun et al., FAST
//! 2024); their part of the address table may not be in memory (Gupta et al., DFTL, ASPLOS 2009); and the drive's own read-ahead, which
//! hides all of this from a sequential stream, does not help when addresses jump (Chen, Koufaty and Zhang, SIGMETRICS 2009).
//!
//! Addresses are striped over the dies page by page, or mapped by a translation layer ([`super::ftl`]).

use super::flash::{DieTurn, FlashArray, next_die};
use super::ftl::{FlashOp, SharedFtl, lock};
use super::parameters::{FtlParameters, SsdParameters};
use lru::LruCache;
use std::collections::VecDeque;
use std::hash::Hash;

/// The state of a flash drive. Times are in nanoseconds.
pub(super) struct Ssd {
    /// Bytes of the disk that are read or written together.
    page_bytes: u64,
    host_bytes_per_ns: f64,
    command_ns: f64,
    turnaround_ns: f64,
    /// The times at which the controller and the link are free.
    controller_free_ns: f64,
    link_free_ns: f64,
    placement: Placement,
    /// The pages read ahead, and the times at which they are available.
    ahead: Recent<u64, f64>,
    /// Streams, keyed by a serial number.
    streams: Recent<u64, Stream>,
    streams_made: u64,
    read_ahead_bytes: u64,
    write_buffer_bytes: u64,
    /// Completion times of the pages being programmed, in the order of their start.
    programs_ns: VecDeque<f64>,
}

/// Where data lies on the flash.
enum Placement {
    ByAddress(ByAddress),
    Mapped(Mapped),
}

/// Data is read from the die that its address names. Written data fills pages one after another regardless of its addresses, like a log.
struct ByAddress {
    page_bytes: u64,
    page_read_ns: f64,
    page_program_ns: f64,
    bus_bytes_per_ns: f64,
    /// The times at which each channel and each die are free.
    channels_free_ns: Vec<f64>,
    dies_free_ns: Vec<f64>,
    /// Bytes of the disk covered by one page of the address table.
    map_page_covers: u64,
    /// The pages of the address table in memory.
    map: Recent<u64, ()>,
    /// Bytes that do not yet fill a page.
    part_bytes: u64,
    next_die: usize,
    /// See [`Ssd::take_dies_in_turn`].
    turn: DieTurn,
}

/// Data is where the translation layer put it.
struct Mapped {
    ftl: SharedFtl,
    flash: FlashArray,
    /// The page that was sensed last, and the time at which the controller had it: its other units need not be sensed again.
    sensed: (u64, f64),
}

/// A sequence of adjacent reads.
#[derive(Clone, Copy)]
struct Stream {
    end: u64,
    /// Length of the read-ahead window behind its end.
    window_bytes: u64,
}

impl Ssd {
    /// A drive with data placed by address, or by the translation layer.
    pub fn new(ssd: &SsdParameters, mapped: Option<(&FtlParameters, SharedFtl)>) -> Ssd {
        let planes = mapped.as_ref().map_or(1, |(ftl, _)| u64::from(ftl.planes_per_die));
        let page_bytes = ssd.page_bytes * planes;
        let placement = match mapped {
            Some((parameters, ftl)) => {
                let flash = FlashArray::new(ssd, parameters, lock(&ftl).geometry());
                Placement::Mapped(Mapped { ftl, flash, sensed: (u64::MAX, 0.0) })
            }
            None => Placement::ByAddress(ByAddress::new(ssd)),
        };
        // Each stream has a read-ahead window, and its previous window may still be in use.
        let ahead_pages = 2 * u64::from(ssd.read_streams) * ssd.read_ahead_bytes.div_ceil(page_bytes);
        Ssd {
            page_bytes,
            host_bytes_per_ns: ssd.host_mb_per_s / 1e3,
            command_ns: ssd.command_us * 1e3,
            turnaround_ns: ssd.turnaround_us * 1e3,
            controller_free_ns: 0.0,
            link_free_ns: 0.0,
            placement,
            ahead: Recent::new(ahead_pages),
            streams: Recent::new(ssd.read_streams.into()),
            streams_made: 0,
            read_ahead_bytes: ssd.read_ahead_bytes,
            write_buffer_bytes: ssd.write_buffer_bytes,
            programs_ns: VecDeque::new(),
        }
    }

    /// Forgets `start..end`. Without a translation layer it costs a command without data.
    pub fn discard(&mut self, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let now_ns = self.accept(arrival_ns);
        if let Placement::Mapped(mapped) = &mut self.placement {
            mapped.discard(start, end, now_ns);
        }
        now_ns + self.turnaround_ns
    }

    /// Reads ranges, from start to end, by one command. Returns the completion time.
    pub fn read_all(&mut self, ranges: &[(u64, u64)], arrival_ns: f64) -> f64 {
        let now_ns = self.accept(arrival_ns);
        let done_ns = ranges
            .iter()
            .fold(now_ns, |done_ns, &(start, end)| done_ns.max(self.read_range(start, end, now_ns)));
        done_ns + self.turnaround_ns
    }

    fn read_range(&mut self, start: u64, end: u64, now_ns: f64) -> f64 {
        let mut done_ns = now_ns;
        for (page, start, end) in cut(start, end, self.page_bytes) {
            let ready_ns = match self.ahead.used.get(&page) {
                Some(&ready_ns) => ready_ns.max(now_ns),
                None => self.placement.read(start, end, now_ns),
            };
            let bytes = (end - start) as f64;
            self.link_free_ns = self.link_free_ns.max(ready_ns) + bytes / self.host_bytes_per_ns;
            done_ns = self.link_free_ns;
        }
        self.follow(start, end, now_ns);
        done_ns
    }

    /// From now on reads the pages of the flash from one die after another, wherever they lie: no read waits for another on its die as long as
    /// other dies are free.
    pub fn take_dies_in_turn(&mut self) {
        let turn = match &mut self.placement {
            Placement::ByAddress(by_address) => &mut by_address.turn,
            Placement::Mapped(mapped) => &mut mapped.flash.turn,
        };
        *turn = Some(0);
    }

    /// Takes a write into the buffer; waits for space if necessary.
    pub fn write(&mut self, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let mut now_ns = self.accept(arrival_ns);
        for (page, start, end) in cut(start, end, self.page_bytes) {
            self.ahead.used.pop(&page);
            while self.programs_ns.front().is_some_and(|&done_ns| done_ns <= now_ns) {
                self.programs_ns.pop_front();
            }
            let used_bytes = self.programs_ns.len() as u64 * self.page_bytes + self.placement.waiting_bytes();
            if used_bytes + self.page_bytes > self.write_buffer_bytes {
                now_ns = now_ns.max(self.programs_ns.pop_front().unwrap_or(now_ns));
            }
            let bytes = (end - start) as f64;
            self.link_free_ns = self.link_free_ns.max(now_ns) + bytes / self.host_bytes_per_ns;
            now_ns = self.link_free_ns;
            let half_bytes = self.write_buffer_bytes / 2;
            now_ns = self.placement.write(start, end, half_bytes, now_ns, &mut self.programs_ns);
        }
        now_ns + self.turnaround_ns
    }

    /// Programs all buffered data.
    pub fn flush(&mut self, arrival_ns: f64) -> f64 {
        let now_ns = self.accept(arrival_ns);
        self.placement.flush(now_ns, &mut self.programs_ns);
        let done_ns = self.programs_ns.drain(..).fold(now_ns, f64::max);
        done_ns + self.turnaround_ns
    }

    /// Accepts a command; the controller processes one after another.
    fn accept(&mut self, arrival_ns: f64) -> f64 {
        self.controller_free_ns = self.controller_free_ns.max(arrival_ns) + self.command_ns;
        self.controller_free_ns
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
                let (start, end) = (page * self.page_bytes, (page + 1) * self.page_bytes);
                let ready_ns = self.placement.read(start, end, now_ns);
                self.ahead.put(page, ready_ns);
            }
        }
    }
}

impl Placement {
    /// Looks up the position of `start..end`, which is at most a page, and transfers it to the controller.
    fn read(&mut self, start: u64, end: u64, now_ns: f64) -> f64 {
        match self {
            Placement::ByAddress(by_address) => by_address.read(start, end, now_ns),
            Placement::Mapped(mapped) => mapped.read(start, end, now_ns),
        }
    }

    /// Bytes in the write buffer that no page is being programmed with.
    fn waiting_bytes(&self) -> u64 {
        match self {
            Placement::ByAddress(_) => 0,
            Placement::Mapped(mapped) => mapped.waiting_bytes(),
        }
    }

    /// Buffers `start..end`, and programs what the buffer should not hold any longer: complete pages, or with a translation layer what
    /// exceeds `most_bytes`. Returns the time at which the data is buffered.
    fn write(
        &mut self,
        start: u64,
        end: u64,
        most_bytes: u64,
        now_ns: f64,
        programs_ns: &mut VecDeque<f64>,
    ) -> f64 {
        match self {
            Placement::ByAddress(by_address) => {
                by_address.part_bytes += end - start;
                if by_address.part_bytes >= by_address.page_bytes {
                    by_address.part_bytes -= by_address.page_bytes;
                    programs_ns.push_back(by_address.program(now_ns));
                }
                now_ns
            }
            Placement::Mapped(mapped) => mapped.write(start, end, most_bytes, now_ns, programs_ns),
        }
    }

    fn flush(&mut self, now_ns: f64, programs_ns: &mut VecDeque<f64>) {
        match self {
            Placement::ByAddress(by_address) => {
                if std::mem::take(&mut by_address.part_bytes) > 0 {
                    programs_ns.push_back(by_address.program(now_ns));
                }
            }
            Placement::Mapped(mapped) => mapped.destage(0, now_ns, programs_ns),
        }
    }
}

impl ByAddress {
    fn new(ssd: &SsdParameters) -> ByAddress {
        ByAddress {
            page_bytes: ssd.page_bytes,
            page_read_ns: ssd.page_read_us * 1e3,
            page_program_ns: ssd.page_program_us * 1e3,
            bus_bytes_per_ns: ssd.bus_mb_per_s / 1e3,
            channels_free_ns: vec![0.0; ssd.channels as usize],
            dies_free_ns: vec![0.0; ssd.channels as usize * ssd.dies_per_channel as usize],
            map_page_covers: (ssd.page_bytes / ssd.map_entry_bytes).max(1) * ssd.map_unit_bytes,
            map: Recent::new(ssd.map_cache_bytes / ssd.page_bytes),
            part_bytes: 0,
            next_die: 0,
            turn: None,
        }
    }

    fn read(&mut self, start: u64, end: u64, now_ns: f64) -> f64 {
        let page = start / self.page_bytes;
        let map_page = page * self.page_bytes / self.map_page_covers;
        let mut now_ns = now_ns;
        if self.map.used.get(&map_page).is_none() {
            // The address table is on the flash too; its pages are striped over the dies like data.
            now_ns = self.sense(map_page, self.page_bytes, now_ns);
            self.map.put(map_page, ());
        }
        self.sense(page, end - start, now_ns)
    }

    fn sense(&mut self, page: u64, bytes: u64, now_ns: f64) -> f64 {
        let dies = self.dies_free_ns.len();
        let die = next_die(&mut self.turn, (page % dies as u64) as usize, dies);
        let channel = die % self.channels_free_ns.len();
        let sensed_ns = self.dies_free_ns[die].max(now_ns) + self.page_read_ns;
        let sent_ns = self.channels_free_ns[channel].max(sensed_ns) + bytes as f64 / self.bus_bytes_per_ns;
        // The page occupies the register of the die until it is transferred.
        self.channels_free_ns[channel] = sent_ns;
        self.dies_free_ns[die] = sent_ns;
        sent_ns
    }

    fn program(&mut self, now_ns: f64) -> f64 {
        let die = self.next_die;
        let channel = die % self.channels_free_ns.len();
        self.next_die = (die + 1) % self.dies_free_ns.len();
        let begun_ns = self.channels_free_ns[channel].max(self.dies_free_ns[die]).max(now_ns);
        let sent_ns = begun_ns + self.page_bytes as f64 / self.bus_bytes_per_ns;
        self.channels_free_ns[channel] = sent_ns;
        self.dies_free_ns[die] = sent_ns + self.page_program_ns;
        self.dies_free_ns[die]
    }
}

impl Mapped {
    fn read(&mut self, start: u64, end: u64, now_ns: f64) -> f64 {
        let Mapped { ftl, flash, sensed } = self;
        let mut ftl = lock(ftl);
        // A stream is read ahead beyond the end of the disk too.
        let end = end.min(u64::from(ftl.geometry().units) * ftl.geometry().unit_bytes);
        let mut done_ns = now_ns;
        // The bytes needed of each page of a die, in the order of their addresses.
        let mut pages: Vec<(u64, u64, f64)> = Vec::new();
        for (unit, start, end) in cut(start, end, ftl.geometry().unit_bytes) {
            let mut known_ns = now_ns;
            let page = ftl.find(unit as u32, &mut |op| known_ns = flash.execute(op, known_ns));
            done_ns = done_ns.max(known_ns);
            match (page, pages.last_mut()) {
                (Some(page), Some((last, bytes, _))) if page == *last => *bytes += end - start,
                (Some(page), _) => pages.push((page, end - start, known_ns)),
                (None, _) => {}
            }
        }
        for (page, bytes, known_ns) in pages {
            if page != sensed.0 {
                let die = (page % u64::from(ftl.geometry().dies)) as u32;
                *sensed = (page, flash.execute(FlashOp::Read { die, bytes }, known_ns));
            }
            done_ns = done_ns.max(sensed.1);
        }
        done_ns
    }

    fn waiting_bytes(&self) -> u64 {
        let ftl = lock(&self.ftl);
        ftl.cached_units() * ftl.geometry().unit_bytes
    }

    fn write(
        &mut self,
        start: u64,
        end: u64,
        most_bytes: u64,
        now_ns: f64,
        programs_ns: &mut VecDeque<f64>,
    ) -> f64 {
        let mut buffered_ns = now_ns;
        let unit_bytes = lock(&self.ftl).geometry().unit_bytes;
        for (unit, start, end) in cut(start, end, unit_bytes) {
            if end - start < unit_bytes && lock(&self.ftl).must_be_read_first(unit as u32) {
                let unit_start = unit * unit_bytes;
                buffered_ns = buffered_ns.max(self.read(unit_start, unit_start + unit_bytes, now_ns));
            }
            lock(&self.ftl).write(unit as u32);
        }
        self.destage(most_bytes, buffered_ns, programs_ns);
        buffered_ns
    }

    /// Programs pages until the write buffer holds at most `most_bytes`.
    fn destage(&mut self, most_bytes: u64, now_ns: f64, programs_ns: &mut VecDeque<f64>) {
        let Mapped { ftl, flash, .. } = self;
        let mut ftl = lock(ftl);
        while ftl.cached_units() * ftl.geometry().unit_bytes > most_bytes {
            let mut done_ns = now_ns;
            ftl.destage(&mut |op| done_ns = done_ns.max(flash.execute(op, now_ns)));
            programs_ns.push_back(done_ns);
        }
    }

    fn discard(&mut self, start: u64, end: u64, now_ns: f64) {
        let Mapped { ftl, flash, .. } = self;
        let mut ftl = lock(ftl);
        let unit_bytes = ftl.geometry().unit_bytes;
        let units = u64::from(ftl.geometry().units);
        // A unit at the end of the disk may be cut off by it.
        let end_unit = if end.div_ceil(unit_bytes) == units { units } else { end / unit_bytes };
        for unit in start.div_ceil(unit_bytes)..end_unit {
            ftl.trim(unit as u32, &mut |op| _ = flash.execute(op, now_ns));
        }
    }
}

/// Cuts a range at multiples of `bytes`: the number of each piece, its start and its end.
fn cut(start: u64, end: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (start / bytes..end.div_ceil(bytes))
        .map(move |piece| (piece, start.max(piece * bytes), end.min((piece + 1) * bytes)))
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
