//! `senesce bench metadata --on`.

use super::{judge, memory_line, shown};
use crate::args::Metadata;
use crate::commands::{aged, vm_dispatch};
use crate::output::{self, number, rate};
use crate::progress::Progress;
use anyhow::{Result, bail};
use bench::metadata::Backend;
use run::{MetadataSpec, OnAged, Subject};
use std::path::{Path, PathBuf};

pub fn run(args: &Metadata, image: &Path, under_mpi: bool) -> Result<()> {
    if under_mpi || args.interface != "posix" {
        bail!("--on needs the posix interface and local ranks");
    }
    let (work, name) = aged::locate(args.work.as_deref(), image)?;
    if let Some(dispatch) = vm_dispatch::for_bench(&Subject::Aged { work: work.clone(), name: name.clone() })?
    {
        return vm_dispatch::run(&dispatch);
    }
    let ranks = super::ranks(args, None)?;
    // `run::metadata_on` sets the directory when the file system is mounted.
    let backend = Backend::posix(PathBuf::new());
    let mut spec = MetadataSpec { work: Some(work), ..super::spec_of(args, ranks, backend)? };
    // All phases belong to one run, so no later run needs the state.
    spec.task.run_info = None;
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
