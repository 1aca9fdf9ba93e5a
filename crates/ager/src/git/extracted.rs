//! The history of a repository as a trace: what git would do to the files of a working tree, pull by pull.

use std::sync::Arc;

use trace::{BATCH, Labels, Op, Source};

use super::History;
use super::checkout::WorkTree;
use super::dot_git::DotGit;
use super::labels::LiveLabels;
use super::maker::Maker;
use super::repository::Reader;
use crate::Error;

/// What is extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtractOptions {
    /// How many pulls; `None` is all.
    pub pulls: Option<u64>,
    /// After this many pulls there is a checkpoint, and after the last one.
    pub every: u64,
    /// Whether what git writes below `.git` is extracted too: objects, index, references, logs.
    pub objects: bool,
}

impl Default for ExtractOptions {
    /// All pulls, and one checkpoint at the end.
    fn default() -> Self {
        Self { pulls: None, every: u64::MAX, objects: false }
    }
}

/// The operations of a history. Its memory is bounded by the working tree, and by what is below `.git` if that is
/// extracted.
pub struct Extracted {
    history: History,
    reader: Reader,
    tree: WorkTree,
    dot_git: Option<DotGit>,
    maker: Maker,
    labels: Arc<LiveLabels>,
    options: ExtractOptions,
    pull: u64,
    /// The pull behind which the operations end for now.
    until: u64,
    /// Operations of the last pull, or of making the repository, that are still to be given.
    ops: std::vec::IntoIter<Op>,
}

impl Extracted {
    /// Begins with the first commit of `history`.
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
            until: pulls,
        })
    }

    /// Names, modes and contents of the files. They are there for what exists and for what did a little while ago.
    pub fn labels(&self) -> Arc<dyn Labels> {
        self.labels.clone()
    }

    /// Has the operations end behind pull number `pull`, or before the first one for 0, until this is called again: a replay runs to there, all is
    /// measured, and another run goes on.
    pub fn until(&mut self, pull: u64) {
        self.until = pull.min(self.pulls());
    }

    /// How many pulls the operations given so far belong to.
    pub fn pull(&self) -> u64 {
        self.pull
    }

    /// How many pulls there are in all.
    pub fn pulls(&self) -> u64 {
        self.options.pulls.unwrap_or(self.history.count())
    }

    /// The operations of the next pull; nothing after the last one.
    fn next_pull(&mut self) -> Result<Option<Vec<Op>>, Error> {
        let Some(id) = self.history.id(self.pull + 1).filter(|_| self.pull < self.until) else {
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
