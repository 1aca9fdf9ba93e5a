//! Read and write rates: bytes per second in modelled time, by the clock of a modelled disk, and in wall time.

use crate::Error;
use crate::io_capture::capture;
use disk::model::Model;
use fs::Target;
use probe::Transfer;
use results::measures::{self, Measure};
use results::{MeanAndDeviation, Measurement, mean_and_deviation};
use serde::Serialize;
use std::time::Instant;

/// The rates of a single execution of a phase, in bytes per second.
#[derive(Clone, Copy)]
pub struct Once {
    modelled: Option<f64>,
    disk_clock: Option<f64>,
    wall: Option<f64>,
}

/// Executes a phase once and captures the I/O of the device, whose size is `disk_bytes`. The caller makes the cache cold.
pub(crate) fn once(
    target: &dyn Target,
    traced: bool,
    model: &Model,
    disk_bytes: Option<u64>,
    phase: impl FnOnce(&dyn Target) -> Result<Transfer, Error>,
) -> Result<Once, Error> {
    let (Transfer { bytes, wall_s }, seen) = capture(target, traced, phase)?;
    let rate = |seconds: f64| (seconds > 0.0).then(|| bytes as f64 / seconds);
    Ok(Once {
        modelled: disk_bytes.and_then(|size| seen.modelled_s(model, size)).and_then(rate),
        disk_clock: seen.disk_clock_s.and_then(rate),
        wall: rate(wall_s),
    })
}

/// Adds the time until all written data is in its final location: the `syncfs` at the end of writing does not reach file systems served
/// through FUSE.
pub(crate) fn synced(target: &dyn Target, written: Transfer) -> Result<Transfer, Error> {
    let begun = Instant::now();
    target.sync()?;
    Ok(Transfer { wall_s: written.wall_s + begun.elapsed().as_secs_f64(), ..written })
}

impl Once {
    /// The measurements for the store; `what` is the prefix of their names.
    pub(crate) fn numbers(&self, subject: &str, what: &str, repetition: u64) -> Vec<Measurement> {
        let Once { modelled, disk_clock, wall } = *self;
        let rates = [
            (measures::MODELLED_BYTES_PER_S, modelled),
            (measures::DISK_CLOCK_BYTES_PER_S, disk_clock),
            (measures::WALL_BYTES_PER_S, wall),
        ];
        let one = |(measure, rate): (Measure, Option<f64>)| {
            rate.map(|rate| measure.of(what).measurement(subject, repetition, rate))
        };
        rates.into_iter().filter_map(one).collect()
    }
}

/// Rates of a phase over all its repetitions, in bytes per second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rates {
    /// In modelled time: the time of the model for the requests, in the order of their issue. `None` if they are not known.
    pub modelled: Option<MeanAndDeviation>,
    /// By the clock of the modelled disk below; `None` without one.
    pub disk_clock: Option<MeanAndDeviation>,
    /// In wall time on this machine.
    pub wall: Option<MeanAndDeviation>,
}

impl Rates {
    pub(crate) fn of(all: &[Once]) -> Rates {
        let of = |rate: fn(&Once) -> Option<f64>| {
            mean_and_deviation(&all.iter().filter_map(rate).collect::<Vec<_>>())
        };
        Rates {
            modelled: of(|once| once.modelled),
            disk_clock: of(|once| once.disk_clock),
            wall: of(|once| once.wall),
        }
    }
}

/// Aged over unaged mean rates; below 1 if aging costs time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratios {
    /// In modelled time.
    pub modelled: Option<f64>,
    /// In wall time; `None` if the sides are not on the same disk.
    pub wall: Option<f64>,
}

impl Ratios {
    pub(crate) fn of(aged: &Rates, unaged: &Rates, same_disk: bool) -> Ratios {
        let ratio = |aged: Option<MeanAndDeviation>, unaged: Option<MeanAndDeviation>| {
            Some(aged?.mean / unaged?.mean)
        };
        let wall = ratio(aged.wall, unaged.wall).filter(|_| same_disk);
        Ratios { modelled: ratio(aged.modelled, unaged.modelled), wall }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(modelled: &[f64], wall: f64) -> Rates {
        let once = |modelled: &f64| Once { modelled: Some(*modelled), disk_clock: None, wall: Some(wall) };
        Rates::of(&modelled.iter().map(once).collect::<Vec<_>>())
    }

    #[test]
    fn wall_ratio_requires_the_same_disk() {
        let (aged, unaged) = (rates(&[10.0, 30.0], 5.0), rates(&[80.0, 80.0], 10.0));
        assert_eq!(aged.disk_clock, None);
        assert_eq!(Ratios::of(&aged, &unaged, true), Ratios { modelled: Some(0.25), wall: Some(0.5) });
        assert_eq!(Ratios::of(&aged, &unaged, false), Ratios { modelled: Some(0.25), wall: None });
        let unknown = Rates { modelled: None, ..unaged };
        assert_eq!(Ratios::of(&aged, &unknown, true).modelled, None);
    }

    #[test]
    fn measure_names_contain_phase_and_clock() {
        let once = Once { modelled: Some(1.0), disk_clock: None, wall: Some(2.0) };
        let numbers = once.numbers("aged", "read_16384", 3);
        let names: Vec<_> = numbers.iter().map(|n| (n.measure.as_str(), n.repetition, n.value)).collect();
        let expected = [("read_16384_modelled_bytes_per_s", 3, 1.0), ("read_16384_wall_bytes_per_s", 3, 2.0)];
        assert_eq!(names, expected);
    }
}
