//! The history of a git repository as a workload. A round is a pull.

use super::{ExtractOptions, Extracted, Gc, History, Live, LiveOptions, Order, synthetic};
use crate::interface::last_of;
use crate::traced::Stretches;
use crate::{Driver, Error, Site, Start, Workload};
use disk::Scratch;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pulling a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Git {
    /// Whether the real git pulls; otherwise the operations of its checkouts are replayed.
    pub live: bool,
    /// The repository; a synthetic one by default.
    pub repository: Option<PathBuf>,
    /// Number of commits of a synthetic history; 0 means as many as there are pulls.
    pub commits: u64,
    /// Initial number of files of a synthetic history, with a mean size of 6.7 KB.
    pub files: u64,
    /// The commits to pull.
    pub order: Order,
    /// Number of commits that the first pull brings along, so that the tree is large from the start.
    pub skip: u64,
    /// Whether a clone of all of the history stays beside the tree that pulls, and is read too (Conway et al. 2024, arXiv 2401.08858). It needs
    /// `live`.
    pub source: bool,
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
            files: synthetic::FILES,
            order: Order::FirstParent,
            skip: 0,
            source: false,
            gc: Gc::Off,
            objects: false,
        }
    }
}

impl Git {
    fn history(&self, repository: &Path, last: u64) -> Result<History, Error> {
        let history = History::open(repository, self.order)?.without_first(self.skip);
        if last == 0 || last > history.count() {
            let after = if self.skip > 0 { format!(" after the first {}", self.skip) } else { String::new() };
            return Err(Error::Refused(format!(
                "{} has {} commits in that order{after}, which is not enough for {last} pulls",
                repository.display(),
                history.count()
            )));
        }
        Ok(history)
    }

    /// The synthetic repository, created unless it exists.
    fn synthetic(&self, last: u64, work: &Path) -> Result<PathBuf, Error> {
        // A repository needs two commits.
        let commits = if self.commits > 0 { self.commits } else { last.saturating_add(self.skip).max(2) };
        let name = format!("synthetic-{}-{commits}.git", self.files);
        let path = work.join(&name);
        if !path.exists() {
            let making = work.join(format!(".{name}.part"));
            if making.exists() {
                std::fs::remove_dir_all(&making).map_err(Error::io("removing the incomplete", &making))?;
            }
            synthetic::make(&making, self.files, commits, HISTORY_SEED)?;
            std::fs::rename(&making, &path).map_err(Error::io("naming", &path))?;
        }
        Ok(path)
    }
}

#[typetag::serde(name = "git")]
impl Workload for Git {
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
        let last = last_of(rounds);
        if self.source && !self.live {
            return Err(Error::Refused(
                "source = true needs live = true: only the real git clones".to_owned(),
            ));
        }
        self.repository.as_ref().map_or(Ok(()), |repository| self.history(repository, last).map(drop))
    }

    /// A synthetic repository is made in the work directory, and stays there.
    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let repository = match &self.repository {
            Some(repository) => repository.clone(),
            None => self.synthetic(start.last_round, start.work)?,
        };
        let history = self.history(&repository, start.last_round)?;
        if self.live {
            let scratch = Scratch::make(start.session, start.session.dir(), "git")?;
            return Ok(Box::new(Pulling { live: None, history, gc: self.gc, source: self.source, scratch }));
        }
        // No sync before the end, because git does not sync the file system after a pull.
        let pulls = Some(start.last_round);
        let options = ExtractOptions { pulls, objects: self.objects, ..ExtractOptions::default() };
        let extracted = Extracted::new(&history, options)?;
        let stretches = Stretches::new(start.seed, Some(extracted.labels()));
        Ok(Box::new(Extracting { extracted, stretches }))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(PULLS)
    }

    /// The last commit, which identifies all its ancestors.
    fn fingerprint(&self, last_round: u64) -> Result<Option<String>, Error> {
        let Some(repository) = &self.repository else { return Ok(None) };
        Ok(History::open(repository, self.order)?.without_first(self.skip).commit(last_round))
    }

    fn with_repository(&self, repository: &Path) -> Option<Arc<dyn Workload>> {
        Some(Arc::new(Git { repository: Some(repository.to_owned()), ..self.clone() }))
    }
}

/// Pulls unless the user says how many: enough to age a small file system in a minute.
pub const PULLS: u64 = 400;

/// The random seed of synthetic histories, independent of the seed of the aging.
const HISTORY_SEED: u64 = 2017;

/// Replays the operations of git's checkouts.
struct Extracting {
    extracted: Extracted,
    stretches: Stretches,
}

impl Driver for Extracting {
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        self.extracted.pause_after(round);
        self.stretches.apply(site.target.root(), &mut self.extracted, round, site.observer)
    }
}

/// Pulls with the real git.
struct Pulling {
    // Fields are dropped in this order.
    live: Option<Live>,
    history: History,
    gc: Gc,
    source: bool,
    scratch: Scratch,
}

impl Driver for Pulling {
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        let live = match &mut self.live {
            Some(live) => live,
            none => {
                let root = site.target.root();
                let source = self.source.then(|| root.join("source"));
                let options = LiveOptions { gc: self.gc, scratch: self.scratch.path().to_owned(), source };
                none.insert(Live::begin(&self.history, &root.join("tree"), &options)?)
            }
        };
        while live.pulls() < round {
            live.pull(live.pulls() + 1)?;
            site.observer.at(live.pulls());
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn fingerprint_is_the_last_pulled_commit() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other, longer] = ["one", "other", "longer"].map(|name| dir.path().join(name));
        sample::make(&one, 7, 1).unwrap();
        sample::make(&other, 7, 2).unwrap();
        sample::make(&longer, 12, 1).unwrap();
        let at = |repository: &Path, last| {
            let git = Git { repository: Some(repository.to_owned()), ..Git::default() };
            git.fingerprint(last).unwrap().unwrap()
        };
        assert_ne!(at(&one, 5), at(&other, 5));
        assert_eq!(at(&one, 5), at(&longer, 5), "later commits have no effect");
        assert_ne!(at(&one, 5), at(&one, 4));
        assert_eq!(Git::default().fingerprint(5).unwrap(), None);
    }
}
