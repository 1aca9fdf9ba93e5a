//! Validation of an experiment file.

use super::laboratory::kind;
use super::measure::known;
use super::outcome::ONLY;
use super::profiled;
use super::spec::{Check, Experiment, Scale};
use super::verification;
use crate::Error;
use crate::compare::SUBJECTS;

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
        let simulated = self.scale.values().filter(|scale| scale.is_laboratory()).count();
        for fs in &self.fs {
            let found =
                if simulated > 0 { kind(fs).map(drop) } else { fs::find(fs).map(drop).map_err(Error::from) };
            found.map_err(|error| error.to_string())?;
        }
        let options = self.option_names();
        if let Some(twice) = options.iter().enumerate().find(|(at, name)| options[..*at].contains(name)) {
            return Err(format!("two options are named {:?}", twice.1));
        }
        for (name, scale) in &self.scale {
            self.validate_scale(scale).map_err(|why| format!("scale {name}: {why}"))?;
        }
        let of_metadata = self.scale.values().filter(|scale| scale.is_metadata()).count();
        let verified = self.scale.values().filter(|scale| scale.is_verification()).count();
        let profiled = self.scale.values().filter(|scale| scale.is_profiled()).count();
        let served = self.scale.values().filter(|scale| scale.is_personality()).count();
        let kinds = [
            ("metadata", of_metadata),
            ("laboratory", simulated),
            ("verify", verified),
            ("profile", profiled),
            ("personality", served),
        ];
        for (kind, of_it) in kinds {
            if of_it != 0 && of_it != self.scale.len() {
                return Err(format!("scales of the kind {kind} cannot be mixed with others"));
            }
        }
        for plot in &self.plot {
            known(&plot.y).map_err(|why| format!("plot {:?}: {why}", plot.title))?;
        }
        for check in &self.check {
            self.validate_check(check).map_err(|why| format!("claim {:?}: {why}", check.claim))?;
        }
        Ok(())
    }

    fn option_names(&self) -> Vec<&str> {
        self.option.iter().map(|option| option.name.as_str()).collect()
    }

    fn validate_scale(&self, scale: &Scale) -> Result<(), String> {
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
        if self.fs.is_empty() {
            if scale.transfer_reads == 0 || !scale.workload.is_empty() {
                let why = "without fs, only disks are measured: set transfer_reads and no workload";
                return Err(why.to_owned());
            }
            return Ok(());
        }
        if scale.is_metadata() {
            if !scale.memory_bytes.is_empty() || !scale.pictures.is_empty() {
                let why = "the metadata benchmark leaves no files: remove pictures, and set memory_bytes in \
                           the workload";
                return Err(why.to_owned());
            }
            return self.variants().iter().try_for_each(|variant| self.metadata(scale, variant).map(drop));
        }
        if scale.is_personality() {
            if !scale.memory_bytes.is_empty() || !scale.pictures.is_empty() {
                return Err("personalities support neither memory_bytes nor pictures".to_owned());
            }
            return self.variants().iter().try_for_each(|variant| self.personality(scale, variant).map(drop));
        }
        if scale.is_laboratory() {
            if !scale.memory_bytes.is_empty() || !scale.pictures.is_empty() {
                return Err("the laboratory supports neither memory_bytes nor pictures".to_owned());
            }
            return self.variants().iter().try_for_each(|variant| self.laboratory(scale, variant).map(drop));
        }
        if scale.is_verification() {
            if !scale.memory_bytes.is_empty() || !scale.pictures.is_empty() {
                return Err("verifications support neither memory_bytes nor pictures".to_owned());
            }
            return self
                .variants()
                .iter()
                .try_for_each(|variant| self.verification(scale, variant).map(drop));
        }
        if scale.is_profiled() {
            if !scale.memory_bytes.is_empty() || !scale.pictures.is_empty() {
                return Err("agings by profile support neither memory_bytes nor pictures".to_owned());
            }
            return self.variants().iter().try_for_each(|variant| self.profiled(scale, variant).map(drop));
        }
        self.variants().iter().try_for_each(|variant| self.workload(scale, variant).map(drop))
    }

    fn validate_check(&self, check: &Check) -> Result<(), String> {
        let rule = &check.rule;
        rule.validate()?;
        known(&check.measure).map_err(|why| format!("measure: {why}"))?;
        if let Some(with) = &rule.correlates_with {
            known(with).map_err(|why| format!("correlates_with: {why}"))?;
        }
        let sideless = self.fs.is_empty() || self.scale.values().any(Scale::is_metadata);
        let simulated = self.scale.values().any(Scale::is_laboratory);
        // In the laboratory, the measure determines whether there are sides.
        let of_both = [ONLY, SUBJECTS[0], SUBJECTS[1]];
        let of_verification = [ONLY, verification::SIDES[0], verification::SIDES[1]];
        let of_profiles = [ONLY, profiled::SIDES[0], profiled::SIDES[1]];
        let any = |of: fn(&Scale) -> bool| self.scale.values().any(of);
        let sides: &[&str] = match () {
            () if sideless => &[ONLY],
            () if simulated => &of_both,
            () if any(Scale::is_verification) => &of_verification,
            () if any(Scale::is_profiled) => &of_profiles,
            () => &SUBJECTS,
        };
        let fs: Vec<&str> = self.fs.iter().map(String::as_str).collect();
        let options = self.option_names();
        for (key, named, there) in [
            ("side", std::slice::from_ref(&check.side), sides),
            ("fs", &check.fs, &fs),
            ("options", &check.options, &options),
            ("over_options", &rule.over_options, &options),
            ("over_unaged_fs", &rule.over_unaged_fs, &fs),
            ("growth_over_fs", &rule.growth_over_fs, &fs),
        ] {
            if let Some(unknown) = named.iter().find(|name| !there.contains(&name.as_str())) {
                let there = there.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "{key} names {unknown:?}, which the experiment does not have; it has {there}"
                ));
            }
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

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

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
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{refusal}");
        }
    }

    #[test]
    fn typos_in_names_are_reported_with_valid_names() {
        for (from, to, said) in [
            ("y = \"modelled_s_per_gib\"", "y = \"modeled_s_per_gib\"", "modelled_s_per_gib"),
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
