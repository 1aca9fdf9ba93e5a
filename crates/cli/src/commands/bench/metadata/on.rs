//! `senesce bench metadata --on`.

use super::{judge, memory_line, shown};
use crate::args::Metadata;
use crate::commands::bench::subject::interval;
use crate::commands::{aged, vm_dispatch};
use crate::output::{self, number, rate};
use crate::progress::Progress;
use anyhow::{Result, bail};
use bench::metadata::Backend;
use results::median_interval;
use run::virtual_time::VirtualTimeSpec;
use run::{MetadataSpec, OnAged, Subject, VirtualMetadataOutcome};
use std::path::{Path, PathBuf};

pub fn run(
    args: &Metadata,
    image: &Path,
    virtual_time: Option<VirtualTimeSpec>,
    under_mpi: bool,
) -> Result<()> {
    if under_mpi || args.interface != "posix" {
        bail!("--on needs the posix interface and local ranks");
    }
    let (work, name) = aged::locate(args.work.as_deref(), image)?;
    let subject = Subject::Aged { work: work.clone(), name: name.clone() };
    if virtual_time.is_none()
        && let Some(dispatch) = vm_dispatch::for_bench(&subject)?
    {
        return vm_dispatch::run(&dispatch);
    }
    let ranks = super::ranks(args, None)?;
    // `run::metadata_on` sets the directory when the file system is mounted.
    let backend = Backend::posix(PathBuf::new());
    let mut spec = MetadataSpec { work: Some(work), ..super::spec_of(args, ranks, backend)? };
    // All phases belong to one run, so no later run needs the state.
    spec.task.run_info = None;
    if let Some(virtual_time) = virtual_time {
        spec.name = name;
        return in_virtual_time(args, &spec, &subject, &virtual_time);
    }
    let mut progress = Progress::new();
    let mut written = Ok(());
    let mut print_phase = shown(args, &spec, &mut written);
    let on = run::metadata_on(&spec, &name, &mut progress, &mut print_phase)?;
    drop((progress, print_phase));
    written?;
    if args.json {
        output::json(&on)?
    } else {
        show(&on)?
    }
    judge(on.aged.errors() + on.unaged.errors())
}

fn show(on: &OnAged) -> Result<()> {
    if let Some(memory) = on.aged.memory {
        output::line(&memory_line(memory))?;
    }
    output::table(
        &["phase", "repeat", "objects/s aged", "unaged", "aged/unaged"],
        on.pairs.iter().map(|pair| {
            vec![
                pair.phase.to_owned(),
                (pair.iteration + 1).to_string(),
                rate(Some(pair.aged_objects_per_s)),
                rate(Some(pair.unaged_objects_per_s)),
                number(pair.rate_ratio),
            ]
        }),
    )?;
    output::table(
        &["phase", "repeat", "latency of", "median, aged/unaged", "p99", "p99.9"],
        on.pairs.iter().flat_map(|pair| {
            pair.latency_ratio.iter().map(|(op, ratios)| {
                let at = |quantile| number(ratios.get(quantile).copied());
                let repeat = (pair.iteration + 1).to_string();
                vec![pair.phase.to_owned(), repeat, op.clone(), at("median"), at("p99"), at("p999")]
            })
        }),
    )?;
    output::line(&on.kept.message(&on.name))
}

fn in_virtual_time(
    args: &Metadata,
    spec: &MetadataSpec,
    on: &Subject,
    virtual_time: &VirtualTimeSpec,
) -> Result<()> {
    let mut progress = Progress::new();
    let outcome = run::metadata_in_virtual_time(spec, on, virtual_time, &mut progress)?;
    drop(progress);
    if args.json {
        output::json(&outcome)?
    } else {
        show_virtual(&outcome)?
    }
    judge(outcome.sides.values().flatten().map(run::MetadataOutcome::errors).sum())
}

fn show_virtual(outcome: &VirtualMetadataOutcome) -> Result<()> {
    output::line(outcome.virtual_clock.meaning)?;
    let rates = outcome.sides.iter().flat_map(|(side, runs)| {
        let phases = runs.first().into_iter().flat_map(|first| first.phases.iter().enumerate());
        phases.map(move |(index, phase)| {
            let rates = runs.iter().filter_map(|run| Some(run.phases.get(index)?.objects_per_s));
            let median = median_interval(&rates.collect::<Vec<_>>());
            let repeat = (phase.iteration + 1).to_string();
            vec![phase.phase.name().to_owned(), repeat, side.clone(), interval(median)]
        })
    });
    let of_rates = outcome.ratios.iter().flat_map(|(name, phases)| {
        phases.iter().map(move |phase| {
            let repeat = (phase.iteration + 1).to_string();
            vec![phase.phase.to_owned(), repeat, name.clone(), interval(Some(phase.objects_per_s))]
        })
    });
    output::table(&["phase", "repeat", "side", "objects/s"], rates.chain(of_rates))?;
    let rows = outcome.ratios.iter().flat_map(|(name, phases)| {
        phases.iter().flat_map(move |phase| {
            phase.latency.iter().map(move |(op, ratios)| {
                let at = |quantile| interval(ratios.get(quantile).copied());
                let repeat = (phase.iteration + 1).to_string();
                let all = [at("median"), at("p99"), at("p999"), at("max")];
                [vec![phase.phase.to_owned(), repeat, name.clone(), op.clone()], all.to_vec()].concat()
            })
        })
    });
    let titles = ["phase", "repeat", "sides", "latency of", "median", "p99", "p99.9", "longest"];
    output::table(&titles, rows)?;
    output::line(&outcome.kept.message(&outcome.name))
}
