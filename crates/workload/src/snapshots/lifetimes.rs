//! A model of file lifetimes, fitted to the snapshots.
//!
//! The model is a hazard (deletions per second of life) that depends only on age and is constant within each
//! octave of age from a minute to two years. For a deleted file, two snapshots give only the ages between
//! which it was deleted; for a file first seen at some age, they do not tell how many similar files were
//! deleted unseen: the lifetimes are interval-censored and left-truncated. The hazards maximize the
//! likelihood, by the EM algorithm (as Turnbull, "The empirical distribution function with arbitrarily
//! grouped, censored and truncated data", 1976, here with a piecewise constant hazard): the hazards give the
//! expected position of each deletion in its interval, and the expected deletions over the expected time at
//! risk give the hazards. Daily intervals hardly distinguish hours, and the maximum likelihood would put all
//! deletions into a few octaves; so each step smooths neighbouring hazards (EMS; Silverman, Jones, Wilson and
//! Nychka, "A smoothed EM approach to indirect estimation problems", 1990).

use std::collections::BTreeMap;

use super::matching::{Matching, Predecessor};
use super::options::Options;
use super::series::{Series, load};
use super::tree::NONE;
use super::view::View;
use crate::Error;

const MINUTE_NS: f64 = 60e9;
/// Ages from 0 to a minute, then octaves; the last one is open.
const OCTAVES: usize = 21;
/// The ages around a deletion are rounded to an eighth of an octave, so that memory use does not grow with
/// the number of files.
const STEPS: f64 = 8.0;
const ROUNDS: usize = 1_000;
/// Prior deletions of each octave, at the rate of all files: enough for a hazard where no deletion was
/// observed, and negligible compared with the few seconds or hours at which young files are observed.
const BEFOREHAND: f64 = 1e-4;

/// A fitted model of lifetimes.
#[derive(Clone, PartialEq, Debug)]
pub struct LifetimeModel {
    /// Deletions per nanosecond.
    hazards: [f64; OCTAVES],
}

impl LifetimeModel {
    /// Reads all of `series` and fits the model.
    pub fn fit(series: &dyn Series, options: &Options) -> Result<LifetimeModel, Error> {
        let mut view = View::new(options);
        let mut seen = Observations::default();
        let mut before: Option<(snapshot::Snapshot, Vec<i64>)> = None;
        for place in 0..series.count() {
            let after = load(series, place, before.as_ref().map(|(snapshot, _)| snapshot))?;
            let (after, _) = view.of(after.snapshot, &series.name(place))?;
            let mut born: Vec<i64> =
                after.entries().iter().map(|entry| entry.born_ns.unwrap_or(entry.changed_ns)).collect();
            if let Some((before, born_before)) = &before {
                let (from, to) = (before.info().begun_ns, after.info().ended_ns);
                let matching = Matching::of(before, &after);
                for (place, entry) in before.entries().iter().enumerate() {
                    if entry.kind == snapshot::Kind::Dir || matching.files_a.first[place] != place as u32 {
                        continue;
                    }
                    let age = |at: i64| (at.max(from) - born_before[place].min(from)) as f64;
                    match matching.became[place] {
                        NONE => seen.deletion(age(from), age(to)),
                        b if matching.predecessor[b as usize] == Predecessor::File(place as u32) => {
                            born[b as usize] = born_before[place];
                            seen.at_risk(age(from), age(to));
                        }
                        b => seen.deletion(age(from), age(after.entries()[b as usize].changed_ns.min(to))),
                    }
                }
            }
            before = Some((after, born));
        }
        Ok(seen.fit())
    }

    /// The hazard at an age in nanoseconds, in deletions per nanosecond.
    pub fn hazard(&self, age_ns: f64) -> f64 {
        self.hazards[octave(age_ns)]
    }

    /// The age at deletion of a file that existed at age `from` and not at age `to`; `unit` is a random
    /// number from 0 to 1.
    pub(super) fn age_at_deletion(&self, from: f64, to: f64, unit: f64) -> f64 {
        let whole = self.cumulative(from, to);
        if whole <= 0.0 {
            return from + unit * (to - from);
        }
        // The cumulative hazard at which a share `unit` of the files deleted by `to` is deleted.
        let mut left = -libm::log1p(unit * libm::expm1(-whole));
        for (start, end, hazard) in self.pieces(from, to) {
            let here = hazard * (end - start);
            if left < here {
                return start + left / hazard;
            }
            left -= here;
        }
        to
    }

    fn cumulative(&self, from: f64, to: f64) -> f64 {
        self.pieces(from, to).map(|(start, end, hazard)| hazard * (end - start)).sum()
    }

    /// The octaves between two ages, with their hazards.
    fn pieces(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64, f64)> {
        pieces(from, to).map(|(octave, start, end)| (start, end, self.hazards[octave]))
    }
}

fn octave(age_ns: f64) -> usize {
    let minutes = age_ns / MINUTE_NS;
    if minutes < 1.0 { 0 } else { ((libm::log2(minutes) as usize) + 1).min(OCTAVES - 1) }
}

fn octave_start(octave: usize) -> f64 {
    if octave == 0 { 0.0 } else { MINUTE_NS * (1u64 << (octave - 1)) as f64 }
}

/// The octaves between two ages, with the start and end of each between them.
fn pieces(from: f64, to: f64) -> impl Iterator<Item = (usize, f64, f64)> {
    (octave(from)..=octave(to)).filter_map(move |octave| {
        let end = if octave + 1 == OCTAVES { to } else { octave_start(octave + 1).min(to) };
        let start = octave_start(octave).max(from);
        (start < end).then_some((octave, start, end))
    })
}

/// Observations from the snapshots.
#[derive(Default)]
struct Observations {
    /// Time in nanoseconds at which files were at risk and not deleted.
    at_risk_ns: [f64; OCTAVES],
    /// Number of deletions between two ages, in steps.
    deletions: BTreeMap<(u32, u32), u64>,
}

impl Observations {
    fn at_risk(&mut self, from: f64, to: f64) {
        for (octave, start, end) in pieces(from, to) {
            self.at_risk_ns[octave] += end - start;
        }
    }

    fn deletion(&mut self, from: f64, to: f64) {
        let step = |age: f64| (STEPS * libm::log2(1.0 + age / MINUTE_NS)) as u32;
        *self.deletions.entry((step(from), step(to).max(step(from) + 1))).or_default() += 1;
    }

    fn fit(self) -> LifetimeModel {
        let age = |step: u32| (libm::exp2(f64::from(step) / STEPS) - 1.0) * MINUTE_NS;
        let deletions: Vec<(f64, f64, f64)> =
            self.deletions.iter().map(|((from, to), count)| (age(*from), age(*to), *count as f64)).collect();
        let all: f64 = deletions.iter().map(|(_, _, count)| count).sum();
        let time: f64 = self.at_risk_ns.iter().sum::<f64>()
            + deletions.iter().map(|(from, to, count)| count * (to - from) / 2.0).sum::<f64>();
        if all == 0.0 || time <= 0.0 {
            return LifetimeModel { hazards: [0.0; OCTAVES] };
        }
        let rate = all / time;
        let mut model = LifetimeModel { hazards: [rate; OCTAVES] };
        for _ in 0..ROUNDS {
            let mut deleted = [BEFOREHAND; OCTAVES];
            let mut at_risk = self.at_risk_ns.map(|ns| ns + BEFOREHAND / rate);
            for (from, to, count) in &deletions {
                model.expect(*from, *to, *count, &mut deleted, &mut at_risk);
            }
            let before = model.hazards;
            model.hazards = smoothed(std::array::from_fn(|octave| deleted[octave] / at_risk[octave]));
            let change = before.iter().zip(&model.hazards).map(|(old, new)| (new / old - 1.0).abs());
            if change.fold(0.0, f64::max) < 1e-6 {
                break;
            }
        }
        model
    }
}

/// Smooths each hazard with a quarter of each neighbour's; geometric means, because they differ by orders of
/// magnitude.
fn smoothed(hazards: [f64; OCTAVES]) -> [f64; OCTAVES] {
    let logarithm = |octave: usize| libm::log(hazards[octave]);
    std::array::from_fn(|octave| {
        let (below, above) = (octave.saturating_sub(1), (octave + 1).min(OCTAVES - 1));
        libm::exp((logarithm(below) + 2.0 * logarithm(octave) + logarithm(above)) / 4.0)
    })
}

impl LifetimeModel {
    /// Adds the expected deletions and time at risk of `count` files deleted between two ages.
    fn expect(
        &self,
        from: f64,
        to: f64,
        count: f64,
        deleted: &mut [f64; OCTAVES],
        at_risk: &mut [f64; OCTAVES],
    ) {
        let gone = -libm::expm1(-self.cumulative(from, to));
        let mut alive = 1.0;
        for (octave, start, end) in pieces(from, to) {
            let (width, hazard) = (end - start, self.hazards[octave]);
            let left = libm::exp(-hazard * width);
            let here = alive * -libm::expm1(-hazard * width) / gone;
            // Files deleted later are at risk for the whole width; files deleted here for the mean of a
            // truncated exponential.
            let later = (alive * left - (1.0 - gone)).max(0.0) / gone;
            let mean =
                if hazard * width < 1e-6 { width / 2.0 } else { 1.0 / hazard - width * left / (1.0 - left) };
            deleted[octave] += count * here;
            at_risk[octave] += count * (here * mean + later * width);
            alive *= left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const DAY_NS: f64 = 24.0 * 60.0 * MINUTE_NS;

    /// Half of all files live some hours, the others some months; observed once a day.
    fn seen(files: usize) -> (Observations, Vec<(f64, f64, f64)>) {
        let mut random = Random::new(7, 0);
        let (mut seen, mut deleted) = (Observations::default(), Vec::new());
        for _ in 0..files {
            let first_seen = random.unit() * DAY_NS;
            let mean = if random.coin() { DAY_NS / 8.0 } else { 50.0 * DAY_NS };
            let life = -mean * libm::log1p(-random.unit());
            if life <= first_seen {
                continue;
            }
            for day in 0..30 {
                let (from, to) =
                    (first_seen + f64::from(day) * DAY_NS, first_seen + f64::from(day + 1) * DAY_NS);
                if life <= to {
                    seen.deletion(from, to);
                    deleted.push((from, to, life));
                    break;
                }
                seen.at_risk(from, to);
            }
        }
        (seen, deleted)
    }

    #[test]
    fn fit_recovers_high_hazard_of_young_files() {
        let (seen, deleted) = seen(40_000);
        let model = seen.fit();
        // At an age of hours nearly all of the short-lived half are deleted; at an age of days only the
        // others are left.
        let old = model.hazard(10.0 * DAY_NS) * 50.0 * DAY_NS;
        let young = model.hazard(DAY_NS / 24.0) * DAY_NS / 8.0;
        assert!((0.8..1.25).contains(&old) && (0.3..0.8).contains(&young), "old {old}, young {young}");
        // Drawn times lie on average as far into their intervals as the true ones; uniform ones lie in the
        // middle.
        let mut random = Random::new(8, 0);
        let share = |from: f64, to: f64, at: f64| (at - from) / (to - from);
        let count = deleted.len() as f64;
        let truth = deleted.iter().map(|(from, to, life)| share(*from, *to, *life)).sum::<f64>() / count;
        let drawn = deleted.iter().map(|(from, to, _)| {
            let age = model.age_at_deletion(*from, *to, random.unit());
            assert!((*from..=*to).contains(&age));
            share(*from, *to, age)
        });
        let drawn = drawn.sum::<f64>() / count;
        assert!(truth < 0.45 && (drawn - truth).abs() < 0.02, "true {truth}, drawn {drawn}");
    }

    #[test]
    fn unobserved_ages_give_finite_hazards() {
        let model = Observations::default().fit();
        assert_eq!(model.age_at_deletion(10.0, 20.0, 0.25), 12.5);
        let mut one = Observations::default();
        one.deletion(0.0, DAY_NS);
        let model = one.fit();
        assert!(model.hazards.iter().all(|hazard| hazard.is_finite() && *hazard > 0.0), "{model:?}");
        assert!((0.0..=DAY_NS).contains(&model.age_at_deletion(0.0, DAY_NS, 0.999_999)));
    }
}
