//! The workload that the arguments name.

use crate::args::{self, Age, Commits, WorkloadArgs};
use crate::messages::note;
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::sync::Arc;
use workload::git::{Git, Order};
use workload::mail::{Mail, Parameters};
use workload::micro::{FileSizes, Intrafile, Tree, TreeOf};
use workload::profile::ByProfile;
use workload::snapshots::Snapshots;
use workload::{TraceFile, Workload};

/// The requested workload, and its last round.
pub fn find(age: &Age) -> Result<(Arc<dyn Workload>, u64)> {
    let args = &age.workload;
    let (workload, round) = named(age)?;
    let Some(pinned) = workload.pin()? else {
        let round = round.or(args.rounds).or(workload.default_last_round());
        let round = round.with_context(|| format!("{} has no default: give --rounds", workload.kind()))?;
        return Ok((workload, round));
    };
    pinned.warnings.iter().for_each(|warning| note(warning));
    Ok((pinned.workload, args.rounds.unwrap_or(pinned.last_round)))
}

/// The workload, and its last round if an option of its own names one.
fn named(age: &Age) -> Result<(Arc<dyn Workload>, Option<u64>)> {
    let args = &age.workload;
    Ok(if let Some(kind) = &args.kind {
        (workload::parse(kind, &args.set)?, None)
    } else if let Some(repository) = &args.git {
        (Arc::new(git(args, repository.as_ref())?), Some(args.pulls))
    } else if args.mail {
        let published = Parameters::default();
        let mail = Parameters {
            users: args.users.unwrap_or(published.users),
            mailboxes: args.mailboxes.unwrap_or(published.mailboxes),
            messages: args.messages.unwrap_or(published.messages),
            operations: args.operations.unwrap_or(published.operations),
            ..published
        };
        (Arc::new(Mail { live: args.live, port: args.port, mail }), Some(args.days))
    } else if args.intrafile.is_some() {
        let published = Intrafile::default();
        let files = args.files.unwrap_or(published.files);
        (Arc::new(Intrafile { files, ..published }), args.intrafile)
    } else if args.interfile.is_some() {
        (Arc::new(tree(args)?), args.interfile)
    } else if args.filesize.is_some() {
        (Arc::new(FileSizes { tree: tree(args)?, ..FileSizes::default() }), args.filesize)
    } else if let Some(file) = &args.trace {
        (Arc::new(TraceFile { file: super::absolute(file)?, sha256: None }), None)
    } else if !args.snapshots.is_empty() {
        (Arc::new(snapshots(args)?), None)
    } else {
        (Arc::new(profile(age)?), None)
    })
}

fn profile(age: &Age) -> Result<ByProfile> {
    Ok(ByProfile {
        profile: profile::load(&age.profile)?,
        method: match age.method {
            args::Method::Planned => workload::Method::Planned,
            args::Method::Greedy => workload::Method::Greedy,
        },
        fullness: age.fullness,
        overwrites: age.overwrites,
        churn: age.churn,
    })
}

fn git(args: &WorkloadArgs, repository: Option<&PathBuf>) -> Result<Git> {
    if repository.is_some() && args.repo.is_some() {
        bail!("--git and --repo both name a repository; give one");
    }
    Ok(Git {
        live: args.live,
        repository: local(repository.or(args.repo.as_ref()))?,
        order: match args.order {
            Commits::FirstParent => Order::FirstParent,
            Commits::Full => Order::Full,
        },
        gc: args.gc,
        objects: !args.live && !args.no_objects,
        ..Git::default()
    })
}

fn snapshots(args: &WorkloadArgs) -> Result<Snapshots> {
    let files = args.snapshots.iter().map(|path| super::absolute(path)).collect::<Result<_>>()?;
    let is_builtin = |set: &PathBuf| set.as_path() == "builtin";
    let short_lived = match &args.short_lived {
        Some(set) if !is_builtin(set) => Some(super::absolute(set)?),
        set => set.clone(),
    };
    Ok(Snapshots { files, sha256: None, published: args.published, short_lived })
}

fn tree(args: &WorkloadArgs) -> Result<Tree> {
    let of = TreeOf { repository: local(args.repo.as_ref())?, ..TreeOf::default() };
    let published = Tree::default();
    let files = args.files.unwrap_or(if args.repo.is_some() { u64::MAX } else { published.files });
    Ok(Tree { of, files, ..published })
}

fn local(repository: Option<&PathBuf>) -> Result<Option<PathBuf>> {
    Ok(repository.map(|repository| workload::git::local(repository, note)).transpose()?)
}
