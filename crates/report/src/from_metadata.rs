//! Converts runs of the metadata benchmark to page data: rates by phase and repeat, and latencies.

mod aged_pairs;

pub use aged_pairs::aged_pairs;

use crate::data::{Axis, Experiment, Line, Plot, Point};
use crate::method_rows;
use bench::metadata::{PhaseOutcome, TimeSlice};
use results::{Run, Store};
use run::Error;
use std::collections::{BTreeMap, HashSet};

/// The last complete run of each name; of the given names, or of all without names.
pub fn latest<'r>(
    store: &Store,
    runs: &'r [Run],
    names: &[String],
) -> Result<Vec<(&'r Run, Vec<PhaseOutcome>)>, Error> {
    let wanted = |run: &&Run| {
        run.kind == "metadata" && run.state == "done" && (names.is_empty() || names.contains(&run.name))
    };
    let mut seen = HashSet::new();
    let mut latest = Vec::new();
    for run in runs.iter().rev().filter(wanted).filter(|run| seen.insert(&run.name)) {
        latest.push((run, phases(store, run)?));
    }
    latest.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    Ok(latest)
}

/// The phases of a run, in order.
pub fn phases(store: &Store, run: &Run) -> Result<Vec<PhaseOutcome>, Error> {
    let mut phases = Vec::new();
    loop {
        let name = format!("phase {}", phases.len());
        let mut next = None;
        for phase in PHASES {
            next = next.or(store.document(run.id, phase, &name)?);
        }
        match next {
            Some(outcome) => phases.push(outcome),
            None => return Ok(phases),
        }
    }
}

const PHASES: [&str; 3] = ["precreate", "benchmark", "cleanup"];

/// The page data of a run.
pub fn metadata(run: &Run, phases: &[PhaseOutcome]) -> Experiment {
    let parameter = |name: &str| run.parameters.get(name).map_or_else(String::new, method_rows::words);
    let ranks = phases.first().map_or(0, |phase| phase.ranks.len());
    Experiment {
        figure: run.name.clone(),
        title: format!(
            "Metadata benchmark {}: {ranks} {}{}",
            run.name,
            if ranks == 1 { "rank" } else { "ranks" },
            in_virtual_time(run)
        ),
        scale: "metadata".to_owned(),
        plots: vec![rates(phases), over_time(phases), density(phases), distribution(phases)],
        method: [
            ("Command", run.command.clone()),
            ("Settings", parameter("settings")),
            ("Ranks", parameter("ranks")),
            ("Object location", parameter("keeper")),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .into_iter()
        .chain(clock(run))
        .collect(),
        ..Experiment::default()
    }
}

/// The row that says what the time of a run is, unless it is that of the machine.
fn clock(run: &Run) -> Option<(String, String)> {
    let meaning = run.parameters.get("virtual_time")?.get("meaning")?.as_str()?;
    Some(("Clock".to_owned(), meaning.to_owned()))
}

/// The same for the end of a title.
fn in_virtual_time(run: &Run) -> &'static str {
    if clock(run).is_some() { ", in virtual time" } else { "" }
}

fn axis(label: &str, unit: &str, log: bool) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), log }
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y, ..Point::default() }
}

fn rates(phases: &[PhaseOutcome]) -> Plot {
    Plot {
        title: "Objects per second".to_owned(),
        x: axis("repeat", "", false),
        y: axis("rate", "objects/s", true),
        lines: rate_lines(phases),
        note: "Over the time of the slowest rank. Precreate and cleanup run once.".to_owned(),
        ..Plot::default()
    }
}

/// A line for each phase.
fn rate_lines(phases: &[PhaseOutcome]) -> Vec<Line> {
    let mut lines: BTreeMap<(usize, String), Vec<Point>> = BTreeMap::new();
    for outcome in phases {
        // Repeats with a wait before them form a separate line.
        let waiting =
            if outcome.waiting > 0.0 { format!("waiting {}", outcome.waiting) } else { String::new() };
        let point = point(f64::from(outcome.iteration) + 1.0, outcome.objects_per_s);
        lines.entry((outcome.phase as usize, waiting)).or_default().push(point);
    }
    let line = |((phase, option), points): ((usize, String), Vec<Point>)| Line {
        fs: PHASES[phase].to_owned(),
        option,
        points,
        ..Line::default()
    };
    lines.into_iter().map(line).collect()
}

fn over_time(phases: &[PhaseOutcome]) -> Plot {
    let mut lines = Vec::new();
    for (phase, repeats) in by_phase(phases) {
        for op in operations(&repeats) {
            for (side, of) in [("mean", mean as fn(&TimeSlice) -> f64), ("longest", longest)] {
                let mut begun_s = 0.0;
                let mut points = Vec::new();
                for outcome in &repeats {
                    let slices = outcome.timeline.get(op).map_or(&[][..], Vec::as_slice);
                    points.extend(slices.iter().map(|slice| point(begun_s + slice.at_s, of(slice))));
                    begun_s += outcome.time_s;
                }
                // Lines of several operations would hide each other.
                lines.push(line(&format!("{phase}, {op}"), op, side, points));
            }
        }
    }
    Plot {
        title: "Latency over the time of each phase".to_owned(),
        x: axis("time since the start of the phase", "s", false),
        y: axis("latency", "µs", true),
        lines,
        note: "Mean and longest latency of the operations that started within a time slice, of all ranks; \
               repeats of the benchmark phase follow each other. Each operation starts when the previous one \
               ends, so a slow operation hides the delay of those after it."
            .to_owned(),
        ..Plot::default()
    }
}

fn mean(slice: &TimeSlice) -> f64 {
    slice.mean_us
}

fn longest(slice: &TimeSlice) -> f64 {
    slice.max_us
}

fn density(phases: &[PhaseOutcome]) -> Plot {
    // The middle of the bin on a logarithmic axis.
    let half = 2f64.powf(-1.0 / 16.0);
    let shown =
        |bins: Vec<(f64, f64)>| bins.into_iter().map(|(below, share)| point(below * half, share)).collect();
    Plot {
        title: "Latency histogram".to_owned(),
        x: axis("latency", "µs", true),
        y: axis("share of the operations", "", true),
        lines: binned(phases, shown),
        note: "Bins of an eighth of a doubling.".to_owned(),
        ..Plot::default()
    }
}

fn distribution(phases: &[PhaseOutcome]) -> Plot {
    Plot {
        title: "Cumulative latency distribution".to_owned(),
        x: axis("latency", "µs", true),
        y: axis("share of the operations", "", false),
        lines: distribution_lines(phases),
        ..Plot::default()
    }
}

/// A line for each phase and operation.
fn distribution_lines(phases: &[PhaseOutcome]) -> Vec<Line> {
    let shown = |bins: Vec<(f64, f64)>| {
        let mut sum = 0.0;
        let add = |(below, share)| {
            sum += share;
            point(below, f64::min(sum, 1.0))
        };
        bins.into_iter().map(add).collect()
    };
    binned(phases, shown)
}

/// A line of the shares of bins for each phase and operation.
fn binned(phases: &[PhaseOutcome], shown: impl Fn(Vec<(f64, f64)>) -> Vec<Point>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (phase, repeats) in by_phase(phases) {
        for op in operations(&repeats) {
            // Bin ends are equal everywhere and positive, so the order of their bits is their order.
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for bin in repeats.iter().filter_map(|outcome| outcome.latency_bins.get(op)).flatten() {
                *counts.entry(bin.below_us.to_bits()).or_default() += bin.count;
            }
            let all = counts.values().sum::<u64>() as f64;
            let bins = counts.into_iter().map(|(below, count)| (f64::from_bits(below), count as f64 / all));
            lines.push(line(phase, op, "", shown(bins.collect())));
        }
    }
    lines
}

/// The line of an operation, in the panel of its phase.
fn line(phase: &str, op: &str, side: &str, points: Vec<Point>) -> Line {
    let [fs, disk, side] = [op, phase, side].map(str::to_owned);
    Line { fs, disk, side, option: String::new(), points }
}

/// The outcomes by phase, for the phases that ran.
fn by_phase(phases: &[PhaseOutcome]) -> Vec<(&'static str, Vec<&PhaseOutcome>)> {
    let of =
        |name: &'static str| (name, phases.iter().filter(|outcome| outcome.phase.name() == name).collect());
    PHASES.map(of).into_iter().filter(|(_, outcomes): &(_, Vec<_>)| !outcomes.is_empty()).collect()
}

/// The operations of a phase.
fn operations<'p>(repeats: &[&'p PhaseOutcome]) -> impl Iterator<Item = &'p String> + use<'p> {
    repeats[0].latency_bins.keys()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::metadata::{Op, Phase, Tally};

    pub fn outcome(phase: Phase, iteration: u32, took_us: &[u64]) -> PhaseOutcome {
        let mut tally = Tally { time_s: 2.0, ..Tally::default() };
        for (at, us) in took_us.iter().enumerate() {
            tally.ops[Op::Read as usize].done += 1;
            tally.latencies[Op::Read as usize].record(us * 1000);
            tally.timeline.record(Op::Read, at as u64 * 100_000_000, us * 1000);
        }
        PhaseOutcome::of(phase, iteration, 0.0, false, &[tally])
    }

    #[test]
    fn repeats_form_one_time_line_and_one_distribution() {
        let phases = [outcome(Phase::Benchmark, 0, &[10, 20, 40]), outcome(Phase::Benchmark, 1, &[10])];
        let rates = rates(&phases);
        let points: Vec<(f64, f64)> = rates.lines[0].points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(points, [(1.0, 1.5), (2.0, 0.5)]);
        let time = over_time(&phases);
        let mean = time.lines.iter().find(|line| line.side == "mean").unwrap();
        assert_eq!((mean.fs.as_str(), mean.disk.as_str()), ("read", "benchmark, read"));
        let points: Vec<(f64, f64)> = mean.points.iter().map(|p| ((p.x * 10.0).round(), p.y)).collect();
        assert_eq!(points, [(0.0, 10.0), (1.0, 20.0), (2.0, 40.0), (20.0, 10.0)]);
        let shares: Vec<f64> = density(&phases).lines[0].points.iter().map(|p| p.y).collect();
        assert_eq!(shares, [0.5, 0.25, 0.25]);
        let sums: Vec<f64> = distribution(&phases).lines[0].points.iter().map(|p| p.y).collect();
        assert_eq!(sums, [0.5, 0.75, 1.0]);
    }
}
