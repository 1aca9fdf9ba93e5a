//! Converts benchmarks on an aged file system and on its unaged copy to page data.

use super::{axis, by_phase, clock, distribution_lines, in_virtual_time, operations, rate_lines};
use crate::data::{Experiment, Line, Plot};
use bench::metadata::{PhaseOutcome, Quantiles};
use results::Run;
use run::{SUBJECTS, metadata_side};

/// The aged and unaged runs of each file system that has both from one command.
pub fn aged_pairs(runs: &[(&Run, Vec<PhaseOutcome>)]) -> Vec<Experiment> {
    let mut shown = Vec::new();
    for (aged, of_aged) in runs {
        let Some(name) = aged.name.strip_suffix(&metadata_side("", SUBJECTS[0])) else { continue };
        let other = metadata_side(name, SUBJECTS[1]);
        let unaged = runs.iter().find(|(run, _)| run.name == other && run.command == aged.command);
        shown.extend(unaged.map(|(_, of_unaged)| compare(name, aged, of_aged, of_unaged)));
    }
    shown
}

fn compare(name: &str, run: &Run, aged: &[PhaseOutcome], unaged: &[PhaseOutcome]) -> Experiment {
    let lines = |of: fn(&[PhaseOutcome]) -> Vec<Line>| {
        let sides = SUBJECTS.into_iter().zip([of(aged), of(unaged)]);
        sides
            .flat_map(|(side, lines)| lines.into_iter().map(|line| Line { side: side.to_owned(), ..line }))
            .collect()
    };
    Experiment {
        figure: format!("{name}, {} and {}", SUBJECTS[0], SUBJECTS[1]),
        title: format!("Metadata benchmark on {name}, aged and unaged{}", in_virtual_time(run)),
        scale: "metadata".to_owned(),
        plots: vec![
            Plot {
                title: "Objects per second".to_owned(),
                x: axis("repeat", "", false),
                y: axis("rate", "objects/s", true),
                lines: lines(rate_lines),
                note: format!("Aged/unaged, medians of the repeats: {}.", rate_ratios(aged, unaged)),
                ..Plot::default()
            },
            Plot {
                title: "Cumulative latency distribution".to_owned(),
                x: axis("latency", "µs", true),
                y: axis("share of the operations", "", false),
                lines: lines(distribution_lines),
                note: format!(
                    "Latency aged/unaged, median and 99th percentile, medians of the repeats: {}.",
                    latency_ratios(aged, unaged)
                ),
                ..Plot::default()
            },
        ],
        method: std::iter::once(("Command".to_owned(), run.command.clone())).chain(clock(run)).collect(),
        ..Experiment::default()
    }
}

/// A phase, or a phase and operation, with the values of both sides.
type Pair = (String, Option<f64>, Option<f64>);

fn rate_ratios(aged: &[PhaseOutcome], unaged: &[PhaseOutcome]) -> String {
    let rate = |repeats: &[&PhaseOutcome]| median(repeats.iter().map(|outcome| outcome.objects_per_s));
    let pair = |((phase, aged), (_, unaged)): ((&str, Vec<_>), (&str, Vec<_>))| -> Pair {
        (phase.to_owned(), rate(&aged), rate(&unaged))
    };
    ratios(by_phase(aged).into_iter().zip(by_phase(unaged)).map(pair), 1)
}

fn latency_ratios(aged: &[PhaseOutcome], unaged: &[PhaseOutcome]) -> String {
    let quantiles: [fn(&Quantiles) -> f64; 2] = [|us| us.median, |us| us.p99];
    let mut pairs = Vec::new();
    for ((phase, aged), (_, unaged)) in by_phase(aged).into_iter().zip(by_phase(unaged)) {
        for op in operations(&aged) {
            for quantile in quantiles {
                let of = |repeats: &[&PhaseOutcome]| {
                    median(repeats.iter().filter_map(|outcome| outcome.latency_us.get(op)).map(quantile))
                };
                pairs.push((format!("{op} in {phase}"), of(&aged), of(&unaged)));
            }
        }
    }
    ratios(pairs.into_iter(), quantiles.len())
}

/// The ratio of each pair; `each` consecutive pairs have the same name.
fn ratios(pairs: impl Iterator<Item = Pair>, each: usize) -> String {
    let ratio = |(_, aged, unaged): &Pair| match aged.zip(*unaged) {
        Some((aged, unaged)) if unaged > 0.0 => format!("{:.2}", aged / unaged),
        _ => "unknown".to_owned(),
    };
    let pairs: Vec<Pair> = pairs.collect();
    let of_one = |pairs: &[Pair]| {
        format!("{} {}", pairs[0].0, pairs.iter().map(ratio).collect::<Vec<_>>().join(" and "))
    };
    pairs.chunks(each).map(of_one).collect::<Vec<_>>().join(", ")
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    results::median_interval(&values.collect::<Vec<_>>()).map(|interval| interval.median)
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;
    use bench::metadata::Phase;

    #[test]
    fn ratios_cover_rates_and_tails() {
        let aged = [outcome(Phase::Benchmark, 0, &[20, 20]), outcome(Phase::Benchmark, 1, &[20, 20])];
        let unaged = [
            outcome(Phase::Benchmark, 0, &[10, 10, 10, 10]),
            outcome(Phase::Benchmark, 1, &[10, 40, 10, 10]),
        ];
        assert_eq!(rate_ratios(&aged, &unaged), "benchmark 0.50");
        // The median of the two longest, 10 and 40.
        assert_eq!(latency_ratios(&aged, &unaged), "read in benchmark 2.00 and 0.80");
    }
}
