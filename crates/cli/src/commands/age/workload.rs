//! `senesce age` with a workload instead of a profile.

use crate::args::{Age, Commits, WorkloadArgs};
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Result, bail};
use lab::{AgeBySpec, AgedByWorkload, FileSizes, Git, Mail, Snapshots, TraceFile, Tree, TreeOf, Workload};
use results::measures::{self, Measure};
use std::path::PathBuf;
use workload::git::Order;
use workload::mail::Parameters;
use workload::micro::Intrafile;

/// Device models of the reported times, in addition to the modelled disk that holds the file system.
const DISKS: [&str; 2] = ["hdd-7200", "ssd-sata"];

/// The requested workload, if any, and its last round.
pub fn find(args: &WorkloadArgs) -> Result<Option<(Workload, u64)>> {
    Ok(if let Some(repository) = &args.git {
        if repository.is_some() && args.repo.is_some() {
            bail!("--git and --repo both name a repository; give one");
        }
        let git = Git {
            live: args.live,
            repository: absolute(repository.as_ref().or(args.repo.as_ref()))?,
            order: match args.order {
                Commits::FirstParent => Order::FirstParent,
                Commits::Full => Order::Full,
            },
            gc: args.gc,
            objects: !args.live && !args.no_objects,
            ..Git::default()
        };
        Some((Workload::Git(git), args.pulls))
    } else if args.mail {
        let published = Parameters::default();
        let mail = Parameters {
            users: args.users.unwrap_or(published.users),
            mailboxes: args.mailboxes.unwrap_or(published.mailboxes),
            messages: args.messages.unwrap_or(published.messages),
            operations: args.operations.unwrap_or(published.operations),
            ..published
        };
        Some((Workload::Mail(Mail { live: args.live, port: args.port, mail }), args.days))
    } else if let Some(round) = args.intrafile {
        let published = Intrafile::default();
        let files = args.files.unwrap_or(published.files);
        Some((Workload::Intrafile(Intrafile { files, ..published }), round))
    } else if let Some(round) = args.interfile {
        Some((Workload::Interfile(tree(args)?), round))
    } else if let Some(file_bytes) = args.filesize {
        Some((Workload::Filesize(FileSizes { tree: tree(args)?, most_bytes: 0 }), file_bytes))
    } else if let Some(file) = &args.trace {
        let (trace, last) = TraceFile::read(&super::absolute(file)?)?;
        Some((Workload::Trace(trace), args.rounds.unwrap_or(last)))
    } else if !args.snapshots.is_empty() {
        let (snapshots, last) = snapshots(args)?;
        Some((Workload::Snapshots(snapshots), args.rounds.unwrap_or(last)))
    } else {
        None
    })
}

/// Reads the snapshots and prints their warnings. Returns the snapshots and the number of the last one.
fn snapshots(args: &WorkloadArgs) -> Result<(Snapshots, u64)> {
    let files = args.snapshots.iter().map(|path| super::absolute(path)).collect::<Result<_>>()?;
    let is_builtin = |set: &PathBuf| set.as_path() == "builtin";
    let short_lived = match &args.short_lived {
        Some(set) if !is_builtin(set) => Some(super::absolute(set)?),
        set => set.clone(),
    };
    let named = Snapshots { files, sha256: None, published: args.published, short_lived };
    let (snapshots, last, warnings) = named.read()?;
    warnings.iter().for_each(|warning| eprintln!("{warning}"));
    Ok((snapshots, last))
}

fn tree(args: &WorkloadArgs) -> Result<Tree> {
    let of = TreeOf { repository: absolute(args.repo.as_ref())?, ..TreeOf::default() };
    let published = Tree::default();
    let files = args.files.unwrap_or(if args.repo.is_some() { u64::MAX } else { published.files });
    Ok(Tree { of, files, ..published })
}

fn absolute(path: Option<&PathBuf>) -> Result<Option<PathBuf>> {
    path.map(|path| super::absolute(path)).transpose()
}

pub fn run(args: &Age, workload: Workload, round: u64) -> Result<()> {
    let (name, volume) = super::name_and_volume(args, workload.name())?;
    let spec = AgeBySpec {
        name,
        work: args.work.work.clone(),
        volume,
        erase: args.erase.clone(),
        workload,
        seed: args.seed,
        round,
        every: args.workload.every,
        repeat: args.workload.repeat.unwrap_or(1),
        disks: disks(args.disk.as_deref())?,
        resume: args.resume,
        command: crate::commands::command_line(),
    };
    let aged = lab::age_by(&spec, &mut Progress::new())?;
    if args.json { output::json(&aged) } else { show(&aged) }
}

/// The model of the modelled disk that holds the file system, if any, followed by the other models.
fn disks(own: Option<&str>) -> Result<Vec<String>> {
    let Some(own) = own else { return Ok(DISKS.map(str::to_owned).to_vec()) };
    let model = disk::Model::find(own)?;
    let others = DISKS.into_iter().filter(|name| *name != model.name()).map(str::to_owned);
    Ok(std::iter::once(super::model(own)?).chain(others).collect())
}

fn show(aged: &AgedByWorkload) -> Result<()> {
    if aged.checkpoints.is_empty() {
        return output::line(&format!(
            "{} is aged; measure it with `senesce compare {}`",
            aged.name, aged.name
        ));
    }
    let mut rows = Vec::new();
    for pair in &aged.pairs {
        let value = |measure: Measure| number(pair.aged.values.get(measure.name).copied());
        rows.push(vec![
            pair.round.to_string(),
            pair.disk.clone(),
            value(measures::DYNAMIC_LAYOUT_SCORE),
            value(measures::MODELLED_S_PER_GIB),
            number(pair.aging_ratio),
            number(pair.wall_aging_ratio),
        ]);
    }
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
