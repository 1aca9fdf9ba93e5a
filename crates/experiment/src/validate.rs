//! Validation of an experiment file.

use super::measure::known;
use super::spec::{Check, Experiment, Plot, Scale};
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
        let mut kinds = BTreeSet::new();
        for (name, scale) in &self.scale {
            kinds.extend(self.validate_scale(scale).map_err(|why| format!("scale {name}: {why}"))?);
        }
        if kinds.len() > 1 {
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            return Err(format!("scales cannot be of different kinds: {kinds}"));
        }
        for plot in &self.plot {
            self.validate_plot(plot).map_err(|why| format!("plot {:?}: {why}", plot.title))?;
        }
        for check in &self.check {
            self.validate_check(check).map_err(|why| format!("claim {:?}: {why}", check.claim))?;
        }
        Ok(())
    }

    fn option_names(&self) -> Vec<&str> {
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
        let mut kinds = BTreeSet::new();
        for variant in self.variants() {
            let (kind, task) = self.task_of_kind(scale, &variant)?;
            kinds.insert(kind);
            match (self.fs.is_empty(), task.is_without_fs()) {
                (true, false) => return Err(format!("fs is empty, but {kind} needs a file system")),
                (false, true) => return Err(format!("{kind} measures disks alone: leave out fs")),
                _ => {}
            }
            for fs in &self.fs {
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
    fn sides(&self) -> Result<Vec<&'static str>, String> {
        let mut sides = Vec::new();
        for scale in self.scale.values() {
            for variant in self.variants() {
                sides.extend(self.task(scale, &variant)?.sides());
            }
        }
        sides.sort_unstable();
        sides.dedup();
        Ok(sides)
    }

    fn validate_plot(&self, plot: &Plot) -> Result<(), String> {
        known(&plot.y)?;
        let fs: Vec<&str> = self.fs.iter().map(String::as_str).collect();
        let disks: Vec<&str> = self.disks.iter().map(String::as_str).collect();
        for published in &plot.published {
            let (low, high) = (published.low, published.high.unwrap_or(published.low));
            if !(low.is_finite() && high.is_finite() && low <= high) {
                return Err("published: low and high must be numbers, and low at most high".to_owned());
            }
            named("published fs", &published.fs, &fs)?;
            named("published disks", &published.disks, &disks)?;
            named("published options", &published.options, &self.option_names())?;
        }
        Ok(())
    }

    fn validate_check(&self, check: &Check) -> Result<(), String> {
        let rule = &check.rule;
        rule.validate()?;
        known(&check.measure).map_err(|why| format!("measure: {why}"))?;
        if let Some(with) = &rule.correlates_with {
            known(with).map_err(|why| format!("correlates_with: {why}"))?;
        }
        let sides = self.sides()?;
        let fs: Vec<&str> = self.fs.iter().map(String::as_str).collect();
        let options = self.option_names();
        for (key, named, there) in [
            ("side", std::slice::from_ref(&check.side), &sides),
            ("fs", &check.fs, &fs),
            ("options", &check.options, &options),
            ("over_options", &rule.over_options, &options),
            ("over_unaged_fs", &rule.over_unaged_fs, &fs),
            ("growth_over_fs", &rule.growth_over_fs, &fs),
        ] {
            self::named(key, named, there)?;
        }
        let lacks = |scale: &&Scale| rule.at_round.is_some_and(|round| !scale.axis().contains(&round));
        match (rule.at_round, self.scale.iter().find(|(_, scale)| lacks(scale))) {
            (Some(round), Some((name, _))) => {
                Err(format!("at_round = {round} is not measured at scale {name}"))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses names that are not `there`.
fn named(key: &str, names: &[String], there: &[&str]) -> Result<(), String> {
    let Some(unknown) = names.iter().find(|name| !there.contains(&name.as_str())) else { return Ok(()) };
    let there = there.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    Err(format!("{key} names {unknown:?}, which the experiment does not have; it has {there}"))
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

[[check]]
claim = "ages"
published = "it did"
measure = "aging_ratio"
fs = ["btrfs"]
options = ["a"]
side = "aged"
rule = { last_above = 1.0 }
"#;

    fn refusal(from: &str, to: &str) -> String {
        assert!(TEXT.contains(from), "{from}");
        match Experiment::parse(&TEXT.replace(from, to), "it") {
            Ok(_) => panic!("{to} is accepted"),
            Err(error) => error.to_string(),
        }
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
            ("rounds =", "memory_bytes = [2, 1], rounds =", "memory_bytes"),
            (
                "label = \"cost\" }",
                "label = \"cost\" }, published = [{ low = 2.0, high = 1.0, text = \"\" }]",
                "low at most",
            ),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{refusal}");
        }
    }

    #[test]
    fn typos_in_names_are_reported_with_valid_names() {
        for (from, to, said) in [
            ("y = \"modelled_s_per_gib\"", "y = \"modeled_s_per_gib\"", "modelled_s_per_gib"),
            (
                "label = \"cost\" }",
                "label = \"cost\" }, published = [{ disks = [\"ssd\"], low = 2.0, text = \"\" }]",
                "\"hdd-7200\"",
            ),
            ("measure = \"aging_ratio\"", "measure = \"ageing_ratio\"", "aging_ratio"),
            ("fs = [\"btrfs\"]\nopt", "fs = [\"xfs\"]\nopt", "\"btrfs\""),
            ("options = [\"a\"]", "options = [\"c\"]", "\"b\""),
            ("side = \"aged\"", "side = \"old\"", "\"unaged\""),
            ("last_above = 1.0", "over_options = [\"c\"], ratio_above = 1.0", "\"b\""),
            ("last_above = 1.0", "growth_over_fs = [\"zfs\"], ratio_above = 1.0", "\"ext4\""),
            (
                "last_above = 1.0",
                "correlates_with = \"score\", correlation_below = 0.0",
                "dynamic_layout_score",
            ),
            ("last_above = 1.0", "at_round = 10, at_above = 1.0", "scale small"),
            ("last_above = 1.0", "at_round = 100", "at_above"),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{refusal}");
        }
    }
}
