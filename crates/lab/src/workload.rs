//! Workloads, which age a file system in rounds, with measurements between rounds.

mod git;
mod mail;
mod micro;
mod snapshots;
mod trace_file;
mod traced;

use crate::Error;
use disk::Session;
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::micro::Intrafile;

pub use git::Git;
pub use mail::Mail;
pub use micro::{FileSizes, Tree, TreeOf};
pub use snapshots::Snapshots;
pub use trace_file::TraceFile;
pub(crate) use traced::Traced;

/// A workload with its parameters, as in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// Files that grow concurrently (Conway et al. 2017, §4.1). A round is the percentage written in turn.
    Intrafile(Intrafile),
    /// A tree created out of order (§4.2). A round is the percentage that is out of order.
    Interfile(Tree),
    /// A tree created fully out of order, with files of one size (§4.3). A round is that size in bytes.
    Filesize(FileSizes),
    /// Pulling the history of a repository (§5). A round is a pull, starting at 1; round 0 precedes all pulls.
    Git(Git),
    /// A mail server (§6). A round is a day; day 0 is the initial filling.
    Mail(Mail),
    /// A saved trace. A round is a checkpoint.
    Trace(TraceFile),
    /// Replays the changes between snapshots of a real file system. A round is a snapshot, starting at 0.
    Snapshots(Snapshots),
}

impl Workload {
    /// The kind of the workload.
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

    /// Refuses what cannot run in `rounds`, ascending, as far as that is known before anything is created.
    pub(crate) fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error> {
        let last = *rounds.last().expect("a scale has a round");
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

    /// The driver that runs the workload up to round `last` with the random seed `seed`. Its files outside of the file system stay in
    /// `work`.
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

    /// Maximum number of files and directories in a round, if known.
    pub(crate) fn inodes(&self) -> Result<Option<u64>, Error> {
        Ok(match self {
            Workload::Intrafile(intrafile) => Some(intrafile.files),
            Workload::Interfile(tree) => Some(tree.inodes()?),
            Workload::Filesize(sizes) => Some(sizes.tree.inodes()?),
            Workload::Git(_) | Workload::Mail(_) | Workload::Trace(_) | Workload::Snapshots(_) => None,
        })
    }
}

/// Runs a workload.
pub(crate) trait Driver {
    /// Whether each round starts on a fresh file system; otherwise it continues after the previous round.
    fn is_fresh(&self) -> bool;

    /// Brings the tree at `root` to the end of `round`. Afterwards no file of it is open and no process uses it.
    fn advance(&mut self, root: &Path, round: u64, watch: &mut dyn Watch) -> Result<(), Error>;
}

/// The error when a signal interrupts a workload.
pub(crate) fn interrupted() -> Error {
    Error::Interrupted("results so far are stored; continue with --resume".to_owned())
}

/// After an interrupt, replaces any error by that of the interrupt.
pub(crate) fn unless_interrupted<T>(result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(_) if disk::interrupted() => Err(interrupted()),
        result => result,
    }
}

/// A path in an experiment file is relative to the current directory of the command.
type Named = Option<PathBuf>;
