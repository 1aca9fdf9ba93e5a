//! `senesce age` by a workload.

use crate::args::{Age, By, Commits};
use crate::output::{self, number};
use crate::progress::Progress;
use ager::git::Order;
use ager::mail::Parameters;
use ager::micro::Intrafile;
use anyhow::{Result, bail};
use lab::{AgeBySpec, AgedByWorkload, FileSizes, Git, Mail, Snapshots, TraceFile, Tree, TreeOf, Workload};
use results::measures::{self, Measure};
use std::path::PathBuf;

/// Models of disks that scans are priced on, behind that of the disk below.
const DISKS: [&str; 2] = ["hdd-7200", "ssd-sata"];

/// The workload that was asked for, if any, and its last round.
pub fn workload(by: &By) -> Result<Option<(Workload, u64)>> {
    Ok(if let Some(repository) = &by.git {
        if repository.is_some() && by.repo.is_some() {
            bail!("--git and --repo both name a repository; give one");
        }
        let git = Git {
            live: by.live,
            repository: absolute(repository.as_ref().or(by.repo.as_ref()))?,
            order: match by.order {
                Commits::FirstParent => Order::FirstParent,
                Commits::Full => Order::Full,
            },
            gc: by.gc,
            objects: !by.live && !by.no_objects,
            ..Git::default()
        };
        Some((Workload::Git(git), by.pulls))
    } else if by.mail {
        let published = Parameters::default();
        let mail = Parameters {
            users: by.users.unwrap_or(published.users),
            mailboxes: by.mailboxes.unwrap_or(published.mailboxes),
            messages: by.messages.unwrap_or(published.messages),
            operations: by.operations.unwrap_or(published.operations),
            ..published
        };
        Some((Workload::Mail(Mail { live: by.live, port: by.port, mail }), by.days))
    } else if let Some(round) = by.intrafile {
        let published = Intrafile::default();
        let files = by.files.unwrap_or(published.files);
        Some((Workload::Intrafile(Intrafile { files, ..published }), round))
    } else if let Some(round) = by.interfile {
        Some((Workload::Interfile(tree(by)?), round))
    } else if let Some(file_bytes) = by.filesize {
        Some((Workload::Filesize(FileSizes { tree: tree(by)?, most_bytes: 0 }), file_bytes))
    } else if let Some(file) = &by.trace {
        let (trace, last) = TraceFile::read(&super::absolute(file)?)?;
        Some((Workload::Trace(trace), by.rounds.unwrap_or(last)))
    } else if !by.snapshots.is_empty() {
        let (snapshots, last) = snapshots(by)?;
        Some((Workload::Snapshots(snapshots), by.rounds.unwrap_or(last)))
    } else {
        None
    })
}

/// The snapshots, and the last of them; what they cannot tell is said.
fn snapshots(by: &By) -> Result<(Snapshots, u64)> {
    let files = by.snapshots.iter().map(|path| super::absolute(path)).collect::<Result<_>>()?;
    let is_builtin = |set: &PathBuf| set.as_path() == "builtin";
    let short_lived = match &by.short_lived {
        Some(set) if !is_builtin(set) => Some(super::absolute(set)?),
        set => set.clone(),
    };
    let named = Snapshots { files, sha256: None, published: by.published, short_lived };
    let (snapshots, last, doubts) = named.read()?;
    doubts.iter().for_each(|doubt| eprintln!("{doubt}"));
    Ok((snapshots, last))
}

fn tree(by: &By) -> Result<Tree> {
    let of = TreeOf { repository: absolute(by.repo.as_ref())?, ..TreeOf::default() };
    let published = Tree::default();
    let files = by.files.unwrap_or(if by.repo.is_some() { u64::MAX } else { published.files });
    Ok(Tree { of, files, ..published })
}

fn absolute(path: Option<&PathBuf>) -> Result<Option<PathBuf>> {
    path.map(|path| super::absolute(path)).transpose()
}

pub fn run(args: &Age, workload: Workload, round: u64) -> Result<()> {
    let (name, made) = super::made(args, workload.name())?;
    let spec = AgeBySpec {
        name,
        work: args.work.work.clone(),
        made,
        erase: args.erase.clone(),
        workload,
        seed: args.seed,
        round,
        every: args.by.every,
        repeat: args.by.repeat.unwrap_or(1),
        disks: disks(args.disk.as_deref())?,
        resume: args.resume,
        command: crate::commands::command_line(),
    };
    let aged = lab::age_by(&spec, &mut Progress::new())?;
    if args.json { output::json(&aged) } else { show(&aged) }
}

/// The model of the disk below, if it is modelled, and the others.
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
