//! A repository history as a trace: git's file operations in a working tree, pull by pull.

use std::sync::Arc;

use trace::{BATCH, Labels, Op, Source};

use super::History;
use super::checkout::WorkTree;
use super::dot_git::DotGit;
use super::labels::LiveLabels;
use super::maker::Maker;
use super::repository::Reader;
use crate::Error;

/// Options of an extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Number of pulls; `None` means all.
    pub pulls: Option<u64>,
    /// A checkpoint follows every so many pulls, and the last pull.
    pub every: u64,
    /// Whether to extract git's writes below `.git` too: objects, index, references, logs.
    pub objects: bool,
}

impl Default for ExtractOptions {
    /// All pulls, one checkpoint at the end.
    fn default() -> Self {
        Self { pulls: None, every: u64::MAX, objects: false }
    }
}

/// The operations of a history. Memory use is bounded by the size of the working tree, and of `.git` if that
/// is extracted.
pub struct Extracted {
    history: History,
    reader: Reader,
    tree: WorkTree,
    dot_git: Option<DotGit>,
    maker: Maker,
    labels: Arc<LiveLabels>,
    options: ExtractOptions,
    pull: u64,
    /// The pull after which the operations pause.
    pause_after: u64,
    /// Operations of the last pull, or of creating the repository, that are still to be given out.
    ops: std::vec::IntoIter<Op>,
}

impl Extracted {
    /// Starts with the first commit of `history`.
    pub fn new(history: &History, options: ExtractOptions) -> Result<Extracted, Error> {
        let pulls = options.pulls.unwrap_or(history.count());
        if pulls == 0 || pulls > history.count() || options.every == 0 {
            return Err(Error::Conditions(format!(
                "{} has {} commits to pull: the number of pulls must be between 1 and that, and checkpoints \
                 at least 1 pull apart",
                history.path().display(),
                history.count()
            )));
        }
        let repository = history.repository.clone();
        let labels = Arc::new(LiveLabels::new(move || repository.reader()));
        let mut maker = Maker::new(labels.clone());
        let dot_git = options.objects.then(|| DotGit::init(&mut maker));
        Ok(Extracted {
            reader: history.repository.reader(),
            tree: WorkTree::new(),
            dot_git,
            ops: maker.take().into_iter(),
            maker,
            history: history.clone(),
            labels,
            options: ExtractOptions { pulls: Some(pulls), ..options },
            pull: 0,
            pause_after: pulls,
        })
    }

    /// Names, modes and contents of the files that exist, and of files that were removed recently.
    pub fn labels(&self) -> Arc<dyn Labels> {
        self.labels.clone()
    }

    /// Pauses the operations after pull number `pull`, or before the first one for 0, until the next call: a
    /// replay runs up to there, the file system is measured, and another replay continues.
    pub fn pause_after(&mut self, pull: u64) {
        self.pause_after = pull.min(self.pulls());
    }

    /// The number of the pull that the last given operation belongs to.
    pub fn pull(&self) -> u64 {
        self.pull
    }

    /// The number of pulls.
    pub fn pulls(&self) -> u64 {
        self.options.pulls.unwrap_or(self.history.count())
    }

    /// The operations of the next pull; `None` after the last one.
    fn next_pull(&mut self) -> Result<Option<Vec<Op>>, Error> {
        let Some(id) = self.history.id(self.pull + 1).filter(|_| self.pull < self.pause_after) else {
            return Ok(None);
        };
        self.pull += 1;
        let commit = self.reader.commit(id)?;
        if let Some(dot_git) = &mut self.dot_git {
            dot_git.fetch(id, &mut self.reader, &mut self.maker)?;
        }
        self.tree.checkout(commit.tree, &mut self.reader, &mut self.maker)?;
        if let Some(dot_git) = &mut self.dot_git {
            dot_git.finish(self.tree.index_bytes(), &mut self.maker);
        }
        if self.pull.is_multiple_of(self.options.every) || self.pull == self.pulls() {
            self.maker.push(Op::Checkpoint { number: self.pull });
        }
        Ok(Some(self.maker.take()))
    }
}

impl Source for Extracted {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        batch.clear();
        while batch.len() < BATCH {
            if self.ops.len() == 0 {
                match self.next_pull().map_err(|error| trace::Error::Source(error.to_string()))? {
                    Some(ops) => self.ops = ops.into_iter(),
                    None => break,
                }
            }
            batch.extend(self.ops.by_ref().take(BATCH - batch.len()));
        }
        self.labels.give_out(batch);
        Ok(())
    }
}
