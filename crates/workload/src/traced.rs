//! Replays the operations of a workload on one file system, stretch by stretch.

use crate::{Driver, Error, Observer, Site};
use replay::{Data, Directories, Flow, Options, Replay, StopReason};
use std::path::Path;
use std::sync::Arc;
use trace::{BATCH, Labels, Op, Source};

/// The options for workloads: one thread, because a workload stands for one process whose order of writes determines the layout, and with
/// data written, as the process writes it.
pub(crate) fn options(seed: u64) -> Options {
    Options { threads: 1, data: Data::Write, seed, ..Options::default() }
}

/// Operations that are made one by one, because they can be too many for memory.
pub(crate) struct Ops<I>(pub I);

impl<I: Iterator<Item = Op>> Source for Ops<I> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        batch.clear();
        batch.extend(self.0.by_ref().take(BATCH));
        Ok(())
    }
}

/// Applies all operations of `source`.
pub(crate) fn apply(
    replay: &mut Replay,
    source: &mut dyn Source,
    round: u64,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let outcome = replay.run(source, None, &mut |progress| {
        observer.at(progress.operations);
        if disk::interrupted() { Flow::Stop } else { Flow::Continue }
    })?;
    if outcome.stop_reason == StopReason::Cancelled {
        return Err(Error::Interrupted);
    }
    let Some(failure) = replay.failures().first() else { return Ok(()) };
    let advice = match (failure.kind.as_str(), failure.error.as_str()) {
        (_, "ENOSPC" | "EDQUOT") => "; the file system is too small: use a larger --size",
        ("clone", "EOPNOTSUPP") => {
            "; on this file system files cannot share blocks: use XFS, Btrfs, or another that can"
        }
        _ => "",
    };
    Err(Error::Failed(format!(
        "{} × {} failed in round {round}: {}, first {}{advice}",
        failure.count, failure.kind, failure.error, failure.first
    )))
}

/// Replays stretches on one file system. No file is open between two stretches.
pub(crate) struct Stretches {
    options: Options,
    labels: Option<Arc<dyn Labels>>,
    made: Directories,
}

impl Stretches {
    pub fn new(seed: u64, labels: Option<Arc<dyn Labels>>) -> Stretches {
        Stretches { options: options(seed), labels, made: Directories::default() }
    }

    /// Applies the available operations of `source`.
    pub fn apply(
        &mut self,
        root: &Path,
        source: &mut dyn Source,
        round: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        // A new replay for each stretch: its open files would keep the file system mounted.
        let mut replay = match &self.labels {
            None => Replay::posix(root, &self.options)?,
            Some(labels) => {
                let made = std::mem::take(&mut self.made);
                Replay::labelled_after(root, &self.options, labels.clone(), made)?
            }
        };
        apply(&mut replay, source, round, observer)?;
        self.made = replay.close();
        Ok(())
    }
}

/// A source with a checkpoint at the end of each round, for one file system.
pub struct Traced {
    stretch: Stretch,
    stretches: Stretches,
}

impl Traced {
    /// Replays `source` with the names and contents of `labels`, if there are any.
    pub fn new(source: Box<dyn Source>, seed: u64, labels: Option<Arc<dyn Labels>>) -> Traced {
        let stretch = Stretch { source, batch: Vec::new(), next: 0, end: End::Ahead(0) };
        Traced { stretch, stretches: Stretches::new(seed, labels) }
    }

    /// Syncs after every `bytes` bytes.
    pub fn writing_back(mut self, bytes: u64) -> Traced {
        self.stretches.options.write_back_bytes = bytes;
        self
    }
}

impl Driver for Traced {
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        loop {
            self.stretch.end = End::Ahead(round);
            self.stretches.apply(site.target.root(), &mut self.stretch, round, site.observer)?;
            match self.stretch.end {
                End::Reached => return Ok(()),
                End::Take(number) => fs::take_snapshot(site.target, number)?,
                End::Delete(number) => fs::delete_snapshot(site.target, number)?,
                End::Ahead(_) => {
                    return Err(Error::Refused(format!("the workload ends before round {round}")));
                }
            }
        }
    }
}

/// A part of a source, which ends after a checkpoint or before an operation that is not one of the replay.
struct Stretch {
    source: Box<dyn Source>,
    /// Operations from the source; those from `next` on are pending.
    batch: Vec<Op>,
    next: usize,
    end: End,
}

enum End {
    /// The checkpoint with this number is pending.
    Ahead(u64),
    /// The checkpoint was passed.
    Reached,
    /// This snapshot is to be taken or deleted.
    Take(u64),
    Delete(u64),
}

impl End {
    /// What ends a stretch at this operation.
    fn at(op: &Op, wanted: u64) -> Option<End> {
        match *op {
            Op::Checkpoint { number } if number == wanted => Some(End::Reached),
            Op::Snapshot { number } => Some(End::Take(number)),
            Op::DeleteSnapshot { number } => Some(End::Delete(number)),
            _ => None,
        }
    }
}

impl Source for Stretch {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        batch.clear();
        let End::Ahead(wanted) = self.end else { return Ok(()) };
        while batch.is_empty() && matches!(self.end, End::Ahead(_)) {
            if self.next == self.batch.len() {
                self.next = 0;
                self.source.next_batch(&mut self.batch)?;
                if self.batch.is_empty() {
                    return Ok(());
                }
            }
            let rest = &self.batch[self.next..];
            let rest = &rest[..rest.len().min(BATCH)];
            let found = rest.iter().enumerate().find_map(|(at, op)| Some((at, End::at(op, wanted)?)));
            let mut taken = rest.len();
            if let Some((at, end)) = found {
                // A checkpoint is an operation of the replay, which syncs; a snapshot is not.
                taken = if matches!(end, End::Reached) { at + 1 } else { at };
                self.next += at + 1 - taken;
                self.end = end;
            }
            batch.extend_from_slice(&rest[..taken]);
            self.next += taken;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_site::advance;
    use trace::{Content, FileId, ROOT};

    fn create(file: u64) -> Op {
        Op::Create { file: FileId(file), parent: ROOT, size: 10, content: Content::Written }
    }

    #[test]
    fn only_a_full_file_system_is_reported_as_too_small() {
        let dir = tempfile::tempdir().unwrap();
        let ops = vec![Op::Delete { file: FileId(1), parent: ROOT }, Op::Checkpoint { number: 0 }];
        let mut traced = Traced::new(Box::new(ops.into_iter()), 0, None);
        let error = advance(&mut traced, dir.path(), 0).unwrap_err().to_string();
        assert!(error.contains("ENOENT") && !error.contains("small"), "{error}");
    }

    #[test]
    fn snapshots_come_between_the_operations_around_them() {
        let dir = testing::dir_in_memory();
        for (snapshot, next) in
            [(Op::Snapshot { number: 5 }, 3), (Op::DeleteSnapshot { number: 5 }, BATCH as u64)]
        {
            let before = (0..next).map(|n| create(1000 + n));
            let ops: Vec<Op> = before.chain([snapshot, create(1), Op::Checkpoint { number: 0 }]).collect();
            let root = dir.path().join(next.to_string());
            std::fs::create_dir(&root).unwrap();
            let mut traced = Traced::new(Box::new(ops.into_iter()), 0, None);
            // This file system has none, so the aging stops there.
            let error = advance(&mut traced, &root, 0).unwrap_err().to_string();
            assert!(error.contains("tmpfs has no snapshots"), "{error}");
            assert_eq!(std::fs::read_dir(&root).unwrap().count() as u64, next);
        }
    }

    #[test]
    fn stretches_end_at_checkpoints() {
        let dir = tempfile::tempdir().unwrap();
        let rounds = (0..4u64).flat_map(|round| {
            (0..3000).map(move |n| create(round * 3000 + n)).chain([Op::Checkpoint { number: round }])
        });
        let source = Box::new(rounds.collect::<Vec<Op>>().into_iter());
        let mut traced = Traced::new(source, 0, None);
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        advance(&mut traced, dir.path(), 0).unwrap();
        assert_eq!(files(), 3000);
        advance(&mut traced, dir.path(), 2).unwrap();
        assert_eq!(files(), 9000);
        let error = advance(&mut traced, dir.path(), 7).unwrap_err();
        assert!(error.to_string().contains("ends before round 7"), "{error}");
        assert_eq!(files(), 12000);
    }
}
