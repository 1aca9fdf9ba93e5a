//! Verification in experiments: a real file system, on which an office works, beside one on which the workload of its
//! snapshots was replayed (Smith and Seltzer 1997, Figures 3 and 4).

use super::cell::Cell;
use super::outcome::ONLY;
use super::spec::Scale;
use crate::Error;
use crate::manifest::Home;
use crate::series::Identity;
use crate::verify::{Case, Verified, made};
use activity::ActivitySet;
use ager::office::OfficeOptions;
use ager::snapshots::{Options, ShortLived};
use disk::Session;
use results::measures::{self, Measure};
use results::{Measurement, Store, Watch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What is verified, as an experiment names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verification {
    /// What a round is.
    pub by: By,
    /// How the workload is made of the snapshots.
    pub method: Method,
    /// Days that the office works.
    pub days: u64,
    /// Tasks that it does at once.
    pub at_once: usize,
    /// Windows of its day, for each GiB.
    pub windows: u64,
    /// The share of its file system in use in the end.
    pub fullness: f64,
    /// After so many bytes all is written back in the replay.
    pub write_back_bytes: u64,
}

impl Default for Verification {
    fn default() -> Verification {
        Verification {
            by: By::Day,
            method: Method::Told,
            days: 10,
            at_once: 5,
            windows: 120,
            fullness: 0.85,
            write_back_bytes: 512 << 10,
        }
    }
}

/// What a round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A day of the office; day 0 is the filling.
    Day,
    /// The largest size of a class of files on the last day: those of more than half of it.
    SizeClass,
}

/// How a workload is made of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Of all that they tell.
    Told,
    /// As published, with short-lived files after the built-in profiles of activity.
    Published,
}

/// The kind of workload that this is in an experiment's file.
pub(super) const KIND: &str = "verify";

/// The sides.
pub(super) const SIDES: [&str; 2] = ["real", "replayed"];

impl Verification {
    /// Refuses what cannot be carried out.
    pub(super) fn check(&self, rounds: &[u64]) -> Result<(), Error> {
        let days = self.days;
        match rounds.last() {
            Some(&day) if self.by == By::Day && day > days => {
                Err(Error::Refused(format!("no day {day}: the simulated history has {days} days")))
            }
            _ if self.at_once == 0 || self.windows == 0 || self.write_back_bytes == 0 => {
                Err(Error::Refused("at_once, windows and write_back_bytes must not be 0".to_owned()))
            }
            _ if !(self.fullness > 0.0 && self.fullness < 1.0) => {
                Err(Error::Refused(format!("fullness = {} is not between 0 and 1", self.fullness)))
            }
            _ => Ok(()),
        }
    }

    fn workload(&self, seed: u64) -> Options {
        match self.method {
            Method::Told => Options::told(seed),
            Method::Published => Options {
                short_lived: Some(ShortLived::published(ActivitySet::builtin())),
                ..Options::published(seed)
            },
        }
    }
}

/// A verification to be made.
pub(super) struct Verifying<'a> {
    pub cell: &'a Cell<Verification>,
    pub scale: &'a Scale,
    pub store: &'a Store,
    pub session: &'a Arc<Session>,
    pub identity: &'a Identity,
    /// The full command line, for the record.
    pub command: &'a str,
    /// Where both file systems are made.
    pub images: &'a Path,
    pub watch: &'a mut dyn Watch,
}

impl Verifying<'_> {
    /// Measures all rounds, unless they are in the store.
    pub fn run(&mut self) -> Result<(), Error> {
        let rounds = &self.scale.rounds;
        if self.identity.has_all(self.store, rounds)? {
            return Ok(());
        }
        let (task, size_bytes, seed) = (&self.cell.task, self.scale.size_bytes, self.cell.seed);
        let case = Case::Office {
            office: OfficeOptions {
                size_bytes,
                days: task.days,
                at_once: task.at_once,
                windows: task.windows,
                fullness: task.fullness,
                seed,
            },
            options: task.workload(seed),
            write_back_bytes: task.write_back_bytes,
            made: self.cell.made(size_bytes, Home::Image(self.images.to_owned()), None)?,
        };
        let verified = made(self.session, self.images, KIND, &case, None, self.watch)?;
        let found = match task.by {
            By::Day => days(&verified),
            By::SizeClass => size_classes(&verified),
        };
        for (round, numbers) in found.into_iter().filter(|(round, _)| rounds.contains(round)) {
            self.identity.record(self.store, round, (self.command, seed), &numbers)?;
        }
        Ok(())
    }
}

/// What was measured, by round.
type Found = BTreeMap<u64, Vec<Measurement>>;

fn days(verified: &Verified) -> Found {
    let (mut sum, mut count) = (0.0, 0.0);
    let of = |day: &crate::verify::Day| {
        let mut numbers = both(measures::LAYOUT_SCORE, [day.real_score, day.replayed_score]);
        numbers.extend(both(measures::FULLNESS, [day.real_fullness, day.replayed_fullness]));
        numbers.extend(both(measures::FILES, [Some(day.real_files as f64), Some(day.replayed_files as f64)]));
        if let Some((real, replayed)) = day.real_score.zip(day.replayed_score) {
            (sum, count) = (sum + (replayed - real).abs(), count + 1.0);
            numbers.push(measures::LAYOUT_SCORE_EXCESS.once(ONLY, replayed - real));
            numbers.push(measures::MEAN_ABS_DIFFERENCE.once(ONLY, sum / count));
        }
        numbers
    };
    verified.days.iter().map(|day| day.day).zip(verified.days.iter().map(of)).collect()
}

fn size_classes(verified: &Verified) -> Found {
    let of = |class: &crate::verify::SizeScores| {
        let mut numbers = both(measures::LAYOUT_SCORE, [class.real_score, class.replayed_score]);
        let files = [class.real_files, class.replayed_files].map(|files| Some(files as f64));
        numbers.extend(both(measures::FILES, files));
        if let Some((real, replayed)) = class.real_score.zip(class.replayed_score) {
            numbers.push(measures::LAYOUT_SCORE_EXCESS.once(ONLY, replayed - real));
        }
        (class.upper_bytes, numbers)
    };
    verified.by_size.iter().map(of).collect()
}

fn both(measure: Measure, values: [Option<f64>; 2]) -> Vec<Measurement> {
    let sides = SIDES.into_iter().zip(values);
    sides.filter_map(|(side, value)| Some(measure.once(side, value?))).collect()
}
