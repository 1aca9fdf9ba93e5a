//! The operations of one rank in each phase, each timed separately.

use super::access_pattern::AccessPattern;
use super::contents::ContentGenerator;
use super::error::Error;
use super::interface::{Interface, InterfaceError};
use super::latency::Op;
use super::object::Object;
use super::samples::Samples;
use super::settings::Settings;
use super::tally::Tally;
use quanta::Clock;
use ranks::Group;
use std::time::{Duration, Instant};

/// Waits shorter than this are busy-waits: sleeping takes longer.
const SPIN_BELOW: Duration = Duration::from_millis(10);

/// The state of one rank.
pub struct Rank<'a> {
    pub settings: &'a Settings,
    pub interface: &'a mut dyn Interface,
    pub contents: ContentGenerator,
    pub pattern: AccessPattern,
    /// The position of every rank in the benchmark phase, including this one.
    pub positions: Vec<u64>,
    /// Whether a signal requested the end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// The data to write, or the data read.
    pub buffer: Vec<u8>,
    /// The file of all latencies, if requested.
    pub samples: Option<Samples>,
    /// The clock for latencies: the processor's time stamp counter if it is steady, which is read in half the time of the system's clock, which is
    /// based on it.
    pub clock: Clock,
}

/// A running phase.
struct PhaseRun {
    clock: Clock,
    begun: Instant,
    /// The same instant as read from `clock`.
    begun_raw: u64,
    tally: Tally,
    /// Duration of the last operation.
    last: Duration,
    samples: Option<Samples>,
}

impl PhaseRun {
    fn begin(clock: Clock, samples: Option<Samples>) -> PhaseRun {
        let (begun, begun_raw) = (Instant::now(), clock.raw());
        PhaseRun { clock, begun, begun_raw, tally: Tally::default(), last: Duration::ZERO, samples }
    }

    /// Runs, times and counts an operation. Returns its result if it succeeded.
    #[inline]
    fn timed<T>(
        &mut self,
        op: Op,
        object: Object,
        run: impl FnOnce() -> Result<T, InterfaceError>,
    ) -> Option<T> {
        let start = self.clock.raw();
        let result = run();
        let ns = self.clock.delta_as_nanos(start, self.clock.raw());
        self.last = Duration::from_nanos(ns);
        let count = &mut self.tally.ops[op as usize];
        match result {
            Ok(found) => {
                count.done += 1;
                let start_ns = self.clock.delta_as_nanos(self.begun_raw, start);
                self.tally.latencies[op as usize].record(ns);
                self.tally.timeline.record(op, start_ns, ns);
                if let Some(samples) = &mut self.samples {
                    samples.record(op, start_ns, ns);
                }
                Some(found)
            }
            Err(why) => {
                count.errors += 1;
                self.tally.fail(|| failure(op.name(), object, &why.0));
                None
            }
        }
    }

    /// Counts a successful operation with a wrong result as an error.
    #[cold]
    fn wrong(&mut self, op: Op, object: Object, why: &dyn std::fmt::Display) {
        let count = &mut self.tally.ops[op as usize];
        count.done -= 1;
        count.errors += 1;
        self.tally.fail(|| failure(op.name(), object, &why.to_string()));
    }
}

fn failure(what: &str, object: Object, why: &str) -> String {
    format!("{what} of object {} in data set {}_{}: {why}", object.item, object.set.rank, object.set.number)
}

impl Rank<'_> {
    fn begin(&mut self) -> PhaseRun {
        PhaseRun::begin(self.clock.clone(), self.samples.take())
    }

    fn end(&mut self, mut doing: PhaseRun) -> Tally {
        doing.tally.time_s = doing.begun.elapsed().as_secs_f64();
        if let Some(why) = doing.samples.as_ref().and_then(Samples::failed) {
            doing.tally.fatal.get_or_insert(why);
        }
        self.samples = doing.samples;
        doing.tally
    }

    /// Creates the data sets and their first objects.
    pub fn precreate(&mut self, group: &dyn Group) -> Tally {
        let mut doing = self.begin();
        let start = self.positions[group.rank() as usize];
        for number in 0..self.settings.data_sets {
            let set = self.pattern.own_set(number);
            match self.interface.make_set(set) {
                Ok(()) => doing.tally.sets_made.done += 1,
                Err(why) => {
                    doing.tally.sets_made.errors += 1;
                    doing.tally.fail(|| format!("creating data set {}_{number}: {why}", set.rank));
                }
            }
        }
        let (sets, items) = (u64::from(self.settings.data_sets), self.settings.precreate);
        for n in 0..sets * items {
            let failed = doing.tally.errors() > 0 && !self.settings.ignore_precreate_errors;
            if failed || group.is_over() || (self.interrupted)() {
                break;
            }
            let (number, item) =
                if self.settings.set_by_set { (n / items, n % items) } else { (n % sets, n / sets) };
            let set = self.pattern.own_set(number as u32);
            self.write(&mut doing, Object { set, item: start + item });
        }
        if doing.tally.errors() > 0 && !self.settings.ignore_precreate_errors {
            doing.tally.fatal = doing.tally.failures.first().cloned();
        }
        self.end(doing)
    }

    /// Runs one repeat of the benchmark phase; after each operation it waits `waiting` times the duration of the operation.
    pub fn benchmark(&mut self, group: &mut dyn Group, waiting: f64) -> Result<Tally, Error> {
        let mut doing = self.begin();
        let start = self.positions[group.rank() as usize];
        let mut end = self.settings.iterations.min(self.furthest() - start);
        let mut wall = self.settings.stonewall;
        let mut waited_for_others = Duration::ZERO;
        let mut done = 0;
        while done < end && !group.is_over() && !(self.interrupted)() {
            for number in 0..self.settings.data_sets {
                self.visit(&mut doing, number, start + done, waiting);
            }
            done += 1;
            let Some(stonewall) = wall.filter(|wall| doing.begun.elapsed() >= wall.after) else { continue };
            wall = None;
            if !stonewall.wear_out {
                break;
            }
            let before = Instant::now();
            end = ranks::maximum(group, done)?.min(end);
            waited_for_others = before.elapsed();
        }
        let mut tally = self.end(doing);
        tally.time_s -= waited_for_others.as_secs_f64();
        tally.iterations = done;
        // Ranks that did not reach the stonewall take part too: those that did request the maximum.
        if wall.is_some_and(|wall| wall.wear_out) {
            ranks::maximum(group, done)?;
        }
        Ok(tally)
    }

    /// Deletes the objects of its data sets, and the data sets.
    pub fn cleanup(&mut self, group: &dyn Group) -> Tally {
        let mut doing = self.begin();
        for number in 0..self.settings.data_sets {
            let set = self.pattern.own_set(number);
            for item in self.pattern.remaining_items(number, &self.positions) {
                if group.is_over() || (self.interrupted)() {
                    return self.end(doing);
                }
                let object = Object { set, item };
                doing.timed(Op::Delete, object, || self.interface.delete(object));
            }
            match self.interface.remove_set(set) {
                Ok(()) => doing.tally.sets_removed.done += 1,
                Err(why) => {
                    doing.tally.sets_removed.errors += 1;
                    doing.tally.fail(|| format!("removing data set {}_{number}: {why}", set.rank));
                }
            }
        }
        self.end(doing)
    }

    /// The first position at which an object to read may not exist yet. Ranks are synchronized only between phases.
    fn furthest(&self) -> u64 {
        self.settings.precreate + self.positions.iter().min().copied().unwrap_or(0)
    }

    /// One step of the benchmark phase in a data set.
    fn visit(&mut self, doing: &mut PhaseRun, number: u32, position: u64, waiting: f64) {
        let new = (!self.settings.read_only).then(|| self.pattern.object_to_write(number, position));
        let (before, after) = if self.settings.write_first { (new, None) } else { (None, new) };
        if let Some(new) = before {
            self.write(doing, new);
            wait(doing.last, waiting);
        }
        if !self.use_up(doing, self.pattern.object_to_read(number, position), waiting) {
            return;
        }
        if let Some(new) = after {
            self.write(doing, new);
            wait(doing.last, waiting);
        }
    }

    /// Stats, reads and deletes an object. Returns whether it exists.
    fn use_up(&mut self, doing: &mut PhaseRun, object: Object, waiting: f64) -> bool {
        let expected = self.contents.size(object);
        let has_contents = self.interface.stores_contents();
        let found = doing.timed(Op::Stat, object, || self.interface.stat(object));
        wait(doing.last, waiting);
        let Some(found) = found else { return false };
        if has_contents && self.settings.verify && found != expected {
            doing.wrong(Op::Stat, object, &format_args!("it has {found} bytes instead of {expected}"));
        }
        self.buffer.clear();
        let read = doing.timed(Op::Read, object, || self.interface.read(object, expected, &mut self.buffer));
        wait(doing.last, waiting);
        if read.is_some() && has_contents {
            doing.tally.bytes += self.buffer.len() as u64;
            if self.settings.verify
                && let Err(wrong) = self.contents.check(object, &self.buffer)
            {
                doing.wrong(Op::Read, object, &wrong);
            }
        }
        if !self.settings.read_only {
            doing.timed(Op::Delete, object, || self.interface.delete(object));
            wait(doing.last, waiting);
        }
        true
    }

    fn write(&mut self, doing: &mut PhaseRun, object: Object) {
        if self.interface.stores_contents() {
            self.contents.fill(object, &mut self.buffer);
        }
        let written = doing.timed(Op::Create, object, || self.interface.write(object, &self.buffer));
        if written.is_some() {
            doing.tally.bytes += self.buffer.len() as u64;
        }
    }
}

fn wait(took: Duration, factor: f64) {
    if factor == 0.0 {
        return;
    }
    let wait = took.mul_f64(factor);
    if wait < SPIN_BELOW {
        let begun = Instant::now();
        while begun.elapsed() < wait {
            std::hint::spin_loop();
        }
    } else {
        std::thread::sleep(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::object::DataSet;

    const OBJECT: Object = Object { set: DataSet { rank: 0, number: 0 }, item: 0 };

    /// With a mock clock: the latency covers the operation only, and its start is relative to the phase.
    #[test]
    fn latencies_match_the_clock() {
        let (clock, time) = Clock::mock();
        time.increment(7_000_000_000_u64);
        let mut doing = PhaseRun::begin(clock, None);
        time.increment(300_000_000_u64);
        let found = doing.timed(Op::Stat, OBJECT, || {
            time.increment(1_250_000_u64);
            Ok(5)
        });
        assert_eq!((found, doing.last), (Some(5), Duration::from_nanos(1_250_000)));
        time.increment(1_000_000_u64);
        let lost: Option<()> = doing.timed(Op::Stat, OBJECT, || {
            time.increment(2_000_000_u64);
            Err(InterfaceError("no".to_owned()))
        });
        // A failed operation is counted, but its latency is not recorded.
        assert_eq!((lost, doing.last), (None, Duration::from_millis(2)));
        let tally = &doing.tally;
        assert_eq!((tally.of(Op::Stat).done, tally.of(Op::Stat).errors), (1, 1));
        let latencies = tally.latencies[Op::Stat as usize].quantiles().unwrap();
        assert!((latencies.max / 1_250.0 - 1.0).abs() < 1e-3, "{latencies:?}");
        let slices: Vec<_> = tally.timeline.of(Op::Stat).collect();
        assert_eq!(slices.len(), 1);
        assert!((slices[0].0 - 0.3).abs() < 2e-3 && slices[0].1.max_ns == 1_250_000, "{slices:?}");
    }

    mod soak {
        use super::*;

        /// The clock calibrates its frequency in the first fifth of a second, during which other processes may run. A wrong unit would differ more.
        #[test]
        #[ignore = "soak: compares the counter of the processor with the clock of the system, which agree only on a quiet machine"]
        fn processor_counter_counts_nanoseconds() {
            let mut doing = PhaseRun::begin(Clock::new(), None);
            let before = Instant::now();
            let slept = doing.timed(Op::Stat, OBJECT, || {
                let begun = Instant::now();
                std::thread::sleep(Duration::from_millis(100));
                Ok(begun.elapsed())
            });
            let (least, most) = (slept.unwrap().mul_f64(0.9), before.elapsed().mul_f64(1.1));
            assert!(least <= doing.last && doing.last <= most, "{least:?} {:?} {most:?}", doing.last);
        }
    }
}
