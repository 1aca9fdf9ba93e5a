//! Runs an experiment: cell after cell, each on file systems of its own in images; what fails is named, and the rest goes
//! on.

use super::cell::{Cell, cells};
use super::check::check;
use super::outcome::{FailedCell, Of, Outcome, Picture, read_checkpoint};
use super::spec::{Experiment, Scale};
use super::transfer;
use crate::compare::SUBJECTS;
use crate::series::{At, Identity, PICTURE, Schedule, Series};
use crate::store::{NewRun, Store};
use crate::work::Work;
use crate::{Error, Watch};
use disk::model::Model;
use disk::{Entry, MARKER, Session};
use probe::FileMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The experiment.
    pub experiment: Experiment,
    /// Its scale.
    pub scale: String,
    /// The work directory.
    pub work: PathBuf,
    /// Whether checkpoints that are in the store are taken from there.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

/// Runs an experiment. Each number is in the store as soon as it is known.
pub fn run(spec: &RunSpec, watch: &mut dyn Watch) -> Result<Outcome, Error> {
    let experiment = &spec.experiment;
    let scale = experiment.at(&spec.scale)?;
    let models: Vec<Model> =
        experiment.disks.iter().map(|disk| Model::find(disk)).collect::<Result<_, _>>()?;
    let all = cells(experiment, scale)?;
    for fs in &experiment.fs {
        fs::ready(fs::find(fs)?)?;
    }
    let work = Work::take(&spec.work)?;
    let store = work.store()?;
    work.keep();
    let session = Session::begin()?;
    let mut failed = Vec::new();
    if experiment.fs.is_empty() {
        disks_alone(spec, scale, &models, &store, &session, watch)?;
    }
    let start = Instant::now();
    for (at, cell) in all.iter().enumerate() {
        let (figure, of) = (&experiment.figure, all.len());
        // Cells take about as long as each other.
        let left_s = start.elapsed().as_secs_f64() / at as f64 * (of - at) as f64;
        let eta = if at == 0 { String::new() } else { format!(", about {left_s:.0} s left") };
        watch.say(&format!("== {figure} {}: {} ({} of {of}{eta})", spec.scale, cell.name, at + 1));
        match run_cell(spec, scale, cell, &models, &store, &session, watch) {
            Err(e @ Error::Interrupted(_)) => return Err(e),
            Err(e) => {
                watch.say(&format!("{} failed: {e}", cell.name));
                failed.push(FailedCell { cell: cell.name.clone(), why: e.to_string() });
            }
            Ok(()) => {}
        }
    }
    let outcome = outcome(spec, &store, &all, &models, failed)?;
    let run = store.begin(&NewRun {
        kind: "experiment",
        name: &experiment.figure,
        command: &spec.command,
        seed: None,
        parameters: serde_json::json!({ "scale": spec.scale, "experiment": experiment }),
    })?;
    store.record_document(run, "", "outcome", &outcome)?;
    store.end(run, "done", None)?;
    Ok(outcome)
}

fn run_cell(
    spec: &RunSpec,
    scale: &Scale,
    cell: &Cell,
    models: &[Model],
    store: &Store,
    session: &Arc<Session>,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let identity = identity(spec, scale, cell);
    let schedule = schedule(scale);
    if !spec.resume {
        identity.forget(store, &schedule)?;
    }
    let images = Images::make(session, &spec.work, scale.size_bytes)?;
    let mut series = Series {
        session,
        store,
        identity: &identity,
        command: &spec.command,
        work: &spec.work,
        made: cell.made(scale.size_bytes, images.path().join("aged.img"))?,
        erase: None,
        workload: &cell.workload,
        seed: cell.seed,
        schedule: &schedule,
        models,
        watch,
    };
    series.run()
}

/// Measures disks without a file system.
fn disks_alone(
    spec: &RunSpec,
    scale: &Scale,
    models: &[Model],
    store: &Store,
    session: &Arc<Session>,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    for &seed in &scale.seeds {
        for (disk, model) in spec.experiment.disks.iter().zip(models) {
            if !spec.resume {
                transfer::identity(spec, scale, model.name(), seed).forget(store, &schedule(scale))?;
            }
            let images = Images::make(session, &spec.work, scale.size_bytes)?;
            let images = images.path();
            transfer::Alone { spec, scale, store, session, images, watch }.measure(disk, model, seed)?;
        }
    }
    Ok(())
}

fn schedule(scale: &Scale) -> Schedule {
    Schedule {
        rounds: scale.rounds.clone(),
        // Where memory is what differs, it is the axis, and the rounds only lead there.
        measured: if scale.memory_bytes.is_empty() { scale.rounds.clone() } else { Vec::new() },
        repeat: scale.repeat,
        unaged: scale.unaged,
        pictures: scale.pictures.clone(),
        memory_bytes: scale.memory_bytes.clone(),
    }
}

/// What the checkpoints of a cell are known by.
fn identity(spec: &RunSpec, scale: &Scale, cell: &Cell) -> Identity {
    let parameters = serde_json::json!({
        "figure": spec.experiment.figure,
        "scale": spec.scale,
        "fs": cell.fs,
        "option": cell.variant,
        "seed": cell.seed,
        "workload": cell.workload,
        "size_bytes": scale.size_bytes,
        "repeat": scale.repeat,
        "unaged": scale.unaged,
        "disks": spec.experiment.disks,
    });
    Identity { name: cell.name.clone(), parameters }
}

/// Reads everything back and judges it.
fn outcome(
    spec: &RunSpec,
    store: &Store,
    all: &[Cell],
    models: &[Model],
    failed: Vec<FailedCell>,
) -> Result<Outcome, Error> {
    let experiment = &spec.experiment;
    let disks: Vec<String> = models.iter().map(|model| model.name().to_owned()).collect();
    let scale = experiment.at(&spec.scale)?;
    let mut outcome = Outcome {
        figure: experiment.figure.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        scale: spec.scale.clone(),
        checks: Vec::new(),
        checkpoints: Vec::new(),
        pairs: Vec::new(),
        pictures: Vec::new(),
        failed,
        round: experiment.round.clone(),
        plots: experiment.plot.clone(),
    };
    let alone = if experiment.fs.is_empty() { &disks[..] } else { &[] };
    for (disk, seed) in alone.iter().flat_map(|disk| scale.seeds.iter().map(move |seed| (disk, *seed))) {
        let identity = transfer::identity(spec, scale, disk, seed);
        let of = Of { fs: "", option: "", seed, one_disk: true };
        for &size in &scale.rounds {
            if let Some(run) = identity.find(store, At::Round(size))? {
                let disks = std::slice::from_ref(disk);
                outcome.checkpoints.extend(read_checkpoint(store, run, of, size, disks)?.0);
            }
        }
    }
    for cell in all {
        let identity = identity(spec, scale, cell);
        for at in schedule(scale).checkpoints() {
            let round = at.number();
            if let Some(run) = identity.find(store, at)? {
                let (fs, option) = (&cell.fs, &cell.variant.name);
                let of = Of { fs, option, seed: cell.seed, one_disk: true };
                let (sides, pairs) = read_checkpoint(store, run, of, round, &disks)?;
                outcome.checkpoints.extend(sides);
                outcome.pairs.extend(pairs);
                let files: Option<Vec<FileMap>> = store.document(run, SUBJECTS[0], PICTURE)?;
                outcome.pictures.extend(files.map(|files| Picture {
                    fs: fs.clone(),
                    option: option.clone(),
                    round,
                    files,
                }));
            }
        }
    }
    outcome.checks = experiment.check.iter().flat_map(|claim| check(claim, &outcome)).collect();
    Ok(outcome)
}

/// A directory for the images of a cell, which goes with it.
struct Images {
    path: PathBuf,
    _recorded: disk::Recorded,
}

impl Images {
    /// In memory if there is room for both sides, else in the work directory.
    fn make(session: &Arc<Session>, work: &Path, size_bytes: u64) -> Result<Images, Error> {
        let memory = Path::new("/dev/shm");
        let room = |dir: &Path| disk::free_bytes(dir).is_ok_and(|free| free > 3 * size_bytes);
        let absolute = std::path::absolute(work).map_err(Error::io("finding", work))?;
        let parent = if memory.is_dir() && room(memory) { memory } else { &absolute };
        let path = parent.join(format!(".senesce-cell-{}", std::process::id()));
        let recorded = session.record(Entry::Directory { path: path.clone() })?;
        std::fs::create_dir(&path).map_err(Error::io("making", &path))?;
        let images = Images { path, _recorded: recorded };
        let marker = images.path.join(MARKER);
        std::fs::write(&marker, "").map_err(Error::io("writing", &marker))?;
        Ok(images)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        // What cannot be removed now is named by the journal, and `cleanup` removes it.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
