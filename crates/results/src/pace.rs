//! The pace of a phase: how fast it is now, and how long the rest takes if that lasts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The pace is that of this last part of the phase: the first operations of a phase go to an empty cache, and are many times as fast as later ones.
const WINDOW: Duration = Duration::from_secs(30);

/// Time between two samples.
const SPACING: Duration = Duration::from_millis(500);

/// A younger phase has no estimate.
const SETTLING: Duration = Duration::from_secs(5);

/// The pace is steady if the rates of both halves of the window differ by at most this factor.
const STEADY: f64 = 1.5;

/// The pace of a phase. The caller passes the time.
#[derive(Clone, Debug)]
pub struct Pace {
    begun: Instant,
    /// The units done at some times in the window, oldest first; at least one.
    samples: VecDeque<(Instant, u64)>,
    done: u64,
}

impl Pace {
    /// A phase begins.
    pub fn begin(now: Instant) -> Pace {
        Pace { begun: now, samples: VecDeque::from([(now, 0)]), done: 0 }
    }

    /// `done` units are complete.
    pub fn at(&mut self, now: Instant, done: u64) {
        self.done = done;
        if self.samples.back().is_some_and(|(at, _)| now.duration_since(*at) >= SPACING) {
            self.samples.push_back((now, done));
        }
        while self.samples.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Units per second in the window; `None` if none was completed.
    pub fn per_s(&self, now: Instant) -> Option<f64> {
        rate(*self.samples.front()?, (now, self.done))
    }

    /// The time until `total` units are complete; `None` until the pace is steady.
    pub fn left(&self, now: Instant, total: u64) -> Option<Duration> {
        if now.duration_since(self.begun) < SETTLING || self.done >= total {
            return None;
        }
        let (first, last) = (*self.samples.front()?, (now, self.done));
        let half = first.0 + now.duration_since(first.0) / 2;
        let middle = *self.samples.iter().find(|(at, _)| *at >= half)?;
        let (earlier, later) = (rate(first, middle)?, rate(middle, last)?);
        let steady = earlier.max(later) <= STEADY * earlier.min(later);
        let left_s = (total - self.done) as f64 / rate(first, last)?;
        Duration::try_from_secs_f64(left_s).ok().filter(|_| steady)
    }
}

fn rate(from: (Instant, u64), to: (Instant, u64)) -> Option<f64> {
    let (units, took_s) = (to.1.saturating_sub(from.1), to.0.duration_since(from.0).as_secs_f64());
    (units > 0 && took_s > 0.0).then(|| units as f64 / took_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: u64 = 100_000;

    /// A phase with these numbers of units in each following second, and its end.
    fn paced(per_second: impl IntoIterator<Item = u64>) -> (Pace, Instant) {
        let mut now = Instant::now();
        let (mut pace, mut done) = (Pace::begin(now), 0);
        for units in per_second {
            now += Duration::from_secs(1);
            done += units;
            pace.at(now, done);
        }
        (pace, now)
    }

    fn seconds_left(per_second: impl IntoIterator<Item = u64>) -> Option<u64> {
        let (pace, now) = paced(per_second);
        pace.left(now, TOTAL).map(|left| left.as_secs())
    }

    #[test]
    fn estimate_appears_after_some_seconds() {
        assert_eq!(seconds_left([]), None);
        assert_eq!(seconds_left([1000; 4]), None);
        assert_eq!(seconds_left([1000; 10]), Some(90));
    }

    #[test]
    fn estimate_follows_the_recent_rate() {
        // Ten fast seconds, then a tenth of the rate: at the mean rate of the phase, 7 s would be left.
        let slower = [[5000; 10].as_slice(), &[500; 60]].concat();
        let (pace, now) = paced(slower);
        assert_eq!(pace.per_s(now), Some(500.0));
        assert_eq!(pace.left(now, TOTAL).unwrap().as_secs(), 40);
    }

    #[test]
    fn changing_pace_has_no_estimate() {
        assert_eq!(seconds_left([[5000; 10].as_slice(), &[500; 10]].concat()), None);
        let (pace, now) = paced([1000; 20]);
        // Nothing was completed for a while.
        let later = now + Duration::from_secs(15);
        assert_eq!(pace.left(later, TOTAL), None);
        assert!(pace.per_s(later).unwrap() < 600.0);
    }

    #[test]
    fn complete_phase_has_nothing_left() {
        let (pace, now) = paced([1000; 100]);
        assert_eq!(pace.left(now, TOTAL), None);
    }

    #[test]
    fn frequent_reports_take_no_memory() {
        let begun = Instant::now();
        let mut pace = Pace::begin(begun);
        for step in 0..1_000_000_u64 {
            pace.at(begun + Duration::from_micros(100 * step), step);
        }
        assert!(pace.samples.len() <= 62, "{}", pace.samples.len());
        assert_eq!(pace.per_s(begun + Duration::from_secs(100)).unwrap().round(), 10_000.0);
    }
}
