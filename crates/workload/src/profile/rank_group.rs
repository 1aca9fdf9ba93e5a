//! Processes that share an aging. Rank 0 runs the aging and broadcasts each step; the other ranks plan the same operations, apply their
//! share, and report failures.

use super::feed::Feed;
use crate::{Error, Segment};
use fs::{DirTarget, Target as _};
use ranks::{Group, receive};
use replay::{Failure, Flow, Options, Replay, Shard};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The parameters of the other ranks. The share in `options` is that of rank 0.
#[derive(Serialize, Deserialize)]
pub(super) struct Job {
    pub dir: PathBuf,
    pub segments: Vec<Segment>,
    pub options: Options,
}

/// The next step of all ranks.
#[derive(Serialize, Deserialize)]
pub(super) enum Next {
    /// Replay this number of operations.
    Replay(u64),
    /// Fill the live files.
    Fill,
    /// End, and report the digest of all operations.
    End,
}

/// The report of a rank, or the sum of all reports.
#[derive(Serialize, Deserialize)]
pub(super) struct Part {
    /// Operations that failed since the start.
    pub failures: Vec<Failure>,
    /// Files that could not be filled.
    pub errors: u64,
    /// Whether a signal interrupted the rank.
    pub interrupted: bool,
}

impl Part {
    pub fn of(failures: &[Failure]) -> Part {
        Part { failures: failures.to_vec(), errors: 0, interrupted: disk::interrupted() }
    }

    /// Adds the report of another rank, or of another part of the replay.
    pub fn add(&mut self, other: Part) {
        for failure in other.failures {
            let same = |known: &&mut Failure| known.kind == failure.kind && known.error == failure.error;
            match self.failures.iter_mut().find(same) {
                Some(known) => known.count += failure.count,
                None => self.failures.push(failure),
            }
        }
        self.errors += other.errors;
        self.interrupted |= other.interrupted;
    }
}

/// The ranks, from the view of rank 0.
pub(super) struct RankGroup<'a>(&'a mut dyn Group);

impl<'a> RankGroup<'a> {
    pub fn new(group: &'a mut dyn Group) -> RankGroup<'a> {
        RankGroup(group)
    }

    pub fn shard(&self) -> Shard {
        Shard { rank: self.0.rank(), ranks: self.0.ranks() }
    }

    /// Broadcasts the job.
    pub fn begin(&mut self, job: &Job) -> Result<(), Error> {
        ranks::broadcast(self.0, job)?;
        Ok(())
    }

    /// Broadcasts the next step.
    pub fn step(&mut self, next: Next) -> Result<(), Error> {
        ranks::broadcast(self.0, &next)?;
        Ok(())
    }

    /// Waits for the reports of all ranks and sums them up.
    pub fn gather(&mut self, mine: &Part) -> Result<Part, Error> {
        let mut sum = Part { failures: Vec::new(), errors: 0, interrupted: false };
        ranks::gather(self.0, mine)?.into_iter().for_each(|part| sum.add(part));
        Ok(sum)
    }

    /// Ends all ranks, and checks that they planned the same operations.
    pub fn end(&mut self, digest: &str) -> Result<(), Error> {
        self.step(Next::End)?;
        let all = ranks::gather(self.0, &digest.to_owned())?;
        match all.iter().position(|other| other != digest) {
            Some(rank) => Err(Error::Failed(format!(
                "rank {rank} planned different operations than rank 0, so the tree is unusable; run the same \
                 program on all machines"
            ))),
            None => Ok(()),
        }
    }
}

/// Runs the aging on a rank other than 0, from start to end.
pub fn follow(group: &mut dyn Group) -> Result<(), Error> {
    let job: Job = receive(group)?;
    let target = DirTarget::open(&job.dir)?;
    let shard = Shard { rank: group.rank(), ranks: group.ranks() };
    let options = Options { shard, ..job.options };
    let mut feed = Feed::last_of(&job.segments, None)?;
    feed.skip(job.segments.last().map_or(0, |segment| segment.done))?;
    let mut replay = Replay::posix(target.root(), &options)?;
    let flow = || if disk::interrupted() { Flow::Stop } else { Flow::Continue };
    loop {
        let part = match receive(group)? {
            Next::Replay(operations) => {
                feed.allow(operations);
                replay.run(&mut feed, None, &mut |_| flow())?;
                if !disk::interrupted() {
                    target.sync()?;
                }
                Part::of(replay.failures())
            }
            Next::Fill => {
                let (seed, threads) = (options.seed, options.threads);
                let filled =
                    replay::fill_shard(target.root(), seed, threads, options.shard, &mut |_| flow())?;
                Part { errors: filled.errors, ..Part::of(&[]) }
            }
            Next::End => break,
        };
        ranks::gather(group, &part)?;
    }
    ranks::gather(group, &feed.finish()?)?;
    Ok(())
}
