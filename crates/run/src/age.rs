//! Ages a file system: make, work in rounds, measure between rounds, check.

mod begin;
mod expected;
mod outcome;
mod plan_only;
mod profile_result;
mod spec;

pub use expected::ExpectedTime;
pub use outcome::{Aged, RoundsResult};
pub use plan_only::{Planned, plan_only};
pub use profile_result::ProfileResult;
pub use spec::{AgeSpec, MeasureRounds};

use crate::error::unless_interrupted;
use crate::manifest::{Manifest, Stage};
use crate::series::{Identity, Schedule, Series};
use crate::work::Work;
use crate::{Error, messages, space, volume};
use begin::Begun;
use disk::Session;
use disk::model::Model;
use fs::Target;
use ranks::{Alone, Group};
use results::{NewRun, PartialResults, Store, Watch};
use std::sync::Arc;
use workload::profile::ProfileOutcome;
use workload::{Driver, ResumePoint, Start};

/// Ages a file system.
pub fn age(spec: &AgeSpec, watch: &mut dyn Watch) -> Result<Aged, Error> {
    age_among(spec, &mut Alone, watch)
}

/// Ages as rank 0 of a group, whose other ranks [follow](workload::profile::follow). After an error the other ranks keep waiting.
pub fn age_among(spec: &AgeSpec, group: &mut dyn Group, watch: &mut dyn Watch) -> Result<Aged, Error> {
    age_in(&Work::take(&spec.work)?, spec, group, watch)
}

/// Like [`age_among`], in a work directory that is already taken.
pub(crate) fn age_in(
    work: &Work,
    spec: &AgeSpec,
    group: &mut dyn Group,
    watch: &mut dyn Watch,
) -> Result<Aged, Error> {
    let (schedule, models) = (spec.schedule(), spec.models()?);
    let store = work.store()?;
    let mut manifest = match begin::begin(spec, &store)? {
        Begun::Done(aged) => return Ok(*aged),
        Begun::Incomplete(manifest) => *manifest,
    };
    volume::check(&manifest.volume, spec.erase.as_deref(), manifest.stage == Stage::Making)?;
    spec.workload.check(spec.seed, &schedule.rounds)?;
    let session = Session::begin()?;
    let driver = spec.workload.start(&Start {
        seed: spec.seed,
        last_round: spec.round,
        volume: &spec.volume,
        work: &spec.work,
        session: &session,
        terms: &spec.terms()?,
        segments: &manifest.segments,
        redo_to: manifest.redo_to,
        tool: results::TOOL,
    })?;
    plan(spec, &mut manifest, driver.as_ref(), watch)?;
    let identity = &spec.identity();
    let aging = Aging { spec, identity, schedule, models, work, store: &store, session: &session };
    aging.record(manifest, driver, group, watch)
}

/// Reports the plan, and refuses what would not fit. Prepares a new file system for the files of the workload.
fn plan(
    spec: &AgeSpec,
    manifest: &mut Manifest,
    driver: &dyn Driver,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let fresh = manifest.stage == Stage::Making;
    let inodes = match (driver.plan(), manifest.conditions()) {
        (Some(plan), Some(conditions)) => {
            messages::plan(plan, conditions, watch);
            let already_bytes = if fresh { 0 } else { spec.volume.location.allocated_bytes() };
            space::check_written(&spec.volume, plan, conditions.overwrites)?;
            space::check(&spec.volume, plan, spec.data(), spec.fill, already_bytes)?;
            Some(plan.live_files + plan.directories)
        }
        _ => spec.workload.inodes()?,
    };
    if let (true, Some(kind), Some(inodes)) = (fresh, spec.volume.kind()?, inodes) {
        manifest.volume.plan_mkfs_opts = kind.mkfs_opts_for_inodes(spec.volume.size_bytes, inodes);
    }
    Ok(())
}

/// An aging to run.
struct Aging<'a> {
    spec: &'a AgeSpec,
    /// Identifies the measured rounds.
    identity: &'a Identity,
    schedule: Schedule,
    models: Vec<Model>,
    work: &'a Work,
    store: &'a Store,
    session: &'a Arc<Session>,
}

impl Aging<'_> {
    /// Ages, and records the aging as a run.
    fn record(
        &self,
        mut manifest: Manifest,
        driver: Box<dyn Driver>,
        group: &mut dyn Group,
        watch: &mut dyn Watch,
    ) -> Result<Aged, Error> {
        let (spec, store) = (self.spec, self.store);
        if !spec.resume {
            self.identity.forget(store, &self.schedule)?;
        }
        let run = store.begin(&NewRun {
            kind: "age",
            name: &spec.name,
            command: &spec.command,
            seed: Some(spec.seed),
            parameters: spec.parameters(&manifest.volume, group.ranks()),
        })?;
        manifest.run = run.0;
        let rounds = |checker_clean| {
            let (rounds, runs) = outcome::read(self, checker_clean)?;
            rounds.record(store, run, &runs)?;
            Ok::<_, Error>(rounds)
        };
        let watch = &mut store.record_progress(watch);
        // If the partial outcome fails, the final one reports the error.
        let watch = &mut PartialResults::new(watch, || drop(rounds(None)));
        let target = self.open(&mut manifest);
        let opened = target.is_ok();
        let result = unless_interrupted(target.and_then(|target| {
            self.work.keep();
            self.run(&mut manifest, target, driver, group, watch)
        }));
        let result = result.map_err(|error| manifest.continued(error)).and_then(|(outcome, clean)| {
            store.record_document(run, "", "manifest", &manifest)?;
            let profile = outcome.map(|outcome| ProfileResult::new(spec, outcome, clean));
            profile.as_ref().map_or(Ok(()), |profile| profile.record(store, run))?;
            Ok(Aged { profile, rounds: rounds(clean)? })
        });
        store.end_with(run, &result)?;
        if result.is_err() && manifest.stage == Stage::Making {
            // A half-aged file system is useless: the measurements are in the store, and the next aging starts over. What could not be made is
            // removed already, and what was in its place is not ours.
            if opened {
                manifest.volume.location.remove_incomplete()?;
            }
            manifest.remove(&spec.work)?;
        }
        result
    }

    /// Ages and checks a file system. Returns what an aging by a profile reached, and whether the checker found no errors.
    fn run(
        &self,
        manifest: &mut Manifest,
        target: Box<dyn Target>,
        driver: Box<dyn Driver>,
        group: &mut dyn Group,
        watch: &mut dyn Watch,
    ) -> Result<(Option<ProfileOutcome>, Option<bool>), Error> {
        let spec = self.spec;
        let mut series = Series {
            session: self.session,
            store: self.store,
            identity: self.identity,
            command: &spec.command,
            work: &spec.work,
            volume: manifest.volume.clone(),
            erase: spec.erase.as_deref(),
            seed: spec.seed,
            schedule: &self.schedule,
            models: &self.models,
            one_cpu: group.ranks() == 1 && spec.terms()?.threads == 1,
            group,
            watch: &mut *watch,
            save: &mut |point: &ResumePoint| manifest.save_point(&spec.work, point),
        };
        let (mut target, outcome) = series.age(driver, target)?;
        manifest.volume = series.volume;
        let clean = check(target.as_mut(), watch)?;
        messages::failed_requests(target.as_ref(), watch)?;
        manifest.mkfs = target.mkfs_command().or(manifest.mkfs.take());
        manifest.fs_version = target.version();
        target.close()?;
        manifest.stage = Stage::Done;
        manifest.save(&spec.work)?;
        Ok((outcome, clean))
    }

    /// Makes the file system, or opens that of an earlier run. The manifest is saved before, so that a half-made file system of a killed run is
    /// recognized as ours.
    fn open(&self, manifest: &mut Manifest) -> Result<Box<dyn Target>, Error> {
        if manifest.stage != Stage::Making {
            return Ok(fs::open(self.session, &manifest.volume)?);
        }
        manifest.save(&self.spec.work)?;
        let target = fs::make(self.session, &mut manifest.volume, self.spec.erase.as_deref())?;
        manifest.mkfs = target.mkfs_command();
        manifest.fs_version = target.version();
        if self.spec.workload.as_profile().is_some() {
            manifest.stage = Stage::Replaying;
        }
        manifest.save(&self.spec.work)?;
        Ok(target)
    }
}

/// Runs the checker of the file system. Returns whether it found no errors; `None` without a checker.
fn check(target: &mut dyn Target, watch: &mut dyn Watch) -> Result<Option<bool>, Error> {
    watch.phase("checking", None);
    let Some(check) = target.check()? else { return Ok(None) };
    if !check.clean {
        let last = check.output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no output");
        return Err(Error::Failed(format!(
            "{} reports that the aged file system is damaged: {last}",
            check.command
        )));
    }
    Ok(Some(true))
}
