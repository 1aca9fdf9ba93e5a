//! Ages one file system by a workload and keeps it: what `compare` and the probes then measure.

use crate::Error;
use crate::compare_runs::{CHECKPOINTS, CheckpointRun};
use crate::experiment::{CheckpointPair, CheckpointSide, SeriesKey, TreeAt, read_checkpoint, read_trees};
use crate::manifest::{AgedBy, Home, Made, Manifest, Stage};
use crate::series::{Identity, Schedule, Series};
use crate::work::Work;
use crate::workload::{Workload, unless_interrupted};
use disk::Session;
use disk::model::Model;
use replay::{Data, OnFull};
use results::{NewRun, PartialResults, Store, Watch};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an aging by a workload is asked to be.
#[derive(Clone, Debug)]
pub struct AgeBySpec {
    /// Name of the aged file system in the work directory.
    pub name: String,
    /// The work directory.
    pub work: PathBuf,
    /// How the file system is made, and where.
    pub made: Made,
    /// The device that may be erased, spelt as its user spelt it.
    pub erase: Option<String>,
    /// The workload.
    pub workload: Workload,
    /// What all that is random is drawn from.
    pub seed: u64,
    /// The last round.
    pub round: u64,
    /// Measured after every so many rounds, aged and unaged; only aged without measuring if none is given.
    pub every: Option<u64>,
    /// Cold scans of each side.
    pub repeat: u64,
    /// Models of disks that the scans are priced on.
    pub disks: Vec<String>,
    /// Whether an earlier aging goes on: what was measured is kept, the aging itself is done again.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

/// A file system, aged by a workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgedByWorkload {
    /// Name in the work directory.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Kind of the workload.
    pub workload: String,
    /// What all that is random was drawn from.
    pub seed: u64,
    /// The last round.
    pub round: u64,
    /// All sides of all checkpoints.
    pub checkpoints: Vec<CheckpointSide>,
    /// Aged and unaged side by side.
    pub pairs: Vec<CheckpointPair>,
    /// How the trees lay of a file system that is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeAt>,
    /// Whether the file system's own checker found no fault; `None` where there is none.
    pub checker_clean: Option<bool>,
}

/// Ages a file system as `spec` says.
pub fn age_by(spec: &AgeBySpec, watch: &mut dyn Watch) -> Result<AgedByWorkload, Error> {
    let models: Vec<Model> = spec.disks.iter().map(|disk| Model::find(disk)).collect::<Result<_, _>>()?;
    let schedule = schedule(spec);
    // What is resumed may be done, and its device be gone.
    if !spec.resume {
        spec.made.check(spec.erase.as_deref(), true)?;
    }
    spec.workload.check(spec.seed, &schedule.rounds)?;
    let mut made = spec.made.clone();
    if let Some(of) = made.spec()? {
        fs::ready(of.kind)?;
        let room = spec.workload.inodes()?.map(|inodes| of.kind.room_for(made.size_bytes, inodes));
        made.plan_mkfs_opts = room.unwrap_or_default();
    }
    let work = Work::take(&spec.work)?;
    let mut manifest = begin(spec, made)?;
    let store = work.store()?;
    let parameters = parameters(spec, &manifest);
    if spec.resume
        && let Some(aged) = done(spec, &store, &parameters)?
    {
        return Ok(aged);
    }
    refuse_aged(spec)?;
    let session = Session::begin()?;
    let identity = identity(spec);
    if !spec.resume {
        identity.forget(&store, &schedule)?;
    }
    manifest.run = store
        .begin(&NewRun {
            kind: "age",
            name: &spec.name,
            command: &spec.command,
            seed: Some(spec.seed),
            parameters,
        })?
        .0;
    manifest.save(&spec.work)?;
    work.keep();
    let run = manifest.run();
    let gathered = |checker_clean| {
        let (outcome, runs) = gather(spec, &store, &schedule, &models, checker_clean)?;
        store.record_document(run, "", CHECKPOINTS, &runs)?;
        store.record_document(run, "", OUTCOME, &outcome)?;
        Ok(outcome)
    };
    let noted = &mut store.noted(watch);
    // One that cannot be drawn up now is drawn up in the end, or says then why not.
    let watch = &mut PartialResults::new(noted, || drop::<Result<_, Error>>(gathered(None)));
    let mut series = Series {
        session: &session,
        store: &store,
        identity: &identity,
        command: &spec.command,
        work: &spec.work,
        made: manifest.made.clone(),
        erase: spec.erase.as_deref(),
        workload: &spec.workload,
        seed: spec.seed,
        schedule: &schedule,
        models: &models,
        watch,
    };
    let aged = series.age().and_then(|mut target| {
        let clean = match target.check()? {
            Some(check) if !check.clean => {
                return Err(Error::Failed(format!(
                    "{} reports that the aged file system is damaged",
                    check.command
                )));
            }
            check => check.map(|_| true),
        };
        let version = (target.mkfs_command(), target.version());
        target.close()?;
        Ok((clean, version))
    });
    let made = series.made;
    let aged = unless_interrupted(aged);
    if aged.is_err() {
        store.end_by(manifest.run(), &aged)?;
        // Half aged it is of no use: what was measured is in the store, and the next aging begins anew.
        made.home.remove_half_made()?;
        let path = Manifest::path(&spec.work, &spec.name);
        std::fs::remove_file(&path).map_err(Error::io("removing", &path))?;
    }
    let (checker_clean, (mkfs, fs_version)) = aged?;
    manifest = Manifest { made, mkfs, fs_version, stage: Stage::Done, ..manifest };
    manifest.save(&spec.work)?;
    store.record_document(manifest.run(), "", "manifest", &manifest)?;
    let outcome = gathered(checker_clean)?;
    store.end(manifest.run(), "done", None)?;
    Ok(outcome)
}

/// What has been measured so far, and the runs that hold it.
fn gather(
    spec: &AgeBySpec,
    store: &Store,
    schedule: &Schedule,
    models: &[Model],
    checker_clean: Option<bool>,
) -> Result<(AgedByWorkload, Vec<CheckpointRun>), Error> {
    let mut runs = Vec::new();
    let identity = identity(spec);
    let mut outcome = AgedByWorkload {
        name: spec.name.clone(),
        fs: spec.made.fs.clone(),
        workload: spec.workload.name().to_owned(),
        seed: spec.seed,
        round: spec.round,
        checkpoints: Vec::new(),
        pairs: Vec::new(),
        trees: Vec::new(),
        checker_clean,
    };
    let disks: Vec<String> = models.iter().map(|model| model.name().to_owned()).collect();
    for at in schedule.checkpoints() {
        if let Some(run) = identity.find(store, at)? {
            // The copy of what is on a device goes to an image.
            let one_disk = !matches!(spec.made.home, Home::Device(_));
            let key = SeriesKey { fs: &spec.made.fs, option: "", seed: spec.seed, one_disk };
            let (sides, pairs) = read_checkpoint(store, run, key, at.number(), &disks)?;
            outcome.checkpoints.extend(sides);
            outcome.pairs.extend(pairs);
            outcome.trees.extend(read_trees(store, run, key, at.number())?);
            runs.push(CheckpointRun { at: format!("round {}", at.number()), run: store.uid(run)? });
        }
    }
    Ok((outcome, runs))
}

/// The document that holds what an aging gave.
const OUTCOME: &str = "outcome";

/// What an aging that was asked for in the very same way gave, if it has been done and is still there.
fn done(
    spec: &AgeBySpec,
    store: &Store,
    parameters: &serde_json::Value,
) -> Result<Option<AgedByWorkload>, Error> {
    let Some(run) = store.last_done("age", &spec.name, parameters)? else { return Ok(None) };
    let there = Manifest::load(&spec.work, &spec.name)?;
    match there.is_some_and(|manifest| manifest.stage == Stage::Done && manifest.run() == run) {
        true => Ok(store.document(run, "", OUTCOME)?),
        false => Ok(None),
    }
}

/// Whether it is what a killed aging by a workload left.
fn is_half_made(manifest: &Manifest) -> bool {
    manifest.stage == Stage::Making && manifest.aged_by.is_some()
}

/// Refuses to age what has been aged.
fn refuse_aged(spec: &AgeBySpec) -> Result<(), Error> {
    let (name, work) = (&spec.name, spec.work.display());
    match Manifest::load(&spec.work, name)? {
        None => Ok(()),
        Some(earlier) if is_half_made(&earlier) => Ok(()),
        Some(_) if spec.resume => Err(Error::Refused(format!(
            "{name} was already aged in {work} with other options; repeat these to see its results, or \
             choose another --name or --work"
        ))),
        Some(_) => {
            Err(Error::Refused(format!("{name} was already aged in {work}; choose another --name or --work")))
        }
    }
}

/// All that the result depends on.
fn parameters(spec: &AgeBySpec, manifest: &Manifest) -> serde_json::Value {
    serde_json::json!({
        "made": manifest.made,
        "aged_by": manifest.aged_by,
        "every": spec.every,
        "repeat": spec.repeat,
        "disks": spec.disks,
    })
}

/// The manifest of an aging that begins; what a killed one left half made is removed.
fn begin(spec: &AgeBySpec, made: Made) -> Result<Manifest, Error> {
    if let Some(earlier) = Manifest::load(&spec.work, &spec.name)?
        && is_half_made(&earlier)
    {
        earlier.made.home.remove_half_made()?;
    }
    Ok(Manifest {
        version: Manifest::version(),
        name: spec.name.clone(),
        made,
        mkfs: None,
        fs_version: String::new(),
        data: Data::Write,
        on_full: OnFull::Stop,
        fill: true,
        legs: Vec::new(),
        aged_by: Some(AgedBy { workload: spec.workload.clone(), seed: spec.seed, round: spec.round }),
        redo_to: 0,
        stage: Stage::Making,
        run: 0,
    })
}

/// What the checkpoints are known by.
fn identity(spec: &AgeBySpec) -> Identity {
    let parameters = serde_json::json!({
        "made": spec.made,
        "workload": spec.workload,
        "seed": spec.seed,
        "repeat": spec.repeat,
        "disks": spec.disks,
    });
    Identity { name: spec.name.clone(), parameters }
}

fn schedule(spec: &AgeBySpec) -> Schedule {
    let every = spec.every.unwrap_or(spec.round).max(1);
    let mut rounds: Vec<u64> = (1..spec.round.div_ceil(every)).map(|n| n * every).collect();
    rounds.push(spec.round);
    let measured = if spec.every.is_some() { rounds.clone() } else { Vec::new() };
    Schedule {
        rounds,
        measured,
        repeat: spec.repeat,
        unaged: true,
        pictures: Vec::new(),
        memory_bytes: Vec::new(),
    }
}
