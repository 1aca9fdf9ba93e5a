//! The jobs of a run, with all checks that are possible before anything is created.

use super::cell::{Cell, cells};
use super::line::{Aging, Line};
use super::other_kernel::Place;
use super::runner::RunSpec;
use super::spec::Scale;
use super::task::NamedDisk;
use disk::model::Model;
use run::Error;
use run::series::{Identity, Schedule};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The plan of a run, ready to execute.
pub struct Plan<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) scale: &'a Scale,
    pub(super) schedule: Schedule,
    pub(super) jobs: Vec<Job>,
    /// Why block requests cannot be traced here, if they cannot.
    pub(super) untraced: Option<String>,
}

/// A part of the plan that fails or succeeds independently.
pub(super) struct Job {
    /// Identifies its checkpoints in the store.
    pub identity: Identity,
    pub cell: Cell,
    /// The disks that are measured, or that costs are computed for.
    pub disks: Vec<NamedDisk>,
    /// Whether it is measured in this run; otherwise it is only read from the store.
    pub is_asked: bool,
    /// Where its file system can be measured.
    pub place: Place,
}

impl Job {
    /// The name of the job.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// Whether this run measures it with this kernel.
    pub fn is_here(&self) -> bool {
        self.is_asked && matches!(self.place, Place::Here)
    }

    /// Why it was not measured, if not with this kernel. `failed` says why the other kernel did not, if that is known.
    pub fn why_not_here(&self, failed: Option<&str>) -> String {
        match &self.place {
            Place::Nowhere(why) => why.clone(),
            _ => failed.unwrap_or("its measurement with another kernel failed").to_owned(),
        }
    }

    /// The names of the models of its disks.
    pub fn models(&self) -> Vec<String> {
        self.disks.iter().map(|disk| disk.model.name().to_owned()).collect()
    }
}

impl<'a> Plan<'a> {
    /// Plans a run, or refuses it.
    pub(super) fn new(spec: &'a RunSpec) -> Result<Plan<'a>, Error> {
        let experiment = &spec.experiment;
        let scale = experiment.at(&spec.scale)?;
        if let Some(other) = spec.fs.iter().find(|name| !experiment.fs.contains(name)) {
            let (figure, names) = (&experiment.figure, experiment.fs.join(", "));
            return Err(Error::Refused(format!("{figure} has no file system {other:?}; it has {names}")));
        }
        let disk = |name: &String| Ok(NamedDisk { name: name.clone(), model: Model::find(name)? });
        let disks: Vec<NamedDisk> = experiment.disks.iter().map(disk).collect::<Result<_, Error>>()?;
        let models: Vec<&str> = disks.iter().map(|disk| disk.model.name()).collect();
        for claim in &experiment.claim {
            let mut named = claim.disks.iter().chain(claim.over.iter().filter_map(|over| over.disk.as_ref()));
            if let Some(unknown) = named.find(|disk| !models.contains(&disk.as_str())) {
                let names = models.join(", ");
                let why = format!(
                    "the claim {:?} names the disk {unknown:?}, which is not measured; measured: {names}",
                    claim.states
                );
                return Err(Error::Refused(why));
            }
        }
        let schedule = Schedule {
            rounds: scale.rounds.clone(),
            // With memory limits, the memory is the axis, and only the last round is measured: cold, to compare warm scans with.
            measured: if scale.memory_bytes.is_empty() { scale.rounds.clone() } else { vec![scale.last()] },
            repeat: scale.repeat,
            quiet_s: scale.quiet_s,
            unaged: scale.unaged,
            pictures: scale.pictures.clone(),
            memory_bytes: scale.memory_bytes.clone(),
        };
        let jobs = jobs(spec, scale, &disks)?;
        let uses_requests = jobs.iter().any(|job| job.cell.task.uses_requests());
        let untraced = probe::blocktrace::available().err().filter(|_| uses_requests);
        Ok(Plan { spec, scale, schedule, jobs, untraced })
    }

    /// The lines of the figure.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for job in &self.jobs {
            let Cell { fs, variant, seed, .. } = &job.cell;
            for disk in job.models() {
                let aging = Aging { seed: *seed, cell: job.name().to_owned() };
                Line::add(&mut lines, [fs, &disk, &variant.name], aging);
            }
        }
        lines
    }
}

/// The jobs of a scale: one for each cell, or for each cell and disk.
fn jobs(spec: &RunSpec, scale: &Scale, disks: &[NamedDisk]) -> Result<Vec<Job>, Error> {
    let mut jobs = Vec::new();
    let mut places: BTreeMap<(String, bool), (Place, Option<String>)> = BTreeMap::new();
    for cell in cells(&spec.experiment, scale)? {
        let is_asked = spec.fs.is_empty() || spec.fs.contains(&cell.fs);
        if is_asked {
            cell.task.check(&cell, scale)?;
        }
        let key = (cell.fs.clone(), cell.task.is_in_virtual_time());
        let (place, version) = match (places.get(&key), cell.task.file_system(&cell.fs)?) {
            (Some(known), _) => known.clone(),
            (None, None) => (Place::Here, None),
            (None, Some(kind)) => {
                let place = match key.1 {
                    true => Place::in_virtual_time(kind, is_asked)?,
                    false => Place::of(kind, is_asked, &spec.other_kernel)?,
                };
                places.insert(key, place.clone());
                place
            }
        };
        let disks: Vec<NamedDisk> =
            disks.iter().filter(|disk| cell.variant.is_on(&disk.name)).cloned().collect();
        let size = if cell.task.is_per_disk() { 1 } else { disks.len() };
        for disks in disks.chunks(size) {
            let identity = identity(spec, scale, &cell, disks, version.as_ref())?;
            jobs.push(Job {
                identity,
                cell: cell.clone(),
                disks: disks.to_vec(),
                is_asked,
                place: place.clone(),
            });
        }
    }
    Ok(jobs)
}

/// Identifies the checkpoints of a cell on `disks` by everything that the measurements depend on, regardless of names. `version` is that of the
/// programs of the file system and of the kernel.
fn identity(
    spec: &RunSpec,
    scale: &Scale,
    cell: &Cell,
    disks: &[NamedDisk],
    version: Option<&String>,
) -> Result<Identity, Error> {
    let mut parameters = json!({
        "figure": spec.experiment.figure,
        "scale": spec.scale,
        "fs": cell.fs,
        "fs_version": version,
        "option": cell.variant,
        "seed": cell.seed,
        "size_bytes": scale.size_bytes,
    });
    if let Value::Object(more) = cell.task.parameters(scale, disks)? {
        more.into_iter().for_each(|(key, value)| parameters[key] = value);
    }
    let disk = if cell.task.is_per_disk() { disks[0].model.name() } else { "" };
    let name = [cell.name.as_str(), disk].into_iter().filter(|part| !part.is_empty());
    Ok(Identity { name: name.collect::<Vec<_>>().join(", "), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgedImages, Experiment, OtherKernel};

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
            fs: Vec::new(),
            image_dir: None,
            aged_images: AgedImages::default(),
            resume: true,
            subprocess: || unreachable!("nothing is run"),
            other_kernel: OtherKernel {
                release: |_| Err("there is no other kernel".to_owned()),
                measure: |_| unreachable!("nothing is run"),
            },
            command: String::new(),
        };
        let scale = spec.experiment.at("small").unwrap();
        let disk = |name: &String| NamedDisk { name: name.clone(), model: Model::find(name).unwrap() };
        let disks: Vec<NamedDisk> = spec.experiment.disks.iter().map(disk).collect();
        let cells = cells(&spec.experiment, scale).unwrap();
        identity(&spec, scale, &cells[0], &disks, Some(&"mkfs 1".to_owned())).unwrap().parameters
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
