//! The replay of a trace: reads operations, has them applied, and knows how far it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trace::{Labels, Op, Source};

use crate::failures::Ledger;
use crate::lanes::{Alone, Crew, Lanes};
use crate::names::Names;
use crate::route::Router;
use crate::tree::{Directories, Tree};
use crate::{Engine, Failure, Null, Options, Posix, Result, Share};

/// How many operations are taken between two looks at the watch: few enough that it sees even slow ones often.
const STEP: usize = 256;

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Operations of this run that were taken; with several threads the last of them may not be done yet.
    pub operations: u64,
    /// Operations of the whole replay that failed.
    pub errors: u64,
    /// Since this run began.
    pub elapsed: Duration,
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Go on.
    Go,
    /// Come to an end.
    Stop,
}

/// How a run went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Operations of this run: so many of the source, and none after them, were applied or counted as failures.
    pub operations: u64,
    /// Why it ended.
    pub ended: Ended,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The source has no more operations.
    Source,
    /// As many as were wanted are applied.
    Most,
    /// The watch said so.
    Watch,
    /// The file system is full, and the run was to stop then.
    Full,
}

/// A trace being replayed, in one run or several.
///
/// The same trace gives the same tree with any number of threads, unless operations fail: which of them do, when a
/// file system is full, depends on how the threads happened to share the room.
pub struct Replay {
    engines: Vec<Box<dyn Engine>>,
    router: Router,
    ledger: Ledger,
    failures: Vec<Failure>,
    /// Read from the source and not applied yet, from `next` on.
    batch: Vec<Op>,
    next: usize,
    redo: Redo,
    share: Share,
    /// What of the operations at hand is in the share, if that is not all.
    picked: Vec<Op>,
    /// The tree that engines work on together, if they do.
    tree: Option<Arc<Tree>>,
}

/// How many operations to come may have been done before, and whether engines have to reckon with it.
struct Redo {
    left: u64,
    on: Arc<AtomicBool>,
}

impl Replay {
    /// A replay into the directory `root`.
    pub fn posix(root: &Path, options: &Options) -> Result<Replay> {
        Self::begin(root, options, None, Directories::default())
    }

    /// A replay into the directory `root` that gives files and directories the names, the permission to execute and
    /// the contents that `labels` have for them. Contents are written, whatever [`Options::data`] says.
    ///
    /// Files are not told by their names then: [`crate::fill()`] and [`crate::verify()`] pass them by, and a replay
    /// goes on after another one only if it [is told](Replay::labelled_after) which directories that one made.
    pub fn labelled(root: &Path, options: &Options, labels: Arc<dyn Labels>) -> Result<Replay> {
        Self::begin(root, options, Some(labels), Directories::default())
    }

    /// As [`Replay::labelled`], where another replay has [made](Replay::close) directories already.
    pub fn labelled_after(
        root: &Path,
        options: &Options,
        labels: Arc<dyn Labels>,
        made: Directories,
    ) -> Result<Replay> {
        Self::begin(root, options, Some(labels), made)
    }

    fn begin(
        root: &Path,
        options: &Options,
        labels: Option<Arc<dyn Labels>>,
        made: Directories,
    ) -> Result<Replay> {
        let labelled = labels.is_some();
        let redo = Redo { left: options.redo_first, on: Arc::new(AtomicBool::new(options.redo_first > 0)) };
        let (crew, tree) = Posix::crew(root, options, size(options), &redo.on, Names::new(labels), made)?;
        let engines = crew.into_iter().map(|engine| Box::new(engine) as Box<dyn Engine>).collect();
        Ok(Self { tree: Some(tree), ..Self::new(engines, options, redo, labelled) })
    }

    /// A replay into nothing, which shows how fast operations can be made and dealt out.
    pub fn null(options: &Options) -> Replay {
        let redo = Redo { left: 0, on: Arc::default() };
        Self::new(
            (0..size(options)).map(|_| Box::new(Null) as Box<dyn Engine>).collect(),
            options,
            redo,
            false,
        )
    }

    fn new(engines: Vec<Box<dyn Engine>>, options: &Options, redo: Redo, labelled: bool) -> Self {
        Self {
            engines,
            router: Router::new(options.threads.max(1), labelled),
            ledger: Ledger::new(options.on_full),
            failures: Vec::new(),
            batch: Vec::new(),
            next: 0,
            redo,
            share: options.share,
            picked: Vec::new(),
            tree: None,
        }
    }

    /// Closes all that is open below the root, so that the file system can be unmounted, and says which directories
    /// there are.
    pub fn close(self) -> Directories {
        self.tree.map(|tree| tree.directories()).unwrap_or_default()
    }

    /// Applies what `source` gives, until it ends, `most_operations` are applied, or `watch` stops it, which is asked
    /// every few hundred operations. When this returns, all operations counted in the outcome are applied and none
    /// after them; another run on the same source goes on from there. The source is read ahead of what is applied,
    /// so it should not be used for anything else between the runs.
    pub fn run(
        &mut self,
        source: &mut dyn Source,
        most_operations: Option<u64>,
        watch: &mut dyn FnMut(&Progress) -> Flow,
    ) -> Result<Outcome> {
        self.ledger.try_again();
        let Self { engines, router, ledger, batch, next, redo, share, picked, .. } = self;
        let most = most_operations.unwrap_or(u64::MAX);
        let mut run = Run { source, most, batch, next, redo, share: *share, picked, ledger };
        let outcome = match engines.as_mut_slice() {
            [engine] => run.go(&mut Alone(engine.as_mut()), watch),
            engines => {
                thread::scope(|scope| run.go(&mut Lanes::start(scope, engines, router, ledger), watch))
            }
        };
        self.failures = self.ledger.failures();
        outcome
    }

    /// What failed so far, by kind of operation and reason.
    pub fn errors(&self) -> &[Failure] {
        &self.failures
    }
}

/// Several threads need one engine more, for what cannot be done beside anything else.
fn size(options: &Options) -> usize {
    if options.threads > 1 { options.threads + 1 } else { 1 }
}

/// One run.
struct Run<'r> {
    source: &'r mut dyn Source,
    most: u64,
    batch: &'r mut Vec<Op>,
    next: &'r mut usize,
    redo: &'r mut Redo,
    share: Share,
    picked: &'r mut Vec<Op>,
    ledger: &'r Ledger,
}

impl Run<'_> {
    fn go(&mut self, crew: &mut impl Crew, watch: &mut dyn FnMut(&Progress) -> Flow) -> Result<Outcome> {
        let started = Instant::now();
        let mut operations = 0;
        let ended = loop {
            if self.ledger.is_full() {
                break Ended::Full;
            }
            if operations == self.most {
                break Ended::Most;
            }
            match self.step(crew, self.most - operations) {
                Ok(0) => break Ended::Source,
                Ok(taken) => operations += taken,
                Err(error) => {
                    crew.finish();
                    return Err(error);
                }
            }
            let progress = Progress { operations, errors: self.ledger.errors(), elapsed: started.elapsed() };
            if watch(&progress) == Flow::Stop {
                break Ended::Watch;
            }
        };
        crew.finish();
        Ok(Outcome { operations, ended: if self.ledger.is_full() { Ended::Full } else { ended } })
    }

    /// Has the next few operations applied and says how many; none are left if 0.
    fn step(&mut self, crew: &mut impl Crew, most: u64) -> Result<u64> {
        if *self.next == self.batch.len() {
            *self.next = 0;
            self.batch.clear();
            self.source.next_batch(self.batch)?;
        }
        let mut ops = &self.batch[*self.next..];
        let most = if self.redo.left > 0 { most.min(self.redo.left) } else { most };
        ops = &ops[..ops.len().min(STEP).min(usize::try_from(most).unwrap_or(STEP))];
        let taken = if self.share == Share::WHOLE {
            crew.take(ops, self.ledger)
        } else {
            self.share.pick(ops, self.picked)?;
            crew.take(self.picked, self.ledger);
            ops.len()
        };
        *self.next += taken;
        if self.redo.left > 0 {
            self.redo.left -= taken as u64;
            if self.redo.left == 0 {
                crew.finish();
                self.redo.on.store(false, Relaxed);
            }
        }
        Ok(taken as u64)
    }
}
