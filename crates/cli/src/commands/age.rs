//! `senesce age`.

mod spec;
mod workload;

pub use spec::{AgeOptions, absolute, mkfs_opts, mount_opts, planned, size_or_default};

use crate::args::Age;
use crate::commands::vm_dispatch;
use crate::output::{self, number, rate};
use crate::progress::{Progress, about};
use anyhow::{Context as _, Result, bail};
use ranks::Group as _;
use ranks::mpi::World;
use results::measures::{self, Measure};
use run::checkpoint::CheckpointPair;
use run::{AgeSpec, Aged, Planned, ProfileResult, RoundsResult};
use serde::Serialize;
use std::time::Duration;

/// The directory of images in memory.
pub const MEMORY: &str = "/dev/shm/senesce";

pub fn run(args: &Age) -> Result<()> {
    let (workload, round) = workload::find(args)?;
    let spec = spec::spec(args, workload, round)?;
    if let Some(dispatch) = vm_dispatch::for_age(args, &spec.name)? {
        return vm_dispatch::run(&dispatch);
    }
    if spec.workload.as_profile().is_none() {
        ranks::mpi::require_single_process()?;
    }
    if let Some(world) = World::join(disk::interrupted)? {
        return share(args, &spec, world);
    }
    let mut progress = Progress::new();
    if args.plan_only {
        let planned = run::plan_only(&spec, &mut progress)?;
        drop(progress);
        return if args.json { output::json(&planned) } else { show_plan(args, &planned) };
    }
    let aged = run::age(&spec, &mut progress)?;
    drop(progress);
    show(args, &aged)?;
    if args.json { Ok(()) } else { next(args, &spec) }
}

/// Prints where the file system is, and the next command.
fn next(args: &Age, spec: &AgeSpec) -> Result<()> {
    let place = spec.volume.location.path().display();
    let work = args.work.option();
    output::line(&format!("aged: {place}\nnext: senesce compare {}{work}", spec.name))
}

/// Ages a shared directory with all ranks of an MPI run.
fn share(args: &Age, spec: &AgeSpec, mut world: World) -> Result<()> {
    if args.dir.is_none() {
        bail!("MPI runs age a shared directory only: name one with --dir");
    }
    if args.plan_only {
        bail!("--plan-only does not run under mpirun: start it without");
    }
    if args.workload.every.is_some() {
        bail!("--every does not work with MPI: measure afterwards with `senesce compare`");
    }
    if spec.on_full == replay::OnFull::Stop {
        bail!(
            "--on-full stop does not work with MPI, as ranks do not know the progress of each other; leave it out"
        );
    }
    let (rank, host) = (world.rank(), world.host());
    if rank > 0 {
        return ::workload::profile::follow(&mut world).with_context(|| format!("rank {rank} on {host}"));
    }
    let mut progress = Progress::new();
    let aged = run::age_among(spec, &mut world, &mut progress)?;
    drop(progress);
    show(args, &aged)
}

/// An aging by a profile that was measured between rounds.
#[derive(Serialize)]
struct MeasuredProfile<'a> {
    #[serde(flatten)]
    profile: &'a ProfileResult,
    pairs: &'a [CheckpointPair],
}

fn show(args: &Age, aged: &Aged) -> Result<()> {
    let Aged { profile, rounds } = aged;
    let is_measured = !rounds.checkpoints.is_empty();
    match (profile, args.json) {
        (Some(profile), true) if is_measured => {
            output::json(&MeasuredProfile { profile, pairs: &rounds.pairs })
        }
        (Some(profile), true) => output::json(profile),
        (None, true) => output::json(rounds),
        (Some(profile), false) => {
            show_profile(profile)?;
            if is_measured { show_rounds(rounds) } else { Ok(()) }
        }
        (None, false) if is_measured => show_rounds(rounds),
        (None, false) => Ok(()),
    }
}

fn show_plan(args: &Age, planned: &Planned) -> Result<()> {
    let Planned { aged, expected, .. } = planned;
    let time = match expected {
        Some(expected) => {
            format!(
                "about {}, at the rates of {}",
                about(Duration::from_secs_f64(expected.seconds)),
                expected.from
            )
        }
        None => {
            let work = args.work.work.display();
            format!("unknown until {work} has an aging of {} by {} to tell the rates", aged.fs, aged.profile)
        }
    };
    let own = [
        row("bytes to create", input::bytes(aged.reached.created_bytes)),
        row("expected time", time),
        row(
            "planning",
            format!(
                "{} operations/s, with at most {} of memory",
                rate(Some(planned.planned_operations_per_s)),
                input::bytes(planned.peak_rss_bytes)
            ),
        ),
    ];
    output::line("Plan only: nothing was aged. The aging would give:\n")?;
    output::table(&[&aged.name, ""], reached(aged).into_iter().chain(own))
}

fn show_profile(aged: &ProfileResult) -> Result<()> {
    let own = [
        row("stopped by", format!("{:?}", aged.stopped_by).to_lowercase()),
        row("time", format!("{:.1} s", aged.replay_s + aged.fill_s)),
        row("operations/s", rate(Some(aged.operations_per_s))),
        row("errors", aged.errors.to_string()),
    ];
    output::table(&[&aged.name, ""], reached(aged).into_iter().chain(own))
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

/// What an aging reaches.
fn reached(aged: &ProfileResult) -> Vec<Vec<String>> {
    let mut rows = vec![
        row("operations", format!("{} ({} at the bound)", aged.operations, aged.bound_operations)),
        row("overwrites", format!("{:.2} ({:.2} at the bound)", aged.overwrites, aged.bound_overwrites)),
    ];
    if let Some(churn) = &aged.reached.churn {
        let changes = |count, bytes| format!("{count} times, {}", input::bytes(bytes));
        rows.extend([
            row("overwritten in place", changes(churn.overwrites, churn.overwritten_bytes)),
            row("holes punched", changes(churn.punches, churn.punched_bytes)),
        ]);
    }
    rows.extend([
        row("live files", aged.live_files.to_string()),
        row("fullness", format!("{:.4}", aged.fullness)),
        row("age error (rms)", format!("{:.2e}", aged.age_rms_error)),
        row("size error (rms)", format!("{:.2e}", aged.size_rms_error)),
        row("depth error (rms)", format!("{:.2e}", aged.depth_rms_error)),
        row("fit (p-value)", format!("{:.3}", aged.fit_p_value)),
        row("trace", aged.trace_sha256.clone()),
    ]);
    rows
}

fn show_rounds(rounds: &RoundsResult) -> Result<()> {
    let rows = rounds.pairs.iter().map(|pair| {
        let value = |measure: Measure| number(pair.aged.values.get(measure.name).copied());
        vec![
            pair.round.to_string(),
            pair.disk.clone(),
            value(measures::DYNAMIC_LAYOUT_SCORE),
            value(measures::MODELLED_S_PER_GIB),
            number(pair.aging_ratio),
            number(pair.wall_aging_ratio),
        ]
    });
    output::table(
        &[
            "round",
            "disk",
            "dynamic layout score",
            "s/GiB, modelled",
            "aged/unaged, modelled",
            "aged/unaged, measured here",
        ],
        rows,
    )
}
