//! The interface of every kind of experiment: what is done and measured in a cell.

mod aging;
mod laboratory;
mod laboratory_replay;
mod metadata;
mod personality;
mod profile_accuracy;
mod replayed;
mod transfer;
mod verification;

#[cfg(test)]
pub(super) use laboratory::without_aging;

use super::cell::Cell;
use super::image_dir;
use super::runner::RunSpec;
use super::spec::Scale;
use disk::model::Model;
use disk::{Scratch, Session};
use fs::FileSystem;
use results::{Measurement, Store, Watch};
use run::Error;
use run::checkpoint::ONLY;
use run::series::{Checkpoint, Identity, Schedule};
use run::unless_interrupted;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// What is done and measured in a cell of an experiment, with its parameters.
///
/// A new kind is a file below `task/` with a struct that implements this trait, and submits a [`TaskKind`].
pub(super) trait Task: Debug + Send + Sync {
    /// Refuses what cannot run, as far as that is known before anything is created.
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error>;

    /// What the measurements depend on, besides file system, setting, seed and size: a JSON object. A task per disk has one disk.
    fn parameters(&self, scale: &Scale, disks: &[NamedDisk]) -> Result<Value, Error>;

    /// Measures and records the rounds that the store does not hold yet.
    fn measure(&self, at: &mut Measuring) -> Result<(), Error>;

    /// What is measured and how, in a sentence for the page: name and text.
    fn method(&self, scale: &Scale) -> (&'static str, String);

    /// The sides that it measures.
    fn sides(&self) -> &'static [&'static str] {
        &[ONLY]
    }

    /// The file system that the experiment calls `name`; `None` if there is none, or it is simulated.
    fn file_system(&self, name: &str) -> Result<Option<&'static dyn FileSystem>, Error> {
        Ok(Some(fs::find(name)?))
    }

    /// Whether it measures disks without file systems.
    fn is_without_fs(&self) -> bool {
        false
    }

    /// Whether each disk is measured separately; otherwise costs on all disks are computed from the same measurements.
    fn is_per_disk(&self) -> bool {
        false
    }

    /// Whether it supports memory limits and pictures of the files on disk.
    fn supports_memory_and_pictures(&self) -> bool {
        false
    }

    /// Whether it is measured in a machine with a virtual clock.
    fn is_in_virtual_time(&self) -> bool {
        false
    }

    /// Whether costs are computed from block requests.
    fn uses_requests(&self) -> bool {
        false
    }

    /// The same task on a repository; `None` if it uses none.
    fn with_repository(&self, repository: &Path) -> Option<Arc<dyn Task>> {
        let _ = repository;
        None
    }
}

/// A kind of experiment.
pub(super) struct TaskKind {
    /// Its name in an experiment file: `kind = "metadata"`. No workload has the same name.
    name: &'static str,
    parse: fn(toml::Table) -> Result<Arc<dyn Task>, String>,
    /// The measures of a family that only this kind has.
    pub measures: fn() -> Vec<String>,
}

inventory::collect!(TaskKind);

impl TaskKind {
    const fn new<T: Task + DeserializeOwned + 'static>(
        name: &'static str,
        measures: fn() -> Vec<String>,
    ) -> TaskKind {
        TaskKind { name, parse: |table| Ok(Arc::new(super::spec::plain::<T>(table)?)), measures }
    }

    /// All kinds besides aging, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static TaskKind> {
        inventory::iter::<TaskKind>()
    }
}

/// Parses the table of a task, and names its kind. A workload is the task of aging by it.
pub(super) fn parse(mut table: toml::Table) -> Result<(&'static str, Arc<dyn Task>), String> {
    let kind = table.get("kind").and_then(toml::Value::as_str);
    if let Some(found) = TaskKind::all().find(|one| Some(one.name) == kind) {
        table.remove("kind");
        return Ok((found.name, (found.parse)(table)?));
    }
    let workload = workload::from_table(table).map_err(|why| {
        let mut names: Vec<&str> = TaskKind::all().map(|kind| kind.name).collect();
        names.sort_unstable();
        if why.contains("unknown variant") { format!("{why}; or {}", names.join(", ")) } else { why }
    })?;
    Ok((aging::KIND, Arc::new(aging::Aging(workload))))
}

/// A disk of an experiment.
#[derive(Clone, Debug)]
pub(super) struct NamedDisk {
    /// Its name in the experiment: a built-in model or a file.
    pub name: String,
    pub model: Model,
}

/// A cell to measure.
pub(super) struct Measuring<'a> {
    pub cell: &'a Cell,
    /// The run.
    pub spec: &'a RunSpec,
    /// The disks: one for a task per disk.
    pub disks: &'a [NamedDisk],
    pub scale: &'a Scale,
    pub schedule: &'a Schedule,
    pub store: &'a Store,
    pub session: &'a Arc<Session>,
    /// Identifies the checkpoints of the cell in the store.
    pub identity: &'a Identity,
    /// Why block requests cannot be traced here, if they cannot.
    pub untraced: Option<&'a str>,
    pub watch: &'a mut dyn Watch,
}

/// The measurements of several rounds.
pub(super) type Rounds = BTreeMap<u64, Vec<Measurement>>;

impl Measuring<'_> {
    /// The models of the disks.
    pub fn models(&self) -> Vec<Model> {
        self.disks.iter().map(|disk| disk.model.clone()).collect()
    }

    /// Says what a memory limit does not count on the file system of the cell.
    fn say_what_memory_limits_do_not_count(&mut self) -> Result<(), Error> {
        if let Some(uncounted) = fs::find(&self.cell.fs)?.memory_limit_note() {
            self.watch.say(&format!("{}: {uncounted}", self.identity.name));
        }
        Ok(())
    }

    /// Creates a directory for the images of the cell, of the size of the file systems.
    pub fn images(&self) -> Result<Scratch, Error> {
        self.images_of(self.scale.size_bytes)
    }

    /// Creates a directory for images of `bytes`.
    pub fn images_of(&self, bytes: u64) -> Result<Scratch, Error> {
        image_dir::make(self.session, self.spec, bytes)
    }

    /// Records the rounds that `measure` returns, unless the store holds all rounds.
    fn record_all(&mut self, measure: impl FnOnce(&mut Self) -> Result<Rounds, Error>) -> Result<(), Error> {
        let rounds = &self.scale.rounds;
        if self.identity.has_all(self.store, rounds)? {
            return Ok(());
        }
        for (round, numbers) in measure(self)? {
            if rounds.contains(&round) {
                self.identity.record(self.store, round, (&self.spec.command, self.cell.seed), &numbers)?;
            }
        }
        Ok(())
    }

    /// Records each round that the store does not hold yet, measured separately.
    fn record_each(
        &mut self,
        mut measure: impl FnMut(&mut Self, u64) -> Result<Vec<Measurement>, Error>,
    ) -> Result<(), Error> {
        for &round in &self.scale.rounds {
            let at = Checkpoint::Round(round);
            if self.identity.find(self.store, at)?.is_some() {
                continue;
            }
            let run = self.identity.begin(self.store, at, &self.spec.command, self.cell.seed)?;
            let measured =
                measure(self, round).and_then(|numbers| Ok(self.store.record_all(run, &numbers)?));
            let measured = unless_interrupted(measured);
            self.store.end_with(run, &measured)?;
            measured?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(table: &str) -> Result<&'static str, String> {
        parse(table.parse().unwrap()).map(|(kind, _)| kind)
    }

    #[test]
    fn no_task_hides_a_workload() {
        for kind in TaskKind::all() {
            let table = toml::Table::from_iter([("kind".to_owned(), kind.name.into())]);
            let refusal = workload::from_table(table).unwrap_err();
            assert!(refusal.contains("unknown variant"), "{}: {refusal}", kind.name);
        }
    }

    #[test]
    fn workloads_of_every_kind_age() {
        assert_eq!(kind_of("kind = \"profile\"\nprofile = \"meyer\""), Ok(aging::KIND));
        assert_eq!(kind_of("kind = \"profile-accuracy\"\nprofile = \"meyer\""), Ok("profile-accuracy"));
        let refusal = kind_of("kind = \"sails\"").unwrap_err();
        assert!(
            refusal.contains("`git`") && refusal.contains("laboratory, laboratory-replay, metadata"),
            "{refusal}"
        );
    }
}
