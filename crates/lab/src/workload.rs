//! Workloads: what ages a file system in rounds, between which it is measured.

mod git;
mod mail;
mod micro;
mod snapshots;
mod trace_file;
mod traced;

use crate::Error;
use ager::micro::Intrafile;
use disk::Session;
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use git::Git;
pub use mail::Mail;
pub use micro::{FileSizes, Tree, TreeOf};
pub use snapshots::Snapshots;
pub use trace_file::TraceFile;
pub(crate) use traced::Traced;

/// A workload with its parameters, as an experiment names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// Files that grow at the same time (Conway et al. 2017, §4.1). A round is the percentage written in turn.
    Intrafile(Intrafile),
    /// A tree made out of order (§4.2). A round is the percentage that is out of order.
    Interfile(Tree),
    /// A tree made wholly out of order, with files of one size (§4.3). A round is that size in bytes.
    Filesize(FileSizes),
    /// Pulling the history of a repository (§5). A round is a pull, the first being 1; in round 0 nothing was pulled.
    Git(Git),
    /// A mail server (§6). A round is a day, the filling being day 0.
    Mail(Mail),
    /// A saved trace. A round is a checkpoint.
    Trace(TraceFile),
    /// What leads through snapshots of a real file system. A round is a snapshot, the first being 0.
    Snapshots(Snapshots),
}

impl Workload {
    /// Its kind.
    pub fn name(&self) -> &'static str {
        match self {
            Workload::Intrafile(_) => "intrafile",
            Workload::Interfile(_) => "interfile",
            Workload::Filesize(_) => "filesize",
            Workload::Git(_) => "git",
            Workload::Mail(_) => "mail",
            Workload::Trace(_) => "trace",
            Workload::Snapshots(_) => "snapshots",
        }
    }

    /// Refuses what cannot be carried out in `rounds`, ascending, as far as that can be told before anything is made.
    pub(crate) fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error> {
        let last = *rounds.last().expect("there is a round");
        match self {
            Workload::Intrafile(intrafile) => Ok(intrafile.round(last).map(drop)?),
            Workload::Interfile(tree) => tree.rounds(seed)?.check(last),
            Workload::Filesize(sizes) => sizes.rounds(seed)?.check(last),
            Workload::Git(git) => git.check(last),
            Workload::Mail(mail) => mail.check(seed, last),
            Workload::Trace(trace) => trace.check(rounds),
            Workload::Snapshots(snapshots) => snapshots.check(last),
        }
    }

    /// What carries it out up to round `last`, all that is random drawn from `seed`. What it needs beside the file system
    /// stays in `work`.
    pub(crate) fn driver(
        &self,
        seed: u64,
        last: u64,
        work: &Path,
        session: &Arc<Session>,
    ) -> Result<Box<dyn Driver>, Error> {
        Ok(match self {
            Workload::Intrafile(intrafile) => {
                let intrafile = *intrafile;
                Box::new(micro::Rounds::new(seed, move |round| intrafile.round(round)))
            }
            Workload::Interfile(tree) => Box::new(tree.rounds(seed)?),
            Workload::Filesize(sizes) => Box::new(sizes.rounds(seed)?),
            Workload::Git(git) => git.driver(seed, last, work, session)?,
            Workload::Mail(mail) => mail.driver(seed, last, session)?,
            Workload::Trace(trace) => trace.driver(seed)?,
            Workload::Snapshots(snapshots) => snapshots.driver(seed)?,
        })
    }

    /// Files and directories that it makes at most in a round, where that is known.
    pub(crate) fn inodes(&self) -> Result<Option<u64>, Error> {
        Ok(match self {
            Workload::Intrafile(intrafile) => Some(intrafile.files),
            Workload::Interfile(tree) => Some(tree.inodes()?),
            Workload::Filesize(sizes) => Some(sizes.tree.inodes()?),
            Workload::Git(_) | Workload::Mail(_) | Workload::Trace(_) | Workload::Snapshots(_) => None,
        })
    }
}

/// Carries a workload out.
pub(crate) trait Driver {
    /// Whether each round begins on a fresh file system; if not, it goes on where the round before ended.
    fn is_fresh(&self) -> bool;

    /// Brings the tree at `root` to the end of `round`. Nothing of it is open or running afterwards.
    fn advance(&mut self, root: &Path, round: u64, watch: &mut dyn Watch) -> Result<(), Error>;
}

/// What is said when a signal asks a workload to end.
pub(crate) fn interrupted() -> Error {
    Error::Interrupted("results so far are stored; continue with --resume".to_owned())
}

/// Whatever hindered a run that was asked to end, it did not fail.
pub(crate) fn unless_interrupted<T>(result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(_) if disk::interrupted() => Err(interrupted()),
        result => result,
    }
}

/// A path that an experiment names is relative to where the command is run.
type Named = Option<PathBuf>;
