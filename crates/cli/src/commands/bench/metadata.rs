//! `senesce bench metadata`.

mod on;

use super::virtual_time;
use crate::args::Metadata;
use crate::messages::note;
use crate::output::{self, rate};
use crate::progress::Progress;
use anyhow::{Context as _, Result, anyhow, bail};
use bench::metadata::{
    self, Backend, ObjectLocation, Phase, PhaseOutcome, Phases, Ranks, Settings, Stonewall, Task,
};
use ranks::Group as _;
use ranks::mpi::World;
use run::{ExternalRanks, Memory, MemoryBy, MetadataSpec};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub fn run(args: &Metadata, world: Option<World>) -> Result<()> {
    if let (false, Some(work)) = (args.import.is_empty(), &args.work) {
        return import(args, work);
    }
    let virtual_time = virtual_time::spec(&args.clock)?;
    if let Some(image) = &args.on {
        return on::run(args, image, virtual_time, world.is_some());
    }
    if virtual_time.is_some() {
        bail!("virtual time needs an aged file system: add --on");
    }
    let spec = spec_of(args, ranks(args, world.as_ref())?, backend(args)?)?;
    let Some(mut world) = world else { return conduct(args, &spec, None) };
    let (rank, host) = (world.rank(), world.host());
    let here = || format!("rank {rank} on {host}");
    let mut interface = spec.task.backend.open().map_err(|error| anyhow!(error.0)).with_context(here)?;
    if rank == 0 {
        return conduct(
            args,
            &spec,
            Some(ExternalRanks { group: &mut world, interface: interface.as_mut() }),
        );
    }
    metadata::follow(&spec.task.settings, &mut world, interface.as_mut(), &disk::interrupted)
        .with_context(here)
}

fn ranks(args: &Metadata, world: Option<&World>) -> Result<Ranks> {
    let Some(world) = world else {
        let ranks = args.ranks.unwrap_or(1);
        return Ok(if args.processes { Ranks::Processes(ranks) } else { Ranks::Threads(ranks) });
    };
    if args.ranks.is_some() || args.processes {
        bail!("mpirun sets the number of ranks: leave --ranks and --processes out");
    }
    if args.free_memory.is_some() || args.free_memory_between.is_some() || args.memory.is_some() {
        bail!("--memory, --free-memory and --free-memory-between do not work with MPI");
    }
    Ok(Ranks::Mpi(world.ranks()))
}

/// Runs the benchmark and prints its results.
fn conduct(args: &Metadata, spec: &MetadataSpec, external: Option<ExternalRanks>) -> Result<()> {
    let begun = Instant::now();
    let mut progress = Progress::new();
    let mut written = Ok(());
    let mut show = shown(args, spec, &mut written);
    let outcome = run::metadata(spec, external, &mut progress, &mut show)?;
    drop((progress, show));
    written?;
    if args.json {
        output::json(&outcome)?;
    } else {
        output::line(&format!("Total runtime: {:.0}s", begun.elapsed().as_secs_f64()))?;
        outcome.memory.map_or(Ok(()), |memory| output::line(&memory_line(memory)))?;
    }
    judge(outcome.errors())
}

/// Prints each phase as soon as it ends.
fn shown<'a>(
    args: &'a Metadata,
    spec: &MetadataSpec,
    written: &'a mut Result<()>,
) -> impl FnMut(&PhaseOutcome) + 'a {
    let Task { settings, backend, ranks, .. } = &spec.task;
    let location = args.root.as_ref().map(|root| root.display().to_string());
    let heading = metadata::Heading {
        interface: backend.interface(),
        root: location.as_deref().unwrap_or_default(),
        ranks: ranks.number(),
        free_memory_bytes: spec.free_memory_bytes,
        free_memory_between_bytes: spec.free_memory_between_bytes,
        process_reports: args.process_reports,
    };
    let mut heading = Some(metadata::heading(settings, &heading));
    move |outcome| {
        for failure in &outcome.failures {
            note(failure);
        }
        if !args.json {
            let mut text = heading.take().unwrap_or_default();
            text += &metadata::phase_line(outcome);
            if args.process_reports {
                metadata::rank_lines(outcome).for_each(|line| text += &format!("\n{line}"));
            }
            *written = output::line(&text);
        }
    }
}

fn memory_line(memory: Memory) -> String {
    let how = match memory.by {
        MemoryBy::Occupying => "machine memory occupied",
        MemoryBy::ControlGroup => "limited by a control group",
    };
    let (limit, free) = (input::bytes(memory.limit_bytes), input::bytes(memory.free_bytes));
    format!("memory: {how} to {limit}; {free} free at the start")
}

fn judge(errors: u64) -> Result<()> {
    match errors {
        0 => Ok(()),
        errors => bail!("{errors} operations failed"),
    }
}

fn import(args: &Metadata, work: &Path) -> Result<()> {
    let imported = run::import_metadata(&args.import, work, &crate::commands::command_line())?;
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
                rate(Some(phase.objects_per_s)),
                rate(phase.mib_per_s),
                phase.errors.map_or("–".to_owned(), |errors| errors.to_string()),
            ]
        })
    });
    output::table(&["file", "phase", "repeat", "objects/s", "MiB/s", "errors"], rows)
}

fn backend(args: &Metadata) -> Result<Backend> {
    // Absolute, so that ranks in other processes find the same files.
    let absolute = |path: &Option<PathBuf>| path.as_deref().map(std::path::absolute).transpose();
    let location = ObjectLocation {
        root: absolute(&args.root)?,
        url: args.url.clone(),
        credentials: absolute(&args.credentials)?,
    };
    Backend::new(&args.interface, location).map_err(|error| anyhow!(error.0))
}

fn spec_of(args: &Metadata, ranks: Ranks, backend: Backend) -> Result<MetadataSpec> {
    Ok(MetadataSpec {
        name: args.name.clone().unwrap_or_else(|| backend.interface().to_owned()),
        work: args.work.clone(),
        task: Task { settings: settings(args)?, ranks, backend, run_info: Some(args.run_info.clone()) },
        memory_bytes: args.memory,
        free_memory_bytes: args.free_memory,
        free_memory_between_bytes: args.free_memory_between,
        commands: virtual_time::RANK_COMMANDS,
        command: crate::commands::command_line(),
    })
}

fn settings(args: &Metadata) -> Result<Settings> {
    let runs = |phase: Phase| args.phases.iter().any(|asked| asked.phase() == phase);
    Ok(Settings {
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
        write_first: args.write_first,
        set_by_set: args.set_by_set,
        ignore_precreate_errors: args.ignore_precreate_errors,
        verify: !args.no_verify,
        phases: Phases {
            precreate: runs(Phase::Precreate),
            benchmark: runs(Phase::Benchmark),
            cleanup: runs(Phase::Cleanup),
        },
        seed: args.seed,
        // Absolute, so that ranks in other processes find the same file.
        latencies: args.latencies.as_deref().map(std::path::absolute).transpose()?,
    })
}
