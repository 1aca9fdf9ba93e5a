//! The history of a git repository as a workload. A round is a pull.

use super::traced::Stretches;
use super::{Driver, Named, interrupted};
use crate::Error;
use disk::Scratch;
use disk::Session;
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::git::{ExtractOptions, Extracted, Gc, History, Live, LiveOptions, Order, sample};

/// Pulling a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Git {
    /// Whether the real git pulls; otherwise the operations of its checkouts are replayed.
    pub live: bool,
    /// The repository; a synthetic one by default.
    pub repository: Named,
    /// Number of commits of a synthetic history; 0 means as many as there are pulls.
    pub commits: u64,
    /// Initial number of source files of a synthetic history, with a mean size of 4 KiB.
    pub files: u64,
    /// The commits to pull.
    pub order: Order,
    /// When the real git collects garbage.
    pub gc: Gc,
    /// Whether the writes of git below `.git` are replayed too, without the real git.
    pub objects: bool,
}

impl Default for Git {
    fn default() -> Git {
        Git {
            live: false,
            repository: None,
            commits: 0,
            files: sample::FILES,
            order: Order::FirstParent,
            gc: Gc::Off,
            objects: false,
        }
    }
}

impl Git {
    /// Refuses a repository without the required history.
    pub(super) fn check(&self, last: u64) -> Result<(), Error> {
        self.repository.as_ref().map_or(Ok(()), |repository| self.history(repository, last).map(drop))
    }

    fn history(&self, repository: &Path, last: u64) -> Result<History, Error> {
        let history = History::open(repository, self.order)?;
        if last == 0 || last > history.count() {
            return Err(Error::Refused(format!(
                "{} has {} commits in that order, which is not enough for {last} pulls",
                repository.display(),
                history.count()
            )));
        }
        Ok(history)
    }

    /// `work` is a directory for the synthetic repository, which stays there.
    pub(super) fn driver(
        &self,
        seed: u64,
        last: u64,
        work: &Path,
        session: &Arc<Session>,
    ) -> Result<Box<dyn Driver>, Error> {
        let repository = match &self.repository {
            Some(repository) => repository.clone(),
            None => self.synthetic(last, work)?,
        };
        let history = self.history(&repository, last)?;
        if self.live {
            let scratch = Scratch::make(session, session.dir(), "git")?;
            return Ok(Box::new(Pulling { live: None, history, gc: self.gc, scratch }));
        }
        // No sync before the end, because git does not sync the file system after a pull.
        let options =
            ExtractOptions { pulls: Some(last), objects: self.objects, ..ExtractOptions::default() };
        let extracted = Extracted::new(&history, options)?;
        let stretches = Stretches::new(seed, Some(extracted.labels()));
        Ok(Box::new(Extracting { extracted, stretches }))
    }

    /// The synthetic repository, created unless it exists.
    fn synthetic(&self, last: u64, work: &Path) -> Result<PathBuf, Error> {
        // The main line has fewer commits than the whole history.
        let commits = if self.commits > 0 { self.commits } else { last + last / 4 + 8 };
        let name = format!("history-{}-{commits}.git", self.files);
        let path = work.join(&name);
        if !path.exists() {
            let making = work.join(format!(".{name}.part"));
            if making.exists() {
                std::fs::remove_dir_all(&making).map_err(Error::io("removing the incomplete", &making))?;
            }
            sample::make_with_files(&making, self.files, commits, HISTORY_SEED)?;
            std::fs::rename(&making, &path).map_err(Error::io("naming", &path))?;
        }
        Ok(path)
    }
}

/// The random seed of synthetic histories, independent of the seed of the aging.
const HISTORY_SEED: u64 = 2017;

/// Replays the operations of git's checkouts.
struct Extracting {
    extracted: Extracted,
    stretches: Stretches,
}

impl Driver for Extracting {
    fn is_fresh(&self) -> bool {
        false
    }

    fn advance(&mut self, root: &Path, round: u64, watch: &mut dyn Watch) -> Result<(), Error> {
        self.extracted.pause_after(round);
        self.stretches.apply(root, &mut self.extracted, round, watch)
    }
}

/// Pulls with the real git.
struct Pulling {
    // Fields are dropped in this order.
    live: Option<Live>,
    history: History,
    gc: Gc,
    scratch: Scratch,
}

impl Driver for Pulling {
    fn is_fresh(&self) -> bool {
        false
    }

    fn advance(&mut self, root: &Path, round: u64, watch: &mut dyn Watch) -> Result<(), Error> {
        let live = match &mut self.live {
            Some(live) => live,
            none => {
                let options = LiveOptions { gc: self.gc, scratch: self.scratch.path().to_owned() };
                none.insert(Live::begin(&self.history, &root.join("tree"), &options)?)
            }
        };
        while live.pulls() < round {
            live.pull(live.pulls() + 1)?;
            watch.at(live.pulls());
            if disk::interrupted() {
                return Err(interrupted());
            }
        }
        Ok(())
    }
}
