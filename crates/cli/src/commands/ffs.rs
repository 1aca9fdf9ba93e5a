//! `senesce ffs`: replays a trace on simulated file systems, one policy after the other.

use crate::args::{self, Ffs};
use crate::output::{self, number, rate};
use ::ffs::benchmark::{FILE_SIZES, HotFiles, SequentialPoint};
use ::ffs::{History, Measures, OperationCounts, SimulatedFs, Simulation, run as replay};
use anyhow::Result;
use disk::Model;
use serde::Serialize;
use trace::Source;

/// Repetitions of the sequential benchmark, each with another placement.
const PLACEMENTS: u32 = 10;

/// The result of one policy.
#[derive(Serialize)]
struct Outcome {
    file_system: &'static str,
    policy: &'static str,
    size_bytes: u64,
    #[serde(flatten)]
    counts: OperationCounts,
    /// Operations per second of wall time of the simulation.
    operations_per_s: f64,
    /// Memory use of the simulation in bytes, for structures that scale with the disk and with the number of files.
    map_heap_bytes: usize,
    file_heap_bytes: usize,
    #[serde(flatten)]
    measures: Measures,
    series: Vec<Point>,
    disk: Option<Costs>,
}

/// The measures at a checkpoint.
#[derive(Serialize)]
struct Point {
    checkpoint: u64,
    operations: u64,
    files: u64,
    fullness: f64,
    layout_score: Option<f64>,
    split_files: u64,
    free_fragment_share: f64,
}

/// Times on a modelled disk.
#[derive(Serialize)]
struct Costs {
    model: String,
    scan_s_per_gib: Option<f64>,
    hot_files: Option<HotFiles>,
    sequential_empty: Option<Vec<SequentialPoint>>,
    sequential_aged: Option<Vec<SequentialPoint>>,
}

pub fn run(args: &Ffs) -> Result<()> {
    let kind = match args.fs {
        args::SimulatedFs::Ffs => SimulatedFs::Fast,
        args::SimulatedFs::Extents => SimulatedFs::Extents,
    };
    let all: Vec<String> = kind.policies().into_iter().map(str::to_owned).collect();
    let policies = if args.policy.is_empty() { &all } else { &args.policy };
    // Creates all simulations first, so that an invalid argument fails before the first one runs.
    let simulations =
        policies.iter().map(|policy| kind.create(policy, args.size)).collect::<Result<Vec<_>, _>>()?;
    let model = args.disk.as_deref().map(Model::find).transpose()?;
    let mut outcomes = Vec::new();
    for simulation in simulations {
        let source: Box<dyn Source> = match &args.trace {
            Some(path) => trace::open(path)?.0,
            None => Box::new(History::new(args.size, args.seed)),
        };
        outcomes.push(simulate(args, kind, simulation, source, model.as_ref())?);
    }
    if args.json {
        // A single policy is printed as an object, not as an array.
        return match &outcomes[..] {
            [outcome] => output::json(outcome),
            all => output::json(&all),
        };
    }
    print(&outcomes)
}

fn simulate(
    args: &Ffs,
    kind: SimulatedFs,
    mut simulation: Box<dyn Simulation>,
    source: Box<dyn Source>,
    model: Option<&Model>,
) -> Result<Outcome> {
    let sequential = |simulation: &dyn Simulation| match model {
        Some(model) if args.sequential => simulation.sequential(model, &FILE_SIZES, PLACEMENTS).map(Some),
        _ => Ok(None),
    };
    let sequential_empty = sequential(simulation.as_ref())?;
    let mut series = Vec::new();
    let took = replay(simulation.as_mut(), source, |simulation| series.push(point(simulation)))?;
    let counts = simulation.counts();
    let (map_heap_bytes, file_heap_bytes) = simulation.heap_bytes();
    let disk = match model {
        Some(model) => Some(Costs {
            model: model.name().to_owned(),
            scan_s_per_gib: simulation.scan_s_per_gib(model),
            hot_files: simulation.hot_files(model),
            sequential_empty,
            sequential_aged: sequential(simulation.as_ref())?,
        }),
        None => None,
    };
    Ok(Outcome {
        file_system: kind.name(),
        policy: simulation.policy(),
        size_bytes: args.size,
        operations_per_s: counts.operations as f64 / took.as_secs_f64().max(1e-9),
        counts,
        map_heap_bytes,
        file_heap_bytes,
        measures: simulation.measure(),
        series,
        disk,
    })
}

fn point(simulation: &dyn Simulation) -> Point {
    let (counts, measures) = (simulation.counts(), simulation.measure());
    Point {
        checkpoint: counts.checkpoints,
        operations: counts.operations,
        files: measures.files,
        fullness: measures.fullness,
        layout_score: measures.layout_score,
        split_files: measures.split_files,
        free_fragment_share: measures.free_fragment_share,
    }
}

/// Prints one table with a column for each policy.
fn print(outcomes: &[Outcome]) -> Result<()> {
    let headings: Vec<&str> =
        std::iter::once("").chain(outcomes.iter().map(|outcome| outcome.policy)).collect();
    let row = |name: &str, cell: &dyn Fn(&Outcome) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(outcomes.iter().map(cell)).collect()
    };
    let mut rows = vec![
        row("operations", &|outcome| outcome.counts.operations.to_string()),
        row("without space", &|outcome| outcome.counts.no_space.to_string()),
        row("operations/s", &|outcome| rate(Some(outcome.operations_per_s))),
        row("files", &|outcome| outcome.measures.files.to_string()),
        row("fullness", &|outcome| number(Some(outcome.measures.fullness))),
        row("layout score", &|outcome| number(outcome.measures.layout_score)),
        row("  ending in a block", &|outcome| number(outcome.measures.layout_score_multiples)),
        row("  ending in fragments", &|outcome| number(outcome.measures.layout_score_others)),
        row("split files", &|outcome| outcome.measures.split_files.to_string()),
        row("  one group away", &|outcome| number(outcome.measures.split_adjacent_share)),
        row("  at most ten groups away", &|outcome| number(outcome.measures.split_within_ten_share)),
        row("free space in fragments", &|outcome| number(Some(outcome.measures.free_fragment_share))),
        row("mean free run, blocks", &|outcome| number(Some(outcome.measures.free.mean_blocks))),
    ];
    let cost = |pick: fn(&Costs) -> Option<f64>| {
        move |outcome: &Outcome| number(outcome.disk.as_ref().and_then(pick))
    };
    if outcomes.iter().any(|outcome| outcome.disk.is_some()) {
        let mb = |bytes_per_s: Option<f64>| bytes_per_s.map(|speed| speed / 1e6);
        rows.push(row("scan, s/GiB", &cost(|costs| costs.scan_s_per_gib)));
        rows.push(row("hot files, read MB/s", &|outcome| {
            let hot = outcome.disk.as_ref().and_then(|costs| costs.hot_files.as_ref());
            rate(mb(hot.and_then(|hot| hot.read_bytes_per_s)))
        }));
        rows.push(row("hot files, write MB/s", &|outcome| {
            let hot = outcome.disk.as_ref().and_then(|costs| costs.hot_files.as_ref());
            rate(mb(hot.and_then(|hot| hot.write_bytes_per_s)))
        }));
        rows.extend(sequential_rows(outcomes));
    }
    output::table(&headings, rows)
}

/// Read throughput of the sequential benchmark on the empty and on the aged disk, one row for each file size.
fn sequential_rows(outcomes: &[Outcome]) -> Vec<Vec<String>> {
    let speed = |points: &Option<Vec<SequentialPoint>>, at: usize| {
        let point = points.as_ref().and_then(|points| points.get(at));
        rate(point.and_then(|point| point.read_bytes_per_s).map(|rate| rate.mean / 1e6))
    };
    if !outcomes
        .iter()
        .any(|outcome| outcome.disk.as_ref().is_some_and(|costs| costs.sequential_aged.is_some()))
    {
        return Vec::new();
    }
    let row = |(at, &size): (usize, &u64)| {
        let cells = outcomes.iter().map(|outcome| match &outcome.disk {
            Some(costs) => {
                format!("{} / {}", speed(&costs.sequential_empty, at), speed(&costs.sequential_aged, at))
            }
            None => "–".to_owned(),
        });
        std::iter::once(format!("read {}, MB/s empty / aged", input::bytes(size))).chain(cells).collect()
    };
    FILE_SIZES.iter().enumerate().map(row).collect()
}
