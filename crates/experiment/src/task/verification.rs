//! Verification in experiments: compares a real file system, aged by a synthetic workload, with one on which the workload of its snapshots
//! was replayed (Smith and Seltzer 1997, Figures 3 and 4).

use super::replayed::{By, DailyLayout, SIDES, both, layout};
use super::{Measuring, NamedDisk, Rounds, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use fs::Location;
use results::measures;
use run::Error;
use run::verify::{Case, Verified, compare_sides};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use snapshot::activity::ActivitySet;
use workload::snapshots::{Options, ShortLived};
use workload::synthetic::SyntheticOptions;

/// Parameters of a verification in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Verification {
    /// The meaning of a round.
    by: By,
    /// How the workload is derived from the snapshots.
    method: Method,
    /// Days of work.
    days: u64,
    /// Number of concurrent tasks.
    #[serde(rename(serialize = "at_once"), alias = "at_once")]
    concurrency: usize,
    /// Intervals per day and GiB.
    #[serde(rename(serialize = "windows"), alias = "windows")]
    intervals: u64,
    /// Share of the file system in use at the end.
    fullness: f64,
    /// The replay syncs after this many bytes.
    write_back_bytes: u64,
}

impl Default for Verification {
    fn default() -> Verification {
        Verification {
            by: By::Day,
            method: Method::FullMetadata,
            days: 10,
            concurrency: 5,
            intervals: 120,
            fullness: 0.85,
            write_back_bytes: 512 << 10,
        }
    }
}

/// How a workload is derived from snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    /// From all metadata in the snapshots.
    #[serde(rename(serialize = "told"), alias = "told")]
    FullMetadata,
    /// As published, with short-lived files from the built-in activity profiles.
    Published,
}

inventory::submit!(TaskKind::new::<Verification>("verify", Vec::new));

impl Task for Verification {
    fn check(&self, _cell: &Cell, scale: &Scale) -> Result<(), Error> {
        let days = self.days;
        match scale.last() {
            day if self.by == By::Day && day > days => {
                Err(Error::Refused(format!("no day {day}: the simulated history has {days} days")))
            }
            _ if self.concurrency == 0 || self.intervals == 0 || self.write_back_bytes == 0 => {
                Err(Error::Refused("concurrency, intervals and write_back_bytes must not be 0".to_owned()))
            }
            _ if !(self.fullness > 0.0 && self.fullness < 1.0) => {
                Err(Error::Refused(format!("fullness = {} is not between 0 and 1", self.fullness)))
            }
            _ => Ok(()),
        }
    }

    fn parameters(&self, _scale: &Scale, _disks: &[NamedDisk]) -> Result<Value, Error> {
        Ok(json!({ "verify": self }))
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        at.record_all(|at| {
            let verified = self.verified(at)?;
            Ok(match self.by {
                By::Day => days(&verified),
                By::SizeClass => size_classes(&verified),
            })
        })
    }

    fn method(&self, _scale: &Scale) -> (&'static str, String) {
        (
            "Comparison",
            "of a synthetic workload with a replay of its snapshots on another file system".to_owned(),
        )
    }

    fn sides(&self) -> &'static [&'static str] {
        &SIDES
    }
}

impl Verification {
    fn workload(&self, seed: u64) -> Options {
        match self.method {
            Method::FullMetadata => Options::full_metadata(seed),
            Method::Published => Options {
                short_lived: Some(ShortLived::published(ActivitySet::builtin())),
                ..Options::published(seed)
            },
        }
    }

    fn verified(&self, at: &mut Measuring) -> Result<Verified, Error> {
        let (size_bytes, seed) = (at.scale.size_bytes, at.cell.seed);
        let images = at.images()?;
        let case = Case::Synthetic {
            synthetic: SyntheticOptions {
                size_bytes,
                days: self.days,
                concurrency: self.concurrency,
                intervals: self.intervals,
                fullness: self.fullness,
                seed,
            },
            options: self.workload(seed),
            write_back_bytes: self.write_back_bytes,
            volume: at.cell.volume(size_bytes, Location::Image(images.path().to_owned()), None)?,
        };
        compare_sides(at.session, images.path(), "verify", &case, None, at.watch)
    }
}

fn days(verified: &Verified) -> Rounds {
    let mut layout = DailyLayout::default();
    let of = |day: &run::verify::Day| {
        let mut numbers = layout.next([day.real_score, day.replayed_score]);
        numbers.extend(both(measures::FULLNESS, [day.real_fullness, day.replayed_fullness]));
        numbers.extend(both(measures::FILES, [Some(day.real_files as f64), Some(day.replayed_files as f64)]));
        (day.day, numbers)
    };
    verified.days.iter().map(of).collect()
}

fn size_classes(verified: &Verified) -> Rounds {
    let of = |class: &run::verify::SizeScores| {
        let mut numbers = layout([class.real_score, class.replayed_score]);
        let files = [class.real_files, class.replayed_files].map(|files| Some(files as f64));
        numbers.extend(both(measures::FILES, files));
        (class.upper_bytes, numbers)
    };
    verified.by_size.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_read_and_stored() {
        let old: Verification = toml::from_str("method = \"told\"\nat_once = 3\nwindows = 7").unwrap();
        let new: Verification =
            toml::from_str("method = \"full-metadata\"\nconcurrency = 3\nintervals = 7").unwrap();
        assert_eq!(old, new);
        let stored = serde_json::to_value(&new).unwrap();
        assert_eq!(stored["method"], "told");
        assert_eq!((stored["at_once"].as_u64(), stored["windows"].as_u64()), (Some(3), Some(7)));
    }
}
