//! Validation of an experiment file.

use super::measure::known;
use super::spec::{Experiment, Scale};
use std::collections::BTreeSet;

impl Experiment {
    /// Refuses values that make no sense, including typos.
    pub(super) fn validate(&self) -> Result<(), String> {
        let name_ok = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        if !name_ok(&self.figure) || self.figure.starts_with('.') {
            return Err(format!(
                "figure = {:?} is not a valid file name; use letters, digits and dashes",
                self.figure
            ));
        }
        if self.disks.is_empty() || self.scale.is_empty() {
            return Err("at least one disk and one scale are required".to_owned());
        }
        let options = self.option_names();
        if let Some(twice) = options.iter().enumerate().find(|(at, name)| options[..*at].contains(name)) {
            return Err(format!("two options are named {:?}", twice.1));
        }
        for option in &self.option {
            if let Some(other) = option.disks.iter().find(|disk| !self.disks.contains(disk)) {
                return Err(format!(
                    "option {:?} has the disk {other:?}, which the experiment has not",
                    option.name
                ));
            }
        }
        let mut kinds = BTreeSet::new();
        for (name, scale) in &self.scale {
            kinds.extend(self.validate_scale(scale).map_err(|why| format!("scale {name}: {why}"))?);
        }
        if kinds.len() > 1 {
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            return Err(format!("scales cannot be of different kinds: {kinds}"));
        }
        self.x.as_deref().map_or(Ok(()), known).map_err(|why| format!("x: {why}"))?;
        let sides = self.sides()?;
        for plot in &self.plot {
            known(&plot.y).map_err(|why| format!("plot {:?}: {why}", plot.title))?;
            check_names("sides", &plot.sides, &sides)
                .map_err(|why| format!("plot {:?}: {why}", plot.title))?;
        }
        for claim in &self.claim {
            self.validate_claim(claim, &sides).map_err(|why| format!("claim {:?}: {why}", claim.states))?;
        }
        for difference in &self.differs {
            if difference.here.is_empty() == difference.missing.is_empty() {
                return Err(format!(
                    "differs {:?}: either here or missing is required",
                    difference.published
                ));
            }
        }
        Ok(())
    }

    pub(super) fn fs_names(&self) -> Vec<&str> {
        self.fs.iter().map(String::as_str).collect()
    }

    pub(super) fn option_names(&self) -> Vec<&str> {
        self.option.iter().map(|option| option.name.as_str()).collect()
    }

    /// Returns the kinds of its tasks.
    fn validate_scale(&self, scale: &Scale) -> Result<BTreeSet<&'static str>, String> {
        let ascending = |numbers: &[u64]| numbers.is_sorted_by(|a, b| a < b);
        if scale.rounds.is_empty() || !ascending(&scale.rounds) {
            return Err("rounds must be numbers in ascending order, at least one".to_owned());
        }
        if !ascending(&scale.memory_bytes) {
            return Err("memory_bytes must be in ascending order".to_owned());
        }
        if scale.seeds.is_empty() || scale.repeat == 0 {
            return Err("a seed and at least one scan are required".to_owned());
        }
        for one in &scale.overrides {
            check_names("override: fs", &one.fs, &self.fs_names())?;
            check_names("override: options", &one.options, &self.option_names())?;
        }
        let mut kinds = BTreeSet::new();
        let variants = self.variants();
        let cells =
            variants.iter().flat_map(|variant| self.file_systems().into_iter().map(move |fs| (variant, fs)));
        for (variant, fs) in cells {
            let (kind, task) = self.task_of_kind(scale, variant, fs)?;
            kinds.insert(kind);
            match (self.fs.is_empty(), task.is_without_fs()) {
                (true, false) => return Err(format!("fs is empty, but {kind} needs a file system")),
                (false, true) => return Err(format!("{kind} measures disks alone: leave out fs")),
                _ => {}
            }
            if !fs.is_empty() {
                task.file_system(fs).map_err(|error| error.to_string())?;
            }
            let asks = !scale.memory_bytes.is_empty() || !scale.pictures.is_empty();
            if asks && !task.supports_memory_and_pictures() {
                return Err(format!("{kind} supports neither memory_bytes nor pictures"));
            }
        }
        Ok(kinds)
    }

    /// The sides that its tasks measure.
    pub(super) fn sides(&self) -> Result<Vec<&'static str>, String> {
        let mut sides = Vec::new();
        for scale in self.scale.values() {
            for variant in self.variants() {
                sides.extend(self.task(scale, &variant, self.file_systems()[0])?.sides());
            }
        }
        sides.sort_unstable();
        sides.dedup();
        Ok(sides)
    }
}

/// Refuses names that are not `there`.
pub(super) fn check_names<'a>(
    key: &str,
    named: impl IntoIterator<Item = &'a String>,
    there: &[&str],
) -> Result<(), String> {
    match named.into_iter().find(|name| !there.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(format!(
            "{key} names {unknown:?}, which the experiment does not have; it has {}",
            there.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::Experiment;

    const TEXT: &str = r#"
figure = "it"
title = "it"
source = "a test"
fs = ["ext4", "btrfs"]
disks = ["hdd-7200"]
round = { label = "round" }
scale.small = { size_bytes = 400_000_000, rounds = [0, 100], workload = { kind = "intrafile" } }
option = [{ name = "a" }, { name = "b" }]
plot = [{ title = "cost", y = "modelled_s_per_gib", axis = { label = "cost" } }]

[[differs]]
published = "a disk"
here = "a model of it"
"#;

    fn refusal(from: &str, to: &str) -> String {
        crate::spec::refusal(TEXT, from, to)
    }

    #[test]
    fn invalid_values_are_reported() {
        Experiment::parse(TEXT, "it").unwrap();
        for (from, to, said) in [
            ("\"btrfs\"]\ndisks", "\"fat\"]\ndisks", "fat"),
            ("rounds = [0", "rounds = [900, 0", "ascending"),
            ("kind = \"intrafile\"", "kind = \"intrafile\", sails = 3", "sails"),
            ("title = \"it\"", "subtitle = \"it\"", "subtitle"),
            ("name = \"b\"", "name = \"a\"", "two options"),
            ("title = \"it\"", "title = \"it\"\nx = \"mean_file_size\"", "mean_file_bytes"),
            ("rounds =", "memory_bytes = [2, 1], rounds =", "memory_bytes"),
            ("rounds =", "override = [{ fs = [\"xfs\"] }], rounds =", "fs names \"xfs\""),
            ("rounds =", "override = [{ fs = [\"ext4\"], sails = 3 }], rounds =", "sails"),
            ("rounds =", "override = [{ options = [\"slow\"] }], rounds =", "options names \"slow\""),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{refusal}");
        }
    }

    #[test]
    fn typos_in_names_are_reported_with_valid_names() {
        for (from, to, said) in [
            ("y = \"modelled_s_per_gib\"", "y = \"modeled_s_per_gib\"", "modelled_s_per_gib"),
            ("here = \"a model of it\"", "", "either here or missing"),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{refusal}");
        }
    }
}
