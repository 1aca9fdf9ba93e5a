//! Ages one file system by a workload and keeps it for `compare` and the probes.

use crate::Error;
use crate::compare_runs::{CHECKPOINTS, CheckpointRun};
use crate::experiment::{CheckpointPair, CheckpointSide, SeriesKey, TreeAt, read_checkpoint, read_trees};
use crate::manifest::{AgedBy, Manifest, Stage};
use crate::series::{Identity, Schedule, Series};
use crate::work::Work;
use crate::workload::{Workload, unless_interrupted};
use disk::Session;
use disk::model::Model;
use fs::{Location, VolumeConfig};
use replay::{Data, OnFull};
use results::{NewRun, PartialResults, Store, Watch};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Parameters of an aging by a workload.
#[derive(Clone, Debug)]
pub struct AgeBySpec {
    /// Name of the aged file system in the work directory.
    pub name: String,
    /// The work directory.
    pub work: PathBuf,
    /// How the file system is made, and where.
    pub volume: VolumeConfig,
    /// The device that may be erased, as spelled by the user.
    pub erase: Option<String>,
    /// The workload.
    pub workload: Workload,
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub round: u64,
    /// Interval between measurements, in rounds, aged and unaged; without it nothing is measured.
    pub every: Option<u64>,
    /// Cold scans of each side.
    pub repeat: u64,
    /// Disk models used to compute the cost of the scans.
    pub disks: Vec<String>,
    /// Whether to continue an earlier aging: checkpoints are reused, the aging itself is repeated.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

/// The result of an aging by a workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgedByWorkload {
    /// Name in the work directory.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Kind of the workload.
    pub workload: String,
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub round: u64,
    /// All sides of all checkpoints.
    pub checkpoints: Vec<CheckpointSide>,
    /// Pairs of aged and unaged sides.
    pub pairs: Vec<CheckpointPair>,
    /// The layout of the trees, for a file system that stores a tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeAt>,
    /// Whether the checker of the file system found no errors; `None` if it has no checker.
    pub checker_clean: Option<bool>,
}

/// Ages a file system by a workload.
pub fn age_by(spec: &AgeBySpec, watch: &mut dyn Watch) -> Result<AgedByWorkload, Error> {
    let models: Vec<Model> = spec.disks.iter().map(|disk| Model::find(disk)).collect::<Result<_, _>>()?;
    let schedule = schedule(spec);
    // A resumed aging may be complete, and its device no longer present.
    if !spec.resume {
        crate::volume::check(&spec.volume, spec.erase.as_deref(), true)?;
    }
    spec.workload.check(spec.seed, &schedule.rounds)?;
    let mut volume = spec.volume.clone();
    if let Some(kind) = volume.kind()? {
        fs::ready(kind)?;
        let room = spec.workload.inodes()?.map(|inodes| kind.mkfs_opts_for_inodes(volume.size_bytes, inodes));
        volume.plan_mkfs_opts = room.unwrap_or_default();
    }
    let work = Work::take(&spec.work)?;
    let mut manifest = begin(spec, volume)?;
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
    let recorded = &mut store.record_progress(watch);
    // If the partial outcome fails, the final one reports the error.
    let watch = &mut PartialResults::new(recorded, || drop::<Result<_, Error>>(gathered(None)));
    let mut series = Series {
        session: &session,
        store: &store,
        identity: &identity,
        command: &spec.command,
        work: &spec.work,
        volume: manifest.volume.clone(),
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
    let volume = series.volume;
    let aged = unless_interrupted(aged);
    if aged.is_err() {
        store.end_with(manifest.run(), &aged)?;
        // A half-aged file system is useless: the measurements are in the store, and the next aging starts over.
        volume.location.remove_incomplete()?;
        let path = Manifest::path(&spec.work, &spec.name);
        std::fs::remove_file(&path).map_err(Error::io("removing", &path))?;
    }
    let (checker_clean, (mkfs, fs_version)) = aged?;
    manifest = Manifest { volume, mkfs, fs_version, stage: Stage::Done, ..manifest };
    manifest.save(&spec.work)?;
    store.record_document(manifest.run(), "", "manifest", &manifest)?;
    let outcome = gathered(checker_clean)?;
    store.end(manifest.run(), "done", None)?;
    Ok(outcome)
}

/// The measurements so far, and the runs that hold them.
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
        fs: spec.volume.fs.clone(),
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
            // The unaged copy of a device is an image.
            let one_disk = !matches!(spec.volume.location, Location::Device(_));
            let key = SeriesKey { fs: &spec.volume.fs, option: "", seed: spec.seed, one_disk };
            let (sides, pairs) = read_checkpoint(store, run, key, at.number(), &disks)?;
            outcome.checkpoints.extend(sides);
            outcome.pairs.extend(pairs);
            outcome.trees.extend(read_trees(store, run, key, at.number())?);
            runs.push(CheckpointRun { at: format!("round {}", at.number()), run: store.uid(run)? });
        }
    }
    Ok((outcome, runs))
}

/// The document that holds the outcome of an aging.
const OUTCOME: &str = "outcome";

/// The outcome of an earlier aging with the same parameters, if it completed and its file system still exists.
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

/// Whether the manifest is the leftover of a killed aging by a workload.
fn is_half_made(manifest: &Manifest) -> bool {
    manifest.stage == Stage::Making && manifest.aged_by.is_some()
}

/// Refuses to age an aged file system again.
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

/// Everything that the result depends on.
fn parameters(spec: &AgeBySpec, manifest: &Manifest) -> serde_json::Value {
    serde_json::json!({
        "made": manifest.volume,
        "aged_by": manifest.aged_by,
        "every": spec.every,
        "repeat": spec.repeat,
        "disks": spec.disks,
    })
}

/// The manifest of a new aging. Removes the half-made file system of a killed one.
fn begin(spec: &AgeBySpec, volume: VolumeConfig) -> Result<Manifest, Error> {
    if let Some(earlier) = Manifest::load(&spec.work, &spec.name)?
        && is_half_made(&earlier)
    {
        earlier.volume.location.remove_incomplete()?;
    }
    Ok(Manifest {
        version: Manifest::version(),
        name: spec.name.clone(),
        volume,
        mkfs: None,
        fs_version: String::new(),
        data: Data::Write,
        on_full: OnFull::Stop,
        fill: true,
        segments: Vec::new(),
        aged_by: Some(AgedBy { workload: spec.workload.clone(), seed: spec.seed, round: spec.round }),
        redo_to: 0,
        stage: Stage::Making,
        run: 0,
    })
}

/// Identifies the checkpoints in the store.
fn identity(spec: &AgeBySpec) -> Identity {
    let parameters = serde_json::json!({
        "made": spec.volume,
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
