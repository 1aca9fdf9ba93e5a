//! The stages of an aging: make, replay, fill, check. Each is recorded before the next begins.

use super::outcome::{Aged, StoppedBy, aged};
use super::rank_group::{Job, Next, Part, RankGroup};
use super::{AgeSpec, resume};
use crate::feed::Feed;
use crate::manifest::{Manifest, Stage};
use crate::work::Work;
use crate::{Error, messages, space, volume};
use disk::Session;
use fs::{Location, Target};
use ranks::{Group, threads};
use replay::{Failure, Flow, Options, Replay, StopReason};
use results::measures::{self, Measure};
use results::{Measurement, NewRun, Watch};
use std::sync::Arc;
use std::time::Instant;
use trace::{Source as _, TraceDigest, TraceWriter};

/// Operations between checkpoints: the maximum that is repeated after a crash.
const CHECKPOINT: u64 = 500_000;

/// Operations between two checks of the goodness of fit, which visits every live file.
const FIT_CHECK: u64 = 65_536;

/// Operations between two synchronizations of several processes; a time limit is checked only then.
const SHARED_CHUNK: u64 = 65_536;

/// Ages a file system.
pub fn age(spec: &AgeSpec, watch: &mut dyn Watch) -> Result<Aged, Error> {
    let mut alone = threads(1).pop().expect("one rank");
    let aged = age_among(spec, &mut alone, watch);
    alone.end();
    aged
}

/// Ages as rank 0 of a group, whose other ranks [follow](super::age_follow). After an error the other ranks keep waiting.
pub fn age_among(spec: &AgeSpec, group: &mut dyn Group, watch: &mut dyn Watch) -> Result<Aged, Error> {
    let mut manifest = resume::manifest(spec)?;
    volume::check(&manifest.volume, spec.erase.as_deref(), manifest.stage == Stage::Making)?;
    let plan =
        workload::resume(&manifest.segments[..manifest.segments.len() - 1], &spec.conditions)?.plan().clone();
    messages::plan(&plan, &spec.conditions, watch);
    let already = if manifest.stage == Stage::Making { 0 } else { spec.volume.location.allocated_bytes() };
    space::check_written(&spec.volume, &plan, spec.conditions.overwrites)?;
    space::check(&spec.volume, &plan, spec.data(), spec.fill, already)?;
    if let Some(kind) = spec.volume.kind()?
        && manifest.stage == Stage::Making
    {
        let inodes = plan.live_files + plan.directories;
        manifest.volume.plan_mkfs_opts = kind.mkfs_opts_for_inodes(spec.volume.size_bytes, inodes);
    }

    let work = Work::take(&spec.work)?;
    let store = work.store()?;
    let session = Session::begin()?;
    let target = if manifest.stage == Stage::Making {
        make(&session, spec, &mut manifest)?
    } else {
        fs::open(&session, &manifest.volume)?
    };
    manifest.mkfs = target.mkfs_command().or(manifest.mkfs);
    manifest.fs_version = target.version();
    let new = NewRun {
        kind: "age",
        name: &spec.name,
        command: &spec.command,
        seed: Some(spec.conditions.seed),
        parameters: serde_json::json!({
            "made": manifest.volume,
            "conditions": spec.conditions,
            "ranks": group.ranks(),
        }),
    };
    manifest.run = store.begin(&new)?.0;
    let watch = &mut store.record_progress(watch);
    manifest.stage = Stage::Replaying;
    manifest.save(&spec.work)?;
    work.keep();

    let ranks = RankGroup::new(group);
    let mut stages = Stages { spec, manifest, target: Some(target), ranks, failures: Vec::new() };
    let result = stages.run(&plan, watch);
    if let Some(target) = stages.target.as_deref()
        && result.is_err()
    {
        // The error of the run is the one to report; failed requests may be its cause.
        let _ = messages::failed_requests(target, watch);
    }
    let run = stages.manifest.run();
    if let Ok(aged) = &result {
        store.record_all(run, &measurements(aged))?;
        store.record_document(run, "", "aged", aged)?;
        store.record_document(run, "", "manifest", &stages.manifest)?;
    }
    store.end_with(run, &result)?;
    result
}

/// Makes the file system and records its location. The manifest is saved before, so that a killed run leaves a half-made file system that
/// is recognized as ours. If making fails, the manifest is removed.
fn make(session: &Arc<Session>, spec: &AgeSpec, manifest: &mut Manifest) -> Result<Box<dyn Target>, Error> {
    manifest.save(&spec.work)?;
    let volume = fs::make(session, &mut manifest.volume, spec.erase.as_deref());
    if volume.is_err() {
        let path = Manifest::path(&spec.work, &spec.name);
        std::fs::remove_file(&path).map_err(Error::io("removing", &path))?;
    }
    Ok(volume?)
}

struct Stages<'a> {
    spec: &'a AgeSpec,
    manifest: Manifest,
    target: Option<Box<dyn Target>>,
    ranks: RankGroup<'a>,
    /// Failures so far, on all ranks.
    failures: Vec<Failure>,
}

impl Stages<'_> {
    fn run(&mut self, plan: &workload::Plan, watch: &mut dyn Watch) -> Result<Aged, Error> {
        let mut aged = self.replay(plan, watch)?;
        if self.manifest.fill {
            aged.fill_s = self.fill(watch)?;
        }
        self.ranks.end(&aged.trace_sha256)?;
        aged.checker_clean = self.check(watch)?;
        messages::failed_requests(self.target(), watch)?;
        self.manifest.stage = Stage::Done;
        self.manifest.save(&self.spec.work)?;
        self.target.take().expect("the target is there until now").close()?;
        Ok(aged)
    }

    fn target(&mut self) -> &mut dyn Target {
        self.target.as_deref_mut().expect("the target is there until the end")
    }

    fn replay(&mut self, plan: &workload::Plan, watch: &mut dyn Watch) -> Result<Aged, Error> {
        let mut digest = TraceDigest::new();
        let mut writer = resume::trace_writer(self.spec)?;
        let planner = resume::last_segment(&self.manifest.segments, &mut digest, writer.as_mut())?;
        let mut feed = Feed::new(planner, &mut digest, writer.as_mut());
        feed.skip(self.segment().done)?;
        let block_bytes = self.target().block_bytes();
        let kind = fs::find(self.target().kind_name()).ok();
        let options = Options {
            threads: self.spec.threads()?,
            data: self.manifest.data,
            inline_limit_bytes: kind.map_or(0, |kind| kind.inline_limit_bytes()),
            grouped_limit_bytes: kind.map_or(0, |kind| kind.grouped_limit_bytes(block_bytes)),
            on_full: self.manifest.on_full,
            seed: self.spec.conditions.seed,
            redo_first: self.manifest.redo_to - self.segment().done,
            shard: self.ranks.shard(),
            ..Options::default()
        };
        let root = self.target().root().to_owned();
        if options.redo_first > 0 {
            resume::roll_back(&root, feed.planner.stats().creations)?;
        }
        if let Location::Dir(dir) = &self.manifest.volume.location {
            let job =
                Job { dir: dir.clone(), segments: self.manifest.segments.clone(), options: options.clone() };
            self.ranks.broadcast(&job)?;
        }
        let mut replay = Replay::posix(&root, &options)?;
        let start = Instant::now();
        let first = self.segment().done;
        watch.phase("aging", feed.remaining());
        let stopped_by = loop {
            if let Some(why) = self.replay_chunk(&mut replay, &mut feed, start, first, watch)? {
                break why;
            }
        };
        let (replay_s, applied) = (start.elapsed().as_secs_f64(), self.segment().done - first);
        let whole = feed.passed == self.segment().done;
        let reached = feed.planner.stats();
        drop(feed);
        let (reached, digest) = if whole { (reached, digest) } else { self.retrace()? };

        let mut aged = aged(&self.spec.name, &self.manifest.volume.fs, &self.spec.conditions, plan, reached);
        aged.stopped_by = stopped_by.unwrap_or(aged.stopped_by);
        aged.ranks = options.shard.ranks;
        aged.threads = options.threads;
        aged.replay_s = replay_s;
        aged.operations_per_s = if applied == 0 { 0.0 } else { applied as f64 / replay_s };
        aged.failures = std::mem::take(&mut self.failures);
        aged.errors = aged.failures.iter().map(|f| f.count).sum();
        aged.trace_sha256 = digest.finish();
        if aged.errors > 0 {
            watch.say(
                "some operations failed: the figures describe the plan, but the tree lacks the failed \
                       operations",
            );
        }
        for failure in &aged.failures {
            watch.say(&format!(
                "{} × {} failed: {}, first {}",
                failure.count, failure.kind, failure.error, failure.first
            ));
        }
        writer.map(TraceWriter::finish).transpose()?;
        Ok(aged)
    }

    /// Replays up to the next checkpoint. Returns why the replay ends there, if it does: `Some(None)` at the end of all operations.
    fn replay_chunk(
        &mut self,
        replay: &mut Replay,
        feed: &mut Feed,
        start: Instant,
        first: u64,
        watch: &mut dyn Watch,
    ) -> Result<Option<Option<StoppedBy>>, Error> {
        let shared = self.ranks.shard().ranks > 1;
        let size = match feed.planner.directories_left() {
            // All directories must exist before any rank creates files in them.
            directories if shared && directories > 0 => directories,
            _ if self.spec.fit.is_some() => FIT_CHECK,
            _ if shared => SHARED_CHUNK,
            _ => CHECKPOINT,
        };
        let done = self.segment().done;
        self.manifest.redo_to = self.manifest.redo_to.max(done + size);
        self.manifest.save(&self.spec.work)?;
        self.ranks.broadcast(&Next::Replay(size))?;
        feed.allow(size);
        let over = |start: Instant| self.spec.time.is_some_and(|time| start.elapsed() >= time);
        let outcome = replay.run(feed, None, &mut |progress| {
            watch.at(done - first + progress.operations);
            if disk::interrupted() || (over(start) && !shared) { Flow::Stop } else { Flow::Continue }
        })?;
        if !disk::interrupted() || !shared {
            self.target().sync()?;
        }
        let parts = self.ranks.gather(Part::of(replay.failures()))?;
        self.failures = parts.failures;
        if parts.interrupted && shared {
            return Err(Error::Interrupted(format!(
                "the ranks stopped early; at least {done} operations of {} are applied and on disk; continue \
                 with the same command and --resume",
                self.spec.name
            )));
        }
        let segment = self.manifest.segments.last_mut().expect("an aging has at least one segment");
        segment.done += outcome.operations;
        self.manifest.redo_to = segment.done;
        self.manifest.save(&self.spec.work)?;
        if disk::interrupted() {
            return Err(Error::Interrupted(format!(
                "{} operations of {} are applied and on disk; continue with the same command and --resume",
                self.segment().done,
                self.spec.name
            )));
        }
        Ok(match outcome.stop_reason {
            StopReason::Full => Some(Some(StoppedBy::Full)),
            StopReason::Cancelled => Some(Some(StoppedBy::Time)),
            StopReason::OperationLimit | StopReason::EndOfSource => {
                if self.spec.fit.is_some_and(|fit| feed.planner.stats().p_value() >= fit) {
                    Some(Some(StoppedBy::Fit))
                } else if outcome.operations < size {
                    Some(None)
                } else if over(start) {
                    Some(Some(StoppedBy::Time))
                } else {
                    None
                }
            }
        })
    }

    fn segment(&self) -> &workload::Segment {
        self.manifest.segments.last().expect("an aging has at least one segment")
    }

    /// The reached state and digest, if the replay ended before the operations that the planner had issued.
    fn retrace(&self) -> Result<(workload::AgingStats, TraceDigest), Error> {
        let mut digest = TraceDigest::new();
        let planner = resume::last_segment(&self.manifest.segments, &mut digest, None)?;
        let mut feed = Feed::new(planner, &mut digest, None);
        feed.skip(self.segment().done)?;
        let reached = feed.planner.stats();
        drop(feed);
        Ok((reached, digest))
    }

    /// Fills the live files in place. Returns the seconds it took.
    fn fill(&mut self, watch: &mut dyn Watch) -> Result<f64, Error> {
        self.manifest.stage = Stage::Filling;
        self.manifest.save(&self.spec.work)?;
        let start = Instant::now();
        let root = self.target().root().to_owned();
        let threads = self.spec.threads()?;
        watch.phase("filling", None);
        self.ranks.broadcast(&Next::Fill)?;
        let shard = self.ranks.shard();
        let filled = replay::fill_shard(&root, self.spec.conditions.seed, threads, shard, &mut |bytes| {
            watch.at(bytes);
            if disk::interrupted() { Flow::Stop } else { Flow::Continue }
        })?;
        let filled = self.ranks.gather(Part { errors: filled.errors, ..Part::of(&[]) })?;
        if filled.interrupted {
            let name = &self.spec.name;
            return Err(Error::Interrupted(format!("{name} is aged but not filled; fill it with --resume")));
        }
        if filled.errors > 0 {
            return Err(Error::Failed(format!(
                "{} files could not be filled with data; check the free space where the image is stored",
                filled.errors
            )));
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Runs the checker of the file system.
    fn check(&mut self, watch: &mut dyn Watch) -> Result<Option<bool>, Error> {
        watch.phase("checking", None);
        let Some(check) = self.target().check()? else { return Ok(None) };
        if !check.clean {
            let last = check.output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no output");
            return Err(Error::Failed(format!(
                "{} reports that the aged file system is damaged: {last}",
                check.command
            )));
        }
        Ok(Some(true))
    }
}

fn measurements(aged: &Aged) -> Vec<Measurement> {
    let one = |measure: Measure, value: f64| measure.once("", value);
    vec![
        one(measures::OPERATIONS, aged.operations as f64),
        one(measures::CREATIONS, aged.creations as f64),
        one(measures::DELETIONS, aged.deletions as f64),
        one(measures::OVERWRITES, aged.overwrites),
        one(measures::BOUND_OPERATIONS, aged.bound_operations as f64),
        one(measures::BOUND_OVERWRITES, aged.bound_overwrites),
        one(measures::AGE_RMS_ERROR, aged.age_rms_error),
        one(measures::SIZE_RMS_ERROR, aged.size_rms_error),
        one(measures::DEPTH_RMS_ERROR, aged.depth_rms_error),
        one(measures::FIT_P_VALUE, aged.fit_p_value),
        one(measures::OPERATIONS_PER_S, aged.operations_per_s),
        one(measures::REPLAY_S, aged.replay_s),
        one(measures::FILL_S, aged.fill_s),
        one(measures::LIVE_FILES, aged.live_files as f64),
        one(measures::FULLNESS, aged.fullness),
        one(measures::ERRORS, aged.errors as f64),
    ]
}
