//! The jobs of a run, with all checks that are possible before anything is created.

use super::cell::{Cell, cells};
use super::laboratory::Laboratory;
use super::line::Line;
use super::metadata::Metadata;
use super::personality::OnAged;
use super::profiled::Profiled;
use super::run::RunSpec;
use super::spec::Scale;
use super::verification::Verification;
use crate::Error;
use crate::series::{Identity, Schedule};
use disk::model::Model;
use results::Machine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::Workload;

/// The plan of a run, ready to execute.
pub struct Plan<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) scale: &'a Scale,
    pub(super) schedule: Schedule,
    /// The disks used to compute the cost of scans.
    pub(super) models: Vec<Model>,
    pub(super) jobs: Vec<Job>,
    /// Why block requests cannot be traced here, if they cannot.
    pub(super) untraced: Option<String>,
}

/// A part of the plan that fails or succeeds independently.
pub(super) struct Job {
    /// Identifies its checkpoints in the store.
    pub identity: Identity,
    pub work: Work,
}

/// The subject of a job.
pub(super) enum Work {
    /// A file system to age.
    Cell(Cell<Arc<dyn Workload>>),
    /// A file system on a disk that runs the metadata benchmark.
    Metadata {
        cell: Box<Cell<Metadata>>,
        /// Its name in the experiment.
        named: String,
        model: Model,
    },
    /// A simulated file system.
    Laboratory(Cell<Laboratory>),
    /// A real file system and one with a replay of its snapshots.
    Verification(Cell<Verification>),
    /// A file system that is aged and runs a personality.
    Personality(Cell<OnAged>),
    /// A file system aged by a profile; the aging itself is measured.
    Profiled(Cell<Profiled>),
    /// A disk alone.
    Disk {
        /// Its name in the experiment.
        named: String,
        model: Model,
        seed: u64,
    },
}

impl Job {
    /// The name of the job.
    pub fn name(&self) -> &str {
        &self.identity.name
    }
}

impl<'a> Plan<'a> {
    /// Plans a run, or refuses it.
    pub(super) fn new(spec: &'a RunSpec) -> Result<Plan<'a>, Error> {
        let experiment = &spec.experiment;
        let scale = experiment.at(&spec.scale)?;
        let models: Vec<Model> =
            experiment.disks.iter().map(|disk| Model::find(disk)).collect::<Result<_, _>>()?;
        for check in &experiment.check {
            let mut named = check.disks.iter().chain(&check.rule.over_disks);
            if let Some(unknown) = named.find(|disk| !models.iter().any(|m| m.name() == *disk)) {
                let names = models.iter().map(Model::name).collect::<Vec<_>>().join(", ");
                let why = format!(
                    "the claim {:?} names the disk {unknown:?}, which is not measured; measured: {names}",
                    check.claim
                );
                return Err(Error::Refused(why));
            }
        }
        let schedule = Schedule {
            rounds: scale.rounds.clone(),
            // With memory limits, the memory is the axis, and only the last round is measured: cold, to compare warm scans with.
            measured: if scale.memory_bytes.is_empty() { scale.rounds.clone() } else { vec![scale.last()] },
            repeat: scale.repeat,
            unaged: scale.unaged,
            pictures: scale.pictures.clone(),
            memory_bytes: scale.memory_bytes.clone(),
        };
        let jobs = match experiment.fs.as_slice() {
            [] => disks(spec, scale, &models),
            _ if scale.is_metadata() => metadata(spec, scale, &models)?,
            _ if scale.is_laboratory() => laboratory(spec, scale, &models)?,
            _ if scale.is_verification() => verification(spec, scale)?,
            _ if scale.is_personality() => personality(spec, scale, &models)?,
            _ if scale.is_profiled() => profiled(spec, scale)?,
            _ => file_systems(spec, scale, &models)?,
        };
        // Only aging cells use block requests.
        let ages = jobs.iter().any(|job| matches!(job.work, Work::Cell(_)));
        let untraced = probe::blocktrace::available().err().filter(|_| ages);
        Ok(Plan { spec, scale, schedule, models, jobs, untraced })
    }

    /// The lines of the figure.
    pub(super) fn lines(&self) -> Vec<Line> {
        let of = |job: &Job| {
            let line = |fs: &str, option: &str, disk: &str, seed| {
                let [fs, option, disk] = [fs, option, disk].map(str::to_owned);
                Line { fs, disk, option, seed, cell: job.name().to_owned() }
            };
            let on_each = |fs: &str, option: &str, seed| {
                self.models.iter().map(|model| line(fs, option, model.name(), seed)).collect()
            };
            match &job.work {
                Work::Disk { model, seed, .. } => vec![line("", "", model.name(), *seed)],
                Work::Metadata { cell, model, .. } => {
                    vec![line(&cell.fs, &cell.variant.name, model.name(), cell.seed)]
                }
                Work::Cell(cell) => on_each(&cell.fs, &cell.variant.name, cell.seed),
                Work::Laboratory(cell) => on_each(&cell.fs, &cell.variant.name, cell.seed),
                Work::Profiled(cell) => on_each(&cell.fs, &cell.variant.name, cell.seed),
                Work::Verification(cell) => on_each(&cell.fs, &cell.variant.name, cell.seed),
                Work::Personality(cell) => on_each(&cell.fs, &cell.variant.name, cell.seed),
            }
        };
        self.jobs.iter().flat_map(of).collect()
    }
}

fn disks(spec: &RunSpec, scale: &Scale, models: &[Model]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &seed in &scale.seeds {
        for (named, model) in spec.experiment.disks.iter().zip(models) {
            let name = match scale.seeds.len() {
                1 => model.name().to_owned(),
                _ => format!("{}, seed {seed}", model.name()),
            };
            let parameters = json!({
                "figure": spec.experiment.figure,
                "scale": spec.scale,
                "disk": model,
                "seed": seed,
                "size_bytes": scale.size_bytes,
                "reads": scale.transfer_reads,
                "rounds": scale.rounds,
                "kernel": Machine::this().kernel,
            });
            let (named, model) = (named.clone(), model.clone());
            jobs.push(Job {
                identity: Identity { name, parameters },
                work: Work::Disk { named, model, seed },
            });
        }
    }
    jobs
}

fn file_systems(spec: &RunSpec, scale: &Scale, models: &[Model]) -> Result<Vec<Job>, Error> {
    let cells = cells(&spec.experiment, scale, |variant| spec.experiment.workload(scale, variant))?;
    let versions = versions(spec)?;
    let mut jobs = Vec::new();
    for cell in cells {
        cell.task.check(cell.seed, &scale.rounds)?;
        let identity = identity(spec, scale, &cell, models, &versions[cell.fs.as_str()])?;
        jobs.push(Job { identity, work: Work::Cell(cell) });
    }
    Ok(jobs)
}

/// The versions of the programs of each file system, and of the kernel; an error if a file system cannot be created.
fn versions(spec: &RunSpec) -> Result<BTreeMap<&str, String>, Error> {
    let version = |fs: &String| -> Result<String, Error> {
        let kind = fs::find(fs)?;
        fs::ready(kind)?;
        Ok(kind.version())
    };
    spec.experiment.fs.iter().map(|fs| Ok((fs.as_str(), version(fs)?))).collect()
}

fn metadata(spec: &RunSpec, scale: &Scale, models: &[Model]) -> Result<Vec<Job>, Error> {
    let cells = cells(&spec.experiment, scale, |variant| spec.experiment.metadata(scale, variant))?;
    let versions = versions(spec)?;
    let mut jobs = Vec::new();
    for cell in cells {
        cell.task.check(cell.seed, &scale.rounds)?;
        for (named, model) in spec.experiment.disks.iter().zip(models) {
            let mut parameters = json!({
                "figure": spec.experiment.figure,
                "scale": spec.scale,
                "fs": cell.fs,
                "fs_version": versions[cell.fs.as_str()],
                "option": cell.variant,
                "seed": cell.seed,
                "metadata": cell.task,
                "size_bytes": scale.size_bytes,
                "disk": model,
            });
            if cell.task.processes.is_some() {
                // One run contains all repeats.
                parameters["last_round"] = Value::from(scale.last());
            }
            let name = format!("{}, {}", cell.name, model.name());
            let (cell, named, model) = (Box::new(cell.clone()), named.clone(), model.clone());
            let identity = Identity { name, parameters };
            jobs.push(Job { identity, work: Work::Metadata { cell, named, model } });
        }
    }
    Ok(jobs)
}

fn laboratory(spec: &RunSpec, scale: &Scale, models: &[Model]) -> Result<Vec<Job>, Error> {
    let cells = cells(&spec.experiment, scale, |variant| spec.experiment.laboratory(scale, variant))?;
    let mut jobs = Vec::new();
    for cell in cells {
        cell.task.check(&cell.fs, scale.size_bytes, &scale.rounds)?;
        let parameters = json!({
            "figure": spec.experiment.figure,
            "scale": spec.scale,
            "fs": cell.fs,
            "option": cell.variant,
            "seed": cell.seed,
            "laboratory": cell.task,
            "size_bytes": scale.size_bytes,
            "disks": models,
        });
        let identity = Identity { name: cell.name.clone(), parameters };
        jobs.push(Job { identity, work: Work::Laboratory(cell) });
    }
    Ok(jobs)
}

fn verification(spec: &RunSpec, scale: &Scale) -> Result<Vec<Job>, Error> {
    let cells = cells(&spec.experiment, scale, |variant| spec.experiment.verification(scale, variant))?;
    let versions = versions(spec)?;
    let mut jobs = Vec::new();
    for cell in cells {
        cell.task.check(&scale.rounds)?;
        let parameters = json!({
            "figure": spec.experiment.figure,
            "scale": spec.scale,
            "fs": cell.fs,
            "fs_version": versions[cell.fs.as_str()],
            "option": cell.variant,
            "seed": cell.seed,
            "verify": cell.task,
            "size_bytes": scale.size_bytes,
        });
        let identity = Identity { name: cell.name.clone(), parameters };
        jobs.push(Job { identity, work: Work::Verification(cell) });
    }
    Ok(jobs)
}

fn personality(spec: &RunSpec, scale: &Scale, models: &[Model]) -> Result<Vec<Job>, Error> {
    let cells = cells(&spec.experiment, scale, |variant| spec.experiment.personality(scale, variant))?;
    let versions = versions(spec)?;
    let mut jobs = Vec::new();
    for cell in cells {
        cell.task.check(scale.size_bytes, cell.seed)?;
        let parameters = json!({
            "figure": spec.experiment.figure,
            "scale": spec.scale,
            "fs": cell.fs,
            "fs_version": versions[cell.fs.as_str()],
            "option": cell.variant,
            "seed": cell.seed,
            "on_aged": cell.task,
            "personality": cell.task.personality()?,
            "profile": profile::load(&cell.task.profile)?,
            "size_bytes": scale.size_bytes,
            "repeat": scale.repeat,
            "unaged": scale.unaged,
            "disks": models,
        });
        let identity = Identity { name: cell.name.clone(), parameters };
        jobs.push(Job { identity, work: Work::Personality(cell) });
    }
    Ok(jobs)
}

fn profiled(spec: &RunSpec, scale: &Scale) -> Result<Vec<Job>, Error> {
    let cells = cells(&spec.experiment, scale, |variant| spec.experiment.profiled(scale, variant))?;
    let versions = versions(spec)?;
    let mut jobs = Vec::new();
    for cell in cells {
        cell.task.check(&scale.rounds)?;
        let parameters = json!({
            "figure": spec.experiment.figure,
            "scale": spec.scale,
            "fs": cell.fs,
            "fs_version": versions[cell.fs.as_str()],
            "option": cell.variant,
            "seed": cell.seed,
            "profile": cell.task,
            "size_bytes": scale.size_bytes,
            // All rounds belong to one aging.
            "rounds": scale.rounds,
        });
        let identity = Identity { name: cell.name.clone(), parameters };
        jobs.push(Job { identity, work: Work::Profiled(cell) });
    }
    Ok(jobs)
}

/// Identifies the checkpoints of a cell by everything that the measurements depend on, regardless of names. `version` is that of the
/// programs of the file system and of the kernel.
fn identity(
    spec: &RunSpec,
    scale: &Scale,
    cell: &Cell<Arc<dyn Workload>>,
    models: &[Model],
    version: &str,
) -> Result<Identity, Error> {
    let last = scale.last();
    let mut parameters = json!({
        "figure": spec.experiment.figure,
        "scale": spec.scale,
        "fs": cell.fs,
        "fs_version": version,
        "option": cell.variant,
        "seed": cell.seed,
        "workload": cell.task,
        "source": cell.task.fingerprint(last)?,
        "size_bytes": scale.size_bytes,
        "repeat": scale.repeat,
        "unaged": scale.unaged,
        "pictures": scale.pictures,
        "disks": models,
    });
    if !scale.memory_bytes.is_empty() {
        // With memory limits, the checkpoint does not name its round.
        parameters["last_round"] = Value::from(last);
    }
    Ok(Identity { name: cell.name.clone(), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    const TEXT: &str = r#"
figure = "it"
title = "it"
source = "a test"
fs = ["ext4"]
disks = ["hdd-7200"]
round = { label = "round" }
scale.small = { size_bytes = 400_000_000, rounds = [50], workload = { kind = "intrafile" } }
"#;

    /// The parameters of the only cell, with `from` replaced in the text.
    fn parameters(from: &str, to: &str) -> Value {
        assert!(TEXT.contains(from), "{from}");
        let experiment = Experiment::parse(&TEXT.replace(from, to), "it").unwrap();
        let spec = RunSpec {
            experiment,
            scale: "small".to_owned(),
            work: "work".into(),
            store: None,
            resume: true,
            apart: || unreachable!("nothing is run"),
            command: String::new(),
        };
        let scale = spec.experiment.at("small").unwrap();
        let models: Vec<Model> =
            spec.experiment.disks.iter().map(|disk| Model::find(disk).unwrap()).collect();
        let cells =
            cells(&spec.experiment, scale, |variant| spec.experiment.workload(scale, variant)).unwrap();
        identity(&spec, scale, &cells[0], &models, "mkfs 1; Linux 6").unwrap().parameters
    }

    #[test]
    fn checkpoint_identity_covers_all_parameters() {
        let plain = parameters("it", "it");
        let same = |from: &str, to: &str| parameters(from, to) == plain;
        assert!(same("[50]", "[50, 100]"), "an additional round does not change earlier checkpoints");
        assert!(!same("rounds = [50]", "rounds = [50], pictures = [50]"));
        assert!(!same("400_000_000", "500_000_000"));
        // With memory limits, the last round is scanned.
        let warm = |rounds: &str| parameters("rounds = [50]", &format!("{rounds}, memory_bytes = [1]"));
        assert_ne!(warm("rounds = [50]"), warm("rounds = [50, 100]"));
    }

    #[test]
    fn disk_identity_is_its_parameters() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        let with = |text: &str| {
            std::fs::write(&path, text).unwrap();
            parameters("hdd-7200", path.to_str().unwrap())
        };
        let own =
            Model::find("hdd-7200").unwrap().to_toml().replace("name = \"hdd-7200\"", "name = \"mine\"");
        let first = with(&own);
        assert_eq!(with(&own), first);
        assert!(own.contains("rpm"), "{own}");
        assert_ne!(with(&own.replace("rpm = 7200.0", "rpm = 5400.0")), first);
    }
}
