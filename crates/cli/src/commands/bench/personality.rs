//! `senesce bench personality`.

use super::subject::{self, interval};
use crate::args::{self, Against};
use crate::commands::vm_dispatch;
use crate::output;
use crate::progress::Progress;
use anyhow::Result;
use bench::personality::{Personality, RunLength};
use results::Interval;
use run::{PersonalityOutcome, PersonalitySpec};

pub fn run(args: &args::Personality) -> Result<()> {
    let mut personality = Personality::find(&args.personality)?;
    personality.threads = args.threads.unwrap_or(personality.threads);
    if let Some(factor) = args.scale {
        personality = personality.scaled(factor);
    }
    let spec = PersonalitySpec {
        personality,
        on: subject::find(&args.subject)?,
        against: args.subject.against == Against::Unaged,
        disk: args.subject.disk.clone(),
        dirty_bytes: args.dirty,
        length: args.operations.map_or(RunLength::Time(args.time), RunLength::Operations),
        repeat: args.subject.repeat,
        seed: args.seed,
        command: crate::commands::command_line(),
    };
    if let Some(dispatch) = vm_dispatch::for_bench(&spec.on)? {
        return vm_dispatch::run(&dispatch);
    }
    let mut progress = Progress::new();
    let outcome = run::personality(&spec, &mut progress)?;
    drop(progress);
    if args.subject.json { output::json(&outcome) } else { show(&outcome) }
}

fn show(outcome: &PersonalityOutcome) -> Result<()> {
    if let Some(disk) = &outcome.modelled_disk {
        output::line(&format!("on a modelled {disk} with real-time service times"))?;
    }
    let rates = |name: &str, operations: Interval, mib: Interval| {
        vec![name.to_owned(), interval(Some(operations)), interval(Some(mib))]
    };
    let sides = outcome.sides.iter().map(|(name, side)| rates(name, side.operations_per_s, side.mib_per_s));
    let ratio =
        outcome.ratio.as_ref().map(|ratio| rates("aged/unaged", ratio.operations_per_s, ratio.mib_per_s));
    output::table(&["side", "operations/s", "MiB/s"], sides.chain(ratio))?;
    let latencies = outcome.sides.iter().map(|(name, side)| (*name, &side.latency_us));
    let ratios = outcome.ratio.iter().map(|ratio| ("aged/unaged", &ratio.latency));
    let rows = latencies.chain(ratios).flat_map(|(name, by_kind)| {
        by_kind.iter().map(move |(kind, by_quantile)| {
            let at = |quantile| interval(by_quantile.get(quantile).copied());
            vec![kind.clone(), name.to_owned(), at("median"), at("p99"), at("p999"), at("max")]
        })
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.sort_by(|a, b| a[0].cmp(&b[0]));
    output::table(&["operation", "side", "latency in µs: median", "p99", "p99.9", "longest"], rows)?;
    output::line(&outcome.kept.message(&outcome.name))
}
