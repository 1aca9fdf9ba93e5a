//! What the comparisons of a real file system with a replay of its snapshots have in common (Smith and Seltzer 1997, §3.4).

use results::Measurement;
use results::measures::{self, Measure};
use run::checkpoint::ONLY;
use serde::{Deserialize, Serialize};

/// The file system that the snapshots are of, and the one on which their workload was replayed.
const PAIR: [&str; 2] = ["real", "replayed"];

/// The sides, and the difference between both.
pub(super) const SIDES: [&str; 3] = [ONLY, PAIR[0], PAIR[1]];

/// The meaning of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    /// A day; measures at its end.
    Day,
    /// The largest size of a class of files on the last day: files larger than half of it.
    SizeClass,
}

/// A measure of both file systems.
pub(super) fn both(measure: Measure, values: [Option<f64>; 2]) -> Vec<Measurement> {
    let sides = PAIR.into_iter().zip(values);
    sides.filter_map(|(side, value)| Some(measure.once(side, value?))).collect()
}

/// The layout scores of both, and how much higher that of the replay is.
pub(super) fn layout(scores: [Option<f64>; 2]) -> Vec<Measurement> {
    let mut numbers = both(measures::LAYOUT_SCORE, scores);
    numbers.extend(excess(scores).map(|excess| measures::LAYOUT_SCORE_EXCESS.once(ONLY, excess)));
    numbers
}

fn excess([real, replayed]: [Option<f64>; 2]) -> Option<f64> {
    Some(replayed? - real?)
}

/// The layout scores of successive days.
#[derive(Default)]
pub(super) struct DailyLayout {
    sum: f64,
    days: u32,
}

impl DailyLayout {
    /// The measurements of the next day, with the mean distance of the scores so far.
    pub fn next(&mut self, scores: [Option<f64>; 2]) -> Vec<Measurement> {
        let mut numbers = layout(scores);
        if let Some(excess) = excess(scores) {
            (self.sum, self.days) = (self.sum + excess.abs(), self.days + 1);
            numbers.push(measures::MEAN_ABS_DIFFERENCE.once(ONLY, self.sum / f64::from(self.days)));
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_without_a_score_do_not_count() {
        let mut daily = DailyLayout::default();
        let mean = |numbers: Vec<Measurement>| {
            let is_mean = |number: &Measurement| number.measure == measures::MEAN_ABS_DIFFERENCE.name;
            numbers.iter().rfind(|number| is_mean(number)).map(|number| number.value)
        };
        assert_eq!(mean(daily.next([Some(0.5), Some(0.75)])), Some(0.25));
        assert_eq!(mean(daily.next([Some(0.5), None])), None);
        assert_eq!(mean(daily.next([Some(0.75), Some(0.5)])), Some(0.25));
        assert_eq!(mean(daily.next([Some(0.5), Some(0.5)])), Some(0.5 / 3.0));
    }
}
