//! `senesce bench metadata`.

use crate::args::{InterfaceKind, Metadata};
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use bench::metadata::{self, Keeper, Phase, PhaseOutcome, Phases, Ranks, Settings, Stonewall};
use lab::MetadataSpec;
use std::path::Path;

pub fn run(args: &Metadata) -> Result<()> {
    if let (false, Some(work)) = (args.import.is_empty(), &args.work) {
        return import(args, work);
    }
    let spec = spec(args)?;
    let mut progress = Progress::new();
    let mut heading = Some(metadata::heading(&spec.settings, spec.keeper.name(), args.ranks));
    let mut written = Ok(());
    let mut seen = |outcome: &PhaseOutcome| {
        for failure in &outcome.failures {
            eprintln!("{failure}");
        }
        if !args.json {
            let mut text = heading.take().unwrap_or_default();
            text += &metadata::line(outcome);
            if args.process_reports {
                metadata::rank_lines(outcome).for_each(|line| text += &format!("\n{line}"));
            }
            written = output::line(&text);
        }
    };
    let outcome = lab::metadata(&spec, &mut progress, &mut seen)?;
    drop(progress);
    written?;
    if args.json {
        output::json(&outcome)?;
    }
    match outcome.errors() {
        0 => Ok(()),
        errors => bail!("{errors} operations failed"),
    }
}

fn import(args: &Metadata, work: &Path) -> Result<()> {
    let imported = lab::import_metadata(&args.import, work, &crate::commands::command_line())?;
    if args.json {
        return output::json(&imported);
    }
    let rows = imported.iter().flat_map(|one| {
        let file = one.file.display().to_string();
        one.imported.phases.iter().filter(|phase| phase.rank.is_none()).map(move |phase| {
            vec![
                file.clone(),
                phase.phase.name().to_owned(),
                (phase.iteration + 1).to_string(),
                number(Some(phase.objects_per_s)),
                number(phase.mib_per_s),
                phase.errors.map_or("–".to_owned(), |errors| errors.to_string()),
            ]
        })
    });
    output::table(&["file", "phase", "repeat", "objects/s", "MiB/s", "errors"], rows)
}

fn spec(args: &Metadata) -> Result<MetadataSpec> {
    let runs = |phase: Phase| args.phases.iter().any(|asked| asked.phase() == phase);
    let keeper = match args.interface {
        InterfaceKind::Null => Keeper::Null,
        InterfaceKind::Posix => {
            let root = args.root.as_deref().context("--interface posix needs --root")?;
            // Ranks that are processes find the same place.
            Keeper::Posix { root: std::path::absolute(root)? }
        }
    };
    Ok(MetadataSpec {
        name: args.name.clone().unwrap_or_else(|| keeper.name().to_owned()),
        work: args.work.clone(),
        settings: Settings {
            data_sets: args.data_sets,
            precreate: args.precreate,
            iterations: args.iterations,
            repeats: args.repeats,
            object_size: args.object_size,
            offset: args.offset,
            start_item: args.start_item,
            stonewall: args.stonewall.map(|after| Stonewall { after, wear_out: args.wear_out }),
            waiting: args.waiting,
            read_only: args.read_only,
            ignore_precreate_errors: args.ignore_precreate_errors,
            verify: !args.no_verify,
            phases: Phases {
                precreate: runs(Phase::Precreate),
                benchmark: runs(Phase::Benchmark),
                cleanup: runs(Phase::Cleanup),
            },
            seed: args.seed,
            // Ranks that are processes find the same file.
            latencies: args.latencies.as_deref().map(std::path::absolute).transpose()?,
        },
        ranks: if args.processes { Ranks::Processes(args.ranks) } else { Ranks::Threads(args.ranks) },
        keeper,
        run_info: Some(args.run_info.clone()),
        free_memory_bytes: args.free_memory,
        free_memory_between_bytes: args.free_memory_between,
        member: || super::this("metadata-rank"),
        command: crate::commands::command_line(),
    })
}
