//! The replay of a trace: reads operations, applies them and reports progress.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trace::{Labels, Op, Source};

use crate::failures::Ledger;
use crate::lanes::{Lanes, SingleEngine, WorkerPool};
use crate::names::Names;
use crate::route::Router;
use crate::tree::{Directories, Tree};
use crate::{Engine, Failure, NullEngine, Options, PosixEngine, Result, Shard};

/// Number of operations between two calls of `watch`: small enough that it is called often even if operations are slow.
const STEP: usize = 256;

/// The progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Operations taken in this run; with several threads the last of them may not be done yet.
    pub operations: u64,
    /// Failed operations of the whole replay.
    pub errors: u64,
    /// Time since the start of this run.
    pub elapsed: Duration,
}

/// Whether to continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Continue.
    Continue,
    /// Stop.
    Stop,
}

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Operations of this run: exactly this many of the source were applied or counted as failures.
    pub operations: u64,
    /// Why it ended.
    pub stop_reason: StopReason,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// The source has no more operations.
    #[serde(rename = "source")]
    EndOfSource,
    /// The requested number of operations was applied.
    #[serde(rename = "most")]
    OperationLimit,
    /// `watch` stopped the run.
    #[serde(rename = "watch")]
    Cancelled,
    /// The file system is full, and [`OnFull::Stop`](crate::OnFull::Stop) is set.
    Full,
}

/// A trace being replayed, in one or several runs.
///
/// The same trace gives the same tree with any number of threads, unless operations fail: which operations fail on a full
/// file system depends on the timing of the threads.
pub struct Replay {
    engines: Vec<Box<dyn Engine>>,
    router: Router,
    ledger: Ledger,
    failures: Vec<Failure>,
    /// Operations read from the source and not applied yet, starting at `next`.
    batch: Vec<Op>,
    next: usize,
    redo: Redo,
    shard: Shard,
    /// The operations that belong to the shard of this process, if that is not the whole.
    picked: Vec<Op>,
    /// The tree shared by the engines, if any.
    tree: Option<Arc<Tree>>,
}

/// How many of the next operations may already have been applied, and whether engines must allow for it.
struct Redo {
    left: u64,
    on: Arc<AtomicBool>,
}

impl Replay {
    /// Creates a replay into the directory `root`.
    pub fn posix(root: &Path, options: &Options) -> Result<Replay> {
        Self::begin(root, options, None, Directories::default())
    }

    /// Creates a replay into the directory `root` that gives files and directories the names, the execute permission and
    /// the contents of `labels`. Contents are written, regardless of [`Options::data`].
    ///
    /// Names then do not identify files: [`crate::fill()`] and [`crate::verify()`] skip them, and a replay
    /// can continue another one only if it [receives](Replay::labelled_after) the directories which that one created.
    pub fn labelled(root: &Path, options: &Options, labels: Arc<dyn Labels>) -> Result<Replay> {
        Self::begin(root, options, Some(labels), Directories::default())
    }

    /// Like [`Replay::labelled`], but with the directories that another replay [created](Replay::close).
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
        let (engines, tree) =
            PosixEngine::engines(root, options, size(options), &redo.on, Names::new(labels), made)?;
        let engines = engines.into_iter().map(|engine| Box::new(engine) as Box<dyn Engine>).collect();
        Ok(Self { tree: Some(tree), ..Self::new(engines, options, redo, labelled) })
    }

    /// Creates a replay without a file system, to measure how fast operations are generated and distributed.
    pub fn null(options: &Options) -> Replay {
        let redo = Redo { left: 0, on: Arc::default() };
        Self::new(
            (0..size(options)).map(|_| Box::new(NullEngine) as Box<dyn Engine>).collect(),
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
            shard: options.shard,
            picked: Vec::new(),
            tree: None,
        }
    }

    /// Closes everything below the root, so that the file system can be unmounted, and returns the known
    /// directories.
    pub fn close(self) -> Directories {
        self.tree.map(|tree| tree.directories()).unwrap_or_default()
    }

    /// Applies operations from `source` until it ends, `most_operations` are applied, or `watch`, which is called
    /// every few hundred operations, stops the run. On return, all operations counted in the outcome are applied and no
    /// later ones; another run on the same source continues from there. The source is read ahead,
    /// so it must not be used for anything else between the runs.
    pub fn run(
        &mut self,
        source: &mut dyn Source,
        most_operations: Option<u64>,
        watch: &mut dyn FnMut(&Progress) -> Flow,
    ) -> Result<Outcome> {
        self.ledger.try_again();
        let Self { engines, router, ledger, batch, next, redo, shard, picked, .. } = self;
        let most = most_operations.unwrap_or(u64::MAX);
        let mut run = Run { source, most, batch, next, redo, shard: *shard, picked, ledger };
        let outcome = match engines.as_mut_slice() {
            [engine] => run.go(&mut SingleEngine(engine.as_mut()), watch),
            engines => {
                thread::scope(|scope| run.go(&mut Lanes::start(scope, engines, router, ledger), watch))
            }
        };
        self.failures = self.ledger.failures();
        outcome
    }

    /// The failures so far, by type of operation and reason.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }
}

/// Several threads need an additional engine for operations that must run exclusively.
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
    shard: Shard,
    picked: &'r mut Vec<Op>,
    ledger: &'r Ledger,
}

impl Run<'_> {
    fn go(
        &mut self,
        pool: &mut impl WorkerPool,
        watch: &mut dyn FnMut(&Progress) -> Flow,
    ) -> Result<Outcome> {
        let started = Instant::now();
        let mut operations = 0;
        let reason = loop {
            if self.ledger.is_full() {
                break StopReason::Full;
            }
            if operations == self.most {
                break StopReason::OperationLimit;
            }
            match self.step(pool, self.most - operations) {
                Ok(0) => break StopReason::EndOfSource,
                Ok(taken) => operations += taken,
                Err(error) => {
                    pool.finish();
                    return Err(error);
                }
            }
            let progress = Progress { operations, errors: self.ledger.errors(), elapsed: started.elapsed() };
            if watch(&progress) == Flow::Stop {
                break StopReason::Cancelled;
            }
        };
        pool.finish();
        let stop_reason = if self.ledger.is_full() { StopReason::Full } else { reason };
        Ok(Outcome { operations, stop_reason })
    }

    /// Applies the next few operations and returns their number; 0 at the end.
    fn step(&mut self, pool: &mut impl WorkerPool, most: u64) -> Result<u64> {
        if *self.next == self.batch.len() {
            *self.next = 0;
            self.batch.clear();
            self.source.next_batch(self.batch)?;
        }
        let mut ops = &self.batch[*self.next..];
        let most = if self.redo.left > 0 { most.min(self.redo.left) } else { most };
        ops = &ops[..ops.len().min(STEP).min(usize::try_from(most).unwrap_or(STEP))];
        let taken = if self.shard == Shard::WHOLE {
            pool.take(ops, self.ledger)
        } else {
            self.shard.pick(ops, self.picked)?;
            pool.take(self.picked, self.ledger);
            ops.len()
        };
        *self.next += taken;
        if self.redo.left > 0 {
            self.redo.left -= taken as u64;
            if self.redo.left == 0 {
                pool.finish();
                self.redo.on.store(false, Relaxed);
            }
        }
        Ok(taken as u64)
    }
}
