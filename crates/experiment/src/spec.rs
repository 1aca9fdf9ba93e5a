//! The TOML file of an experiment.

use super::claim::Claim;
use super::task::{self, Task};
use input::one_line;
use run::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The built-in experiments, by the name of their figure.
const BUILTIN: &[(&str, &str)] = &[
    ("fast17-fig1", include_str!("../../../experiments/fast17-fig1.toml")),
    ("fast17-fig2", include_str!("../../../experiments/fast17-fig2.toml")),
    ("fast17-fig3", include_str!("../../../experiments/fast17-fig3.toml")),
    ("fast17-fig4", include_str!("../../../experiments/fast17-fig4.toml")),
    ("fast17-fig5", include_str!("../../../experiments/fast17-fig5.toml")),
    ("fast17-fig6", include_str!("../../../experiments/fast17-fig6.toml")),
    ("fast17-fig7", include_str!("../../../experiments/fast17-fig7.toml")),
    ("fast17-fig8", include_str!("../../../experiments/fast17-fig8.toml")),
    ("fast17-fig9", include_str!("../../../experiments/fast17-fig9.toml")),
    ("geriatrix17-fig1", include_str!("../../../experiments/geriatrix17-fig1.toml")),
    ("geriatrix17-fig2", include_str!("../../../experiments/geriatrix17-fig2.toml")),
    ("geriatrix17-fig3", include_str!("../../../experiments/geriatrix17-fig3.toml")),
    ("geriatrix17-fig4", include_str!("../../../experiments/geriatrix17-fig4.toml")),
    ("geriatrix17-fig5", include_str!("../../../experiments/geriatrix17-fig5.toml")),
    ("geriatrix17-fig6", include_str!("../../../experiments/geriatrix17-fig6.toml")),
    ("geriatrix17-fig7", include_str!("../../../experiments/geriatrix17-fig7.toml")),
    ("geriatrix17-fig8", include_str!("../../../experiments/geriatrix17-fig8.toml")),
    ("geriatrix17-fig9", include_str!("../../../experiments/geriatrix17-fig9.toml")),
    ("geriatrix17-tab2", include_str!("../../../experiments/geriatrix17-tab2.toml")),
    ("mdrealio16-fig1", include_str!("../../../experiments/mdrealio16-fig1.toml")),
    ("mdrealio16-fig2", include_str!("../../../experiments/mdrealio16-fig2.toml")),
    ("mdrealio16-fig3", include_str!("../../../experiments/mdrealio16-fig3.toml")),
    ("mdrealio16-fig4", include_str!("../../../experiments/mdrealio16-fig4.toml")),
    ("mdrealio16-fig5", include_str!("../../../experiments/mdrealio16-fig5.toml")),
    ("mdrealio16-lst1", include_str!("../../../experiments/mdrealio16-lst1.toml")),
    ("smith97-fig1", include_str!("../../../experiments/smith97-fig1.toml")),
    ("smith97-fig2", include_str!("../../../experiments/smith97-fig2.toml")),
    ("smith97-fig3", include_str!("../../../experiments/smith97-fig3.toml")),
    ("smith97-fig4", include_str!("../../../experiments/smith97-fig4.toml")),
    ("smith97-fig5", include_str!("../../../experiments/smith97-fig5.toml")),
    ("smith97-fig6", include_str!("../../../experiments/smith97-fig6.toml")),
    ("smith97-fig7", include_str!("../../../experiments/smith97-fig7.toml")),
    ("smith97-fig8", include_str!("../../../experiments/smith97-fig8.toml")),
    ("smith97-tab1", include_str!("../../../experiments/smith97-tab1.toml")),
    ("smith97-tab2", include_str!("../../../experiments/smith97-tab2.toml")),
    ("smith97-tab3", include_str!("../../../experiments/smith97-tab3.toml")),
];

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The figure that the experiment reproduces, which is also its name: `fast17-fig5`.
    pub figure: String,
    /// The title.
    pub title: String,
    /// The publication, with the number of the figure.
    pub source: String,
    /// Kinds of file systems; empty if only disks are measured.
    #[serde(default)]
    pub fs: Vec<String>,
    /// Disk models used to compute the cost of the scans.
    pub disks: Vec<String>,
    /// The repository whose history or tree the workload uses; by default a synthetic one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<PathBuf>,
    /// The meaning of a round, as an axis label.
    pub round: Axis,
    /// The measure on the axis of rounds, labelled by `round`; by default the round itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// Settings to compare, one line each. An empty list is a single setting without a name.
    #[serde(default)]
    pub option: Vec<Variant>,
    /// The sizes, by name.
    pub scale: BTreeMap<String, Scale>,
    /// The plots.
    #[serde(default)]
    pub plot: Vec<Plot>,
    /// The published claims.
    #[serde(default)]
    pub claim: Vec<Claim>,
    /// The differences from the published experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Difference>,
}

/// The label of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// Its unit; may be empty.
    #[serde(default)]
    pub unit: String,
    /// Whether it is logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// A setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Further arguments of mkfs, as one string.
    #[serde(default)]
    pub mkfs_opts: String,
    /// Further options of mount, separated by commas.
    #[serde(default)]
    pub mount_opts: String,
    /// Read-ahead of the kernel in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kb: Option<u32>,
    /// The disks of the experiment that it is measured on; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
    /// Parameters that replace those of the scale's workload; all of them if they name a kind.
    #[serde(default)]
    pub workload: toml::Table,
}

impl Variant {
    /// Whether it is measured on a disk of the experiment.
    pub(super) fn is_on(&self, disk: &str) -> bool {
        self.disks.is_empty() || self.disks.iter().any(|own| own == disk)
    }
}

/// The size of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Size of each file system.
    pub size_bytes: u64,
    /// The rounds to measure after, ascending.
    pub rounds: Vec<u64>,
    /// Cold scans of each side.
    #[serde(default = "one")]
    pub repeat: u64,
    /// The random seeds; each is a separate cell.
    #[serde(default = "seeds")]
    pub seeds: Vec<u64>,
    /// Seconds without any access between dropping the caches and a cold scan, in which the file system can finish what it does in the background.
    #[serde(default)]
    pub quiet_s: u64,
    /// Whether the unaged copy is made and measured too.
    #[serde(default = "yes")]
    pub unaged: bool,
    /// The rounds for which the position of files on disk is recorded for drawing.
    #[serde(default)]
    pub pictures: Vec<u64>,
    /// Memory limits. If there are any, warm scans within each limit are measured after the last round, besides a cold scan, and the limit
    /// replaces the round on the axis.
    #[serde(default)]
    pub memory_bytes: Vec<u64>,
    /// What each cell does, with its kind: that of a [`workload`], which ages, or that of another task, submitted by a file below `task/`.
    pub workload: toml::Table,
    /// Parameters and options for some file systems and settings, applied one after the other.
    #[serde(default, rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Approximate run time in seconds on a machine with two processors. It is only used to divide the figures among machines.
    #[serde(default)]
    pub expected_s: u64,
}

/// What is different for some file systems and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// The file systems; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<String>,
    /// The settings; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Further arguments of mkfs, behind those of the setting.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mkfs_opts: String,
    /// Further options of mount, behind those of the setting.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount_opts: String,
    /// Parameters that replace those of the workload and of the settings.
    #[serde(flatten)]
    pub workload: toml::Table,
}

impl Override {
    fn is_for(&self, fs: &str, option: &str) -> bool {
        let has = |names: &[String], name| names.is_empty() || names.iter().any(|own| own == name);
        has(&self.fs, fs) && has(&self.options, option)
    }
}

impl Scale {
    /// The measured positions on the x axis: memory limits or rounds.
    pub(super) fn axis(&self) -> &[u64] {
        if self.memory_bytes.is_empty() { &self.rounds } else { &self.memory_bytes }
    }

    /// A setting with the further arguments and options that it has on a file system.
    pub(super) fn variant_on(&self, fs: &str, variant: &Variant) -> Variant {
        let mut own = variant.clone();
        for one in self.overrides.iter().filter(|one| one.is_for(fs, &variant.name)) {
            own.mkfs_opts = [own.mkfs_opts.as_str(), &one.mkfs_opts].join(" ").trim().to_owned();
            own.mount_opts =
                [own.mount_opts.as_str(), &one.mount_opts].join(",").trim_matches(',').to_owned();
        }
        own
    }

    /// The last round.
    pub(super) fn last(&self) -> u64 {
        *self.rounds.last().expect("a scale has a round")
    }
}

/// A plot of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// The title.
    pub title: String,
    /// The measure: a column of the checkpoints, such as `modelled_s_per_gib`.
    pub y: String,
    /// The y axis.
    pub axis: Axis,
    /// What each panel shows.
    #[serde(default)]
    pub panels: Panels,
    /// The sides that are drawn; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<String>,
    /// A remark for readers.
    #[serde(default)]
    pub note: String,
}

/// What each panel of a figure shows; the other dimension becomes lines within the panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Panels {
    /// One panel per disk.
    #[default]
    Disk,
    /// One panel per file system.
    Fs,
}

/// A difference from the published experiment, with what stands in its place here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// What the publication has: `ZFS 0.6.5 on a 7200 rpm disk`.
    pub published: String,
    /// What stands in its place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub here: String,
    /// Why nothing does; a figure with something missing holds at most in its trend.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
}

fn one() -> u64 {
    1
}

fn seeds() -> Vec<u64> {
    vec![42]
}

fn yes() -> bool {
    true
}

impl Experiment {
    /// The names of the built-in experiments.
    pub fn builtin() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Finds a built-in experiment by name.
    pub fn find(name: &str) -> Result<Experiment, Error> {
        match BUILTIN.iter().find(|(figure, _)| *figure == name) {
            Some((_, text)) => Experiment::parse(text, name),
            None => {
                let names = Experiment::builtin().collect::<Vec<_>>().join(", ");
                Err(Error::Refused(format!("unknown experiment {name:?}; built in: {names}")))
            }
        }
    }

    /// Loads an experiment from a file.
    pub fn load(path: &Path) -> Result<Experiment, Error> {
        let text = input::read_to_string(path).map_err(Error::io("reading the experiment", path))?;
        Experiment::parse(&text, &path.display().to_string())
    }

    pub(super) fn parse(text: &str, origin: &str) -> Result<Experiment, Error> {
        let refuse = |why: String| Error::Refused(format!("{origin} is not an experiment: {why}"));
        let experiment: Experiment =
            toml::from_str(text).map_err(|error| refuse(one_line(&error.to_string())))?;
        experiment.validate().map_err(refuse)?;
        Ok(experiment)
    }

    /// Returns the experiment with `repository` as the source: its history is pulled, or its tree is recreated.
    pub fn with_repository(mut self, repository: &Path) -> Result<Experiment, Error> {
        if repository.to_str().is_none() {
            return Err(Error::Refused(format!(
                "path {} is not UTF-8; choose another path for the repository",
                repository.display()
            )));
        }
        self.repository = Some(repository.to_owned());
        self.validate().map_err(Error::Refused)?;
        Ok(self)
    }

    /// Returns the experiment with `agings` agings of each setting, at least 1, with consecutive seeds from the first one on.
    pub fn with_agings(mut self, agings: u64) -> Result<Experiment, Error> {
        for scale in self.scale.values_mut() {
            let first = scale.seeds[0];
            let beyond = first.checked_add(agings.max(1));
            let beyond = beyond
                .ok_or_else(|| Error::Refused(format!("{agings} seeds from {first} on exceed 2^64")))?;
            scale.expected_s = scale.expected_s * agings.max(1) / scale.seeds.len() as u64;
            scale.seeds = (first..beyond).collect();
        }
        Ok(self)
    }

    /// The settings, at least one.
    pub(super) fn variants(&self) -> Vec<Variant> {
        if self.option.is_empty() { vec![Variant::default()] } else { self.option.clone() }
    }

    /// The task of a scale with a setting on a file system.
    pub(super) fn task(&self, scale: &Scale, variant: &Variant, fs: &str) -> Result<Arc<dyn Task>, String> {
        self.task_of_kind(scale, variant, fs).map(|(_, task)| task)
    }

    /// The kinds of file systems; one without a name for disks alone.
    pub(super) fn file_systems(&self) -> Vec<&str> {
        if self.fs.is_empty() { vec![""] } else { self.fs_names() }
    }

    /// The same, with the name of its kind.
    pub(super) fn task_of_kind(
        &self,
        scale: &Scale,
        variant: &Variant,
        fs: &str,
    ) -> Result<(&'static str, Arc<dyn Task>), String> {
        let mut table = variant.workload.clone();
        if !table.contains_key("kind") {
            table = scale.workload.clone();
            table.extend(variant.workload.clone());
        }
        for one in scale.overrides.iter().filter(|one| one.is_for(fs, &variant.name)) {
            table.extend(one.workload.clone());
        }
        let (kind, task) = task::parse(table)?;
        let Some(repository) = &self.repository else { return Ok((kind, task)) };
        let task = task.with_repository(repository);
        Ok((kind, task.ok_or_else(|| format!("{} uses no repository; leave out --repo", self.figure))?))
    }

    /// What a scale measures and how, for the page: name and text.
    pub fn method(&self, scale: &Scale) -> Option<(&'static str, String)> {
        Some(self.task(scale, self.variants().first()?, self.file_systems()[0]).ok()?.method(scale))
    }

    /// A digest of this version of the experiment, as hexadecimal digits.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).expect("plain data");
        Sha256::digest(text)[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Finds a scale by name.
    pub fn at(&self, scale: &str) -> Result<&Scale, Error> {
        self.scale.get(scale).ok_or_else(|| {
            let names = self.scale.keys().cloned().collect::<Vec<_>>().join(", ");
            Error::Refused(format!("{} has no scale {scale:?}; it has {names}", self.figure))
        })
    }
}

/// Parses a table of parameters.
pub(super) fn plain<T: serde::de::DeserializeOwned>(table: toml::Table) -> Result<T, String> {
    toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| one_line(&error.to_string()))
}

/// Why the text is refused with `from` replaced.
#[cfg(test)]
pub(crate) fn refusal(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    match Experiment::parse(&text.replace(from, to), "it") {
        Ok(_) => panic!("{to} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::cells;
    use proptest::prelude::*;

    #[test]
    fn built_in_experiments_are_valid_and_have_both_scales() {
        for name in Experiment::builtin() {
            let experiment = Experiment::find(name).unwrap();
            assert_eq!(experiment.figure, name);
            assert!(experiment.at("small").is_ok() && experiment.at("paper").is_ok(), "{name}");
            assert!(!experiment.claim.is_empty() && !experiment.plot.is_empty(), "{name}");
        }
        assert!(Experiment::find("fast17-fig99").unwrap_err().to_string().contains("fast17-fig4"));
    }

    /// A cell whose last round is impossible would fail only after all rounds before it.
    #[test]
    fn last_round_of_every_built_in_is_possible() {
        for name in Experiment::builtin() {
            let mut experiment = Experiment::find(name).unwrap();
            let variants = experiment.option.iter_mut().map(|variant| &mut variant.workload);
            for workload in variants.chain(experiment.scale.values_mut().map(|scale| &mut scale.workload)) {
                // This test depends neither on the installed programs nor on whether memory can be limited on this machine.
                workload.remove("live");
                workload.remove("memory_bytes");
                // A synthetic history is as long as necessary, unless the number of commits is given.
                assert!(!workload.contains_key("commits") && !workload.contains_key("repository"), "{name}");
            }
            for (size, scale) in &experiment.scale {
                for cell in cells(&experiment, scale).unwrap() {
                    let checked = cell.task.check(&cell, scale);
                    checked.unwrap_or_else(|error| panic!("{name}, {size}: {error}"));
                }
            }
        }
    }

    #[test]
    fn overrides_add_options_of_their_file_systems() {
        let text = r#"
size_bytes = 1
rounds = [1]
workload = {}
override = [{ fs = ["ext4"], mkfs_opts = "-J size=128", mount_opts = "relatime" }, { options = ["a"], mount_opts = "discard" }]
"#;
        let scale: Scale = toml::from_str(text).unwrap();
        let variant = Variant { name: "a".to_owned(), mkfs_opts: "-b 4096".to_owned(), ..Variant::default() };
        let of = |fs| {
            let own = scale.variant_on(fs, &variant);
            [own.mkfs_opts, own.mount_opts]
        };
        assert_eq!(of("ext4"), ["-b 4096 -J size=128", "relatime,discard"]);
        assert_eq!(of("xfs"), ["-b 4096", "discard"]);
    }

    #[test]
    fn agings_have_consecutive_seeds_and_take_their_time() {
        let eight = Experiment::find("smith97-fig2").unwrap();
        let expected_s = eight.at("small").unwrap().expected_s;
        let experiment = eight.with_agings(16).unwrap();
        let scale = experiment.at("small").unwrap();
        assert_eq!((scale.seeds.clone(), scale.expected_s), ((42..58).collect(), 2 * expected_s));
        let fewer = experiment.with_agings(1).unwrap();
        assert_eq!(fewer.at("paper").unwrap().seeds, [42]);
        assert!(fewer.with_agings(u64::MAX).unwrap_err().to_string().contains("2^64"));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_without_panic(text in "(\\PC|\n|\\[|\\]|=){0,200}") {
            prop_assert!(Experiment::parse(&text, "it").is_err());
        }
    }
}
