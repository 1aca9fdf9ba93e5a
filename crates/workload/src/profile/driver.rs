//! Applies the operations of a planner, checkpoint by checkpoint.

use super::LAST_ROUND;
use super::feed::{Feed, trace_writer};
use super::outcome::{ProfileOutcome, StoppedBy};
use super::rank_group::{Job, Next, Part, RankGroup};
use super::rollback::roll_back;
use crate::{AgingStats, Conditions, Driver, Error, Plan, ResumePoint, Segment, Site, Terms};
use replay::{Data, Failure, Flow, Options, Replay, StopReason};
use std::time::Instant;
use trace::Source as _;

/// Operations between checkpoints: the maximum that is repeated after a crash.
const CHECKPOINT: u64 = 500_000;

/// Operations between two checks of the goodness of fit, which visits every live file.
const FIT_CHECK: u64 = 65_536;

/// Operations between two synchronizations of several processes; a time limit is checked only then.
const SHARED_CHUNK: u64 = 65_536;

/// An aging by a profile in progress.
pub struct ProfileDriver {
    /// The last segment is in progress. Its `done` is the number of operations that are applied and on disk.
    segments: Vec<Segment>,
    /// Operations of the last segment that may be applied.
    redo_to: u64,
    terms: Terms,
    plan: Plan,
    feed: Feed,
    /// Operations of the last segment, if known.
    total: Option<u64>,
    /// When the first round began, and the operations that were applied then.
    begun: Option<(Instant, u64)>,
    stopped_by: Option<StoppedBy>,
    replay_s: f64,
    fill_s: f64,
    /// Failures so far, on all ranks.
    failures: Part,
}

/// A round in progress.
struct Round {
    /// The last operation of the round.
    goal: u64,
    /// When the time of the aging is over, if it is limited.
    deadline: Option<Instant>,
    replay: Replay,
}

impl ProfileDriver {
    /// Plans the last of `segments`, of which operations up to `redo_to` may be applied. `tool` is recorded in the trace file.
    pub fn new(
        segments: Vec<Segment>,
        redo_to: u64,
        terms: &Terms,
        tool: &str,
    ) -> Result<ProfileDriver, Error> {
        let conditions = &segments.last().expect("an aging has at least one segment").conditions;
        let writer =
            terms.save_trace.as_ref().map(|path| trace_writer(path, conditions, tool)).transpose()?;
        let feed = Feed::last_of(&segments, writer)?;
        Ok(ProfileDriver {
            plan: feed.planner.plan().clone(),
            total: feed.remaining(),
            feed,
            segments,
            redo_to,
            terms: terms.clone(),
            begun: None,
            stopped_by: None,
            replay_s: 0.0,
            fill_s: 0.0,
            failures: Part::of(&[]),
        })
    }

    /// The figures of the operations applied so far. Visits every live file.
    pub fn stats(&self) -> AgingStats {
        self.feed.planner.stats()
    }

    /// The operations that failed so far, on all ranks.
    pub fn failures(&self) -> &[Failure] {
        &self.failures.failures
    }

    fn segment(&self) -> &Segment {
        self.segments.last().expect("an aging has at least one segment")
    }

    fn conditions(&self) -> &Conditions {
        &self.segment().conditions
    }

    fn done(&self) -> u64 {
        self.segment().done
    }

    /// The last operation of a round. Without a known total, only round 100 has one: the end.
    fn goal(&self, round: u64) -> u64 {
        match self.total.filter(|_| round < LAST_ROUND) {
            Some(total) => (u128::from(total) * u128::from(round) / u128::from(LAST_ROUND)) as u64,
            None => u64::MAX,
        }
    }

    fn options(&self, site: &mut Site) -> Options {
        let kind = fs::find(site.target.kind_name()).ok();
        let block_bytes = site.target.block_bytes();
        Options {
            threads: self.terms.threads,
            data: self.terms.data,
            inline_limit_bytes: kind.map_or(0, |kind| kind.inline_limit_bytes()),
            grouped_limit_bytes: kind.map_or(0, |kind| kind.grouped_limit_bytes(block_bytes)),
            on_full: self.terms.on_full,
            seed: self.conditions().seed,
            redo_first: self.redo_to.saturating_sub(self.done()),
            shard: RankGroup::new(site.group).shard(),
            ..Options::default()
        }
    }

    /// Opens the tree for the replay. At the beginning, the tree returns to the last checkpoint, and the other ranks begin.
    fn open(&mut self, site: &mut Site, options: &Options) -> Result<Replay, Error> {
        let root = site.target.root();
        if self.begun.is_none() {
            self.feed.skip(self.done())?;
            if options.redo_first > 0 {
                roll_back(root, self.feed.planner.stats().creations)?;
            }
            if let Some(dir) = site.shared_dir {
                let job =
                    Job { dir: dir.to_owned(), segments: self.segments.clone(), options: options.clone() };
                RankGroup::new(site.group).begin(&job)?;
            }
            self.begun = Some((Instant::now(), self.done()));
        }
        Ok(Replay::posix(root, options)?)
    }

    /// Replays up to the next checkpoint. Returns whether the round continues.
    fn replay_chunk(&mut self, site: &mut Site, round: &mut Round) -> Result<bool, Error> {
        let shared = site.group.ranks() > 1;
        let done = self.done();
        let size = match self.feed.planner.directories_left() {
            // All directories must exist before any rank creates files in them.
            directories if shared && directories > 0 => directories,
            _ if self.terms.fit.is_some() => FIT_CHECK,
            _ if shared => SHARED_CHUNK,
            _ => CHECKPOINT,
        };
        let size = size.min(round.goal - done);
        self.redo_to = self.redo_to.max(done + size);
        site.observer.save(&ResumePoint { done, redo_to: self.redo_to, filling: false })?;
        RankGroup::new(site.group).step(Next::Replay(size))?;
        self.feed.allow(size);
        let first = self.begun.map_or(0, |(_, first)| first);
        let deadline = round.deadline;
        let over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let outcome = round.replay.run(&mut self.feed, None, &mut |progress| {
            site.observer.at(done - first + progress.operations);
            if disk::interrupted() || (!shared && over()) { Flow::Stop } else { Flow::Continue }
        })?;
        if !disk::interrupted() || !shared {
            site.target.sync()?;
        }
        let parts = RankGroup::new(site.group).gather(&Part::of(round.replay.failures()))?;
        if parts.interrupted && shared {
            return Err(Error::Interrupted);
        }
        self.failures = parts;
        let done = done + outcome.operations;
        self.segments.last_mut().expect("an aging has at least one segment").done = done;
        self.redo_to = done;
        site.observer.save(&ResumePoint { done, redo_to: done, filling: false })?;
        if disk::interrupted() {
            return Err(Error::Interrupted);
        }
        let goes_on = outcome.operations == size && done < round.goal;
        self.stopped_by = match outcome.stop_reason {
            StopReason::Full => Some(StoppedBy::Full),
            StopReason::Cancelled => Some(StoppedBy::Time),
            StopReason::OperationLimit | StopReason::EndOfSource => {
                let fits = |fit| self.feed.planner.stats().p_value() >= fit;
                if self.terms.fit.is_some_and(fits) {
                    Some(StoppedBy::Fit)
                } else {
                    (goes_on && over()).then_some(StoppedBy::Time)
                }
            }
        };
        Ok(goes_on && self.stopped_by.is_none())
    }

    /// Fills the live files in place.
    fn fill(&mut self, site: &mut Site, options: &Options) -> Result<(), Error> {
        let start = Instant::now();
        site.observer.save(&ResumePoint { done: self.done(), redo_to: self.redo_to, filling: true })?;
        // Small files may hold their data already: the total is what all files hold.
        let preallocates = self.terms.data != Data::Write;
        site.observer.phase("filling, MiB", preallocates.then_some(self.plan.live_bytes >> 20));
        RankGroup::new(site.group).step(Next::Fill)?;
        let root = site.target.root();
        let filled = replay::fill_shard(root, options.seed, options.threads, options.shard, &mut |bytes| {
            site.observer.at(bytes >> 20);
            if disk::interrupted() { Flow::Stop } else { Flow::Continue }
        })?;
        let filled = RankGroup::new(site.group).gather(&Part { errors: filled.errors, ..Part::of(&[]) })?;
        if filled.interrupted {
            return Err(Error::Interrupted);
        }
        if filled.errors > 0 {
            return Err(Error::Failed(format!(
                "{} files could not be filled with data; check the free space where the image is stored",
                filled.errors
            )));
        }
        self.fill_s += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// The state and digest of the applied operations. If the replay ended before the operations that the planner had issued, they are
    /// generated again.
    fn reached(&mut self) -> Result<(AgingStats, String), Error> {
        if self.feed.passed == self.done() {
            return Ok((self.stats(), self.feed.finish()?));
        }
        self.feed.finish()?;
        let mut feed = Feed::last_of(&self.segments, None)?;
        feed.skip(self.done())?;
        Ok((feed.planner.stats(), feed.finish()?))
    }
}

impl Driver for ProfileDriver {
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        let goal = self.goal(round);
        // A resumed aging may be beyond the first rounds.
        if self.done() > goal {
            return Ok(());
        }
        let options = self.options(site);
        let replay = self.open(site, &options)?;
        let (begun, _) = self.begun.expect("set by open");
        let start = Instant::now();
        site.observer.phase("aging", self.feed.remaining());
        let earlier = std::mem::replace(&mut self.failures, Part::of(&[]));
        let deadline = self.terms.time.map(|time| begun + time);
        let mut round = Round { goal, deadline, replay };
        while self.replay_chunk(site, &mut round)? {}
        round.replay.close();
        self.failures.add(earlier);
        self.replay_s += start.elapsed().as_secs_f64();
        if self.terms.fill { self.fill(site, &options) } else { Ok(()) }
    }

    fn is_over(&self) -> bool {
        self.stopped_by.is_some()
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }

    fn finish(&mut self, site: &mut Site) -> Result<Option<ProfileOutcome>, Error> {
        let first = self.begun.map_or(self.done(), |(_, first)| first);
        let (stats, trace_sha256) = self.reached()?;
        RankGroup::new(site.group).end(&trace_sha256)?;
        if !self.failures.failures.is_empty() {
            site.observer.say(
                "some operations failed: the figures describe the plan, but the tree lacks the failed operations",
            );
        }
        for failure in &self.failures.failures {
            site.observer.say(&format!(
                "{} × {} failed: {}, first {}",
                failure.count, failure.kind, failure.error, failure.first
            ));
        }
        let planned = ProfileOutcome::planned(self.plan.clone(), stats, self.conditions(), trace_sha256);
        Ok(Some(ProfileOutcome {
            stopped_by: self.stopped_by.unwrap_or(planned.stopped_by),
            ranks: site.group.ranks(),
            threads: self.terms.threads,
            applied: self.done() - first,
            replay_s: self.replay_s,
            fill_s: self.fill_s,
            failures: std::mem::take(&mut self.failures.failures),
            ..planned
        }))
    }
}
