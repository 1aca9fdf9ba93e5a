//! `senesce bench personality`.

use super::subject::{self, interval};
use super::virtual_time;
use crate::args::{self, Against, BenchSubject};
use crate::commands::vm_dispatch;
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, bail};
use bench::personality::{Personality, RunLength};
use results::Interval;
use run::{PersonalityOutcome, PersonalityRatios, PersonalitySpec};
use std::time::Duration;

/// The usual time of a run.
const TIME: Duration = Duration::from_secs(60);

/// The usual virtual time of a run, which takes several times as long.
const VIRTUAL_TIME: Duration = Duration::from_secs(2);

pub fn run(args: &args::Personality) -> Result<()> {
    let mut personality = Personality::find(&args.personality)?;
    personality.threads = args.threads.unwrap_or(personality.threads);
    if let Some(factor) = args.scale {
        personality = personality.scaled(factor);
    }
    let virtual_time = virtual_time::spec(&args.clock)?;
    let usual_time = if virtual_time.is_some() { VIRTUAL_TIME } else { TIME };
    if virtual_time.is_some() {
        refuse_wall_options(&args.subject)?;
    }
    let spec = PersonalitySpec {
        personality,
        on: subject::find(&args.subject)?,
        against: args.subject.against == Against::Unaged,
        disk: args.subject.disk.clone(),
        dirty_bytes: args.dirty,
        length: args
            .operations
            .map_or(RunLength::Time(args.time.unwrap_or(usual_time)), RunLength::Operations),
        repeat: args.subject.repeat,
        seed: args.seed,
        virtual_time,
        command: crate::commands::command_line(),
    };
    if spec.virtual_time.is_none()
        && let Some(dispatch) = vm_dispatch::for_bench(&spec.on)?
    {
        return vm_dispatch::run(&dispatch);
    }
    let mut progress = Progress::new();
    let outcome = run::personality(&spec, &mut progress)?;
    drop(progress);
    if args.subject.json { output::json(&outcome) } else { show(&outcome) }
}

/// Refuses options of a measurement in real time.
fn refuse_wall_options(subject: &BenchSubject) -> Result<()> {
    if subject.disk.is_some() {
        bail!("virtual time contains no disk: leave --disk out");
    }
    if subject.repeat > 1 {
        bail!("runs in virtual time do not differ: leave --repeat out, and use --seeds");
    }
    Ok(())
}

fn show(outcome: &PersonalityOutcome) -> Result<()> {
    if let Some(disk) = &outcome.modelled_disk {
        output::line(&format!("on a modelled {disk} with real-time service times"))?;
    }
    if let Some(clock) = &outcome.virtual_clock {
        output::line(clock.meaning)?;
    }
    let rates = |name: &str, operations: Interval, mib: Interval| {
        vec![name.to_owned(), interval(Some(operations)), interval(Some(mib))]
    };
    let sides = outcome.sides.iter().map(|(name, side)| rates(name, side.operations_per_s, side.mib_per_s));
    let ratio = outcome.ratio.iter().map(|ratio| ("aged/unaged", ratio));
    let ratios: Vec<(&str, &PersonalityRatios)> =
        ratio.chain(outcome.ratios.iter().map(|(name, ratio)| (name.as_str(), ratio))).collect();
    let of_rates = ratios.iter().map(|(name, ratio)| rates(name, ratio.operations_per_s, ratio.mib_per_s));
    output::table(&["side", "operations/s", "MiB/s"], sides.chain(of_rates))?;
    let latencies = outcome.sides.iter().map(|(name, side)| (name.as_str(), &side.latency_us));
    let ratios = ratios.iter().map(|(name, ratio)| (*name, &ratio.latency));
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
