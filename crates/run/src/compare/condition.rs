//! What the result of a comparison depends on.

use super::CONDITION_PARAMETERS;
use crate::facts::flatten;
use crate::manifest::{AgedBy, Manifest};
use digest::Digest;
use fact::{DIGEST, FILE_SYSTEM, FULLNESS, KERNEL, MKFS_OPTIONS, MOUNT_OPTIONS, PROFILE, VERSION};
use results::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the result of a comparison depends on, except for the random seed, as names and values. Comparisons with equal conditions are
/// replicates of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition(pub Vec<(String, String)>);

/// Names of facts.
pub mod fact {
    /// Kind of file system.
    pub const FILE_SYSTEM: &str = "file system";
    /// Versions of the programs and driver of the file system.
    pub const VERSION: &str = "version";
    /// Options of mkfs, from the user.
    pub const MKFS_OPTIONS: &str = "mkfs options";
    /// Mount options.
    pub const MOUNT_OPTIONS: &str = "mount options";
    /// The kernel release.
    pub const KERNEL: &str = "kernel";
    /// Name of the profile.
    pub const PROFILE: &str = "profile";
    /// Digest of the profile.
    pub const DIGEST: &str = "digest of the profile";
    /// Target fullness.
    pub const FULLNESS: &str = "fullness";
}

/// A fact that differs between two conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differing {
    /// Name of the fact.
    pub fact: String,
    /// Its value under both conditions; empty if it has none.
    pub values: [String; 2],
}

impl Condition {
    /// The condition of a comparison: `run` in the store, of the file system that `manifest` describes, with the modelled times of `disk`.
    pub fn of(run: &Run, manifest: &Manifest, disk: &str) -> Condition {
        let volume = &manifest.volume;
        let mut facts = vec![
            (FILE_SYSTEM, volume.fs.clone()),
            (VERSION, manifest.fs_version.clone()),
            (MKFS_OPTIONS, volume.mkfs_opts.join(" ")),
            (MOUNT_OPTIONS, volume.mount_opts.join(",")),
            ("size", input::bytes(volume.size_bytes)),
            ("read-ahead", format!("{} KiB", volume.read_ahead_kb)),
            ("place", volume.location.medium().to_owned()),
            ("modelled disk", disk.to_owned()),
            (KERNEL, run.machine.kernel.clone()),
            ("processor", run.machine.cpu.clone()),
            ("version of senesce", run.tool.clone()),
            ("files filled", yes(manifest.fill).to_owned()),
        ];
        if let Some(conditions) = manifest.conditions() {
            let profile = serde_json::to_string(&conditions.profile).expect("plain data");
            let digest = Digest::of(profile.as_bytes()).to_string();
            facts.extend([
                (PROFILE, conditions.profile.name.clone()),
                (DIGEST, digest[..8].to_owned()),
                (FULLNESS, conditions.fullness.to_string()),
                ("overwrites", conditions.overwrites.map_or_else(|| "least".to_owned(), |n| n.to_string())),
                ("method", text(&conditions.method)),
            ]);
            facts.extend(
                conditions.churn.map(|churn| {
                    ("churn", format!("{} overwritten, {} punched", churn.overwrite, churn.punch))
                }),
            );
        }
        let mut facts: Vec<(String, String)> =
            facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some(AgedBy { workload, round, .. }) = &manifest.aged_by {
            let mut parameters = BTreeMap::new();
            flatten("workload", &serde_json::to_value(workload).expect("plain data"), &mut parameters);
            facts.extend(parameters);
            facts.push(("rounds".to_owned(), round.to_string()));
        }
        for name in CONDITION_PARAMETERS {
            facts.extend(run.parameters.get(name).map(|value| (name.replace('_', " "), text(value))));
        }
        facts.retain(|(_, value)| !value.is_empty());
        Condition(facts)
    }

    /// The value of a fact; empty if there is none.
    pub fn value(&self, fact: &str) -> &str {
        self.0.iter().find(|(name, _)| name == fact).map_or("", |(_, value)| value)
    }

    /// The facts that differ, those of this condition first.
    pub fn differing(&self, other: &Condition) -> Vec<Differing> {
        let mut names: Vec<&String> = self.0.iter().map(|(name, _)| name).collect();
        for (name, _) in &other.0 {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let both = |fact: &String| Differing {
            fact: fact.clone(),
            values: [self, other].map(|of| of.value(fact).to_owned()),
        };
        let mut differing: Vec<Differing> =
            names.into_iter().map(both).filter(|of| of.values[0] != of.values[1]).collect();
        // Each file system has versions of its own.
        if differing.iter().any(|of| of.fact == FILE_SYSTEM) {
            differing.retain(|of| of.fact != VERSION);
        }
        differing
    }
}

/// The names of facts, separated by commas.
pub(crate) fn names(differing: &[Differing]) -> String {
    differing.iter().map(|of| of.fact.as_str()).collect::<Vec<_>>().join(", ")
}

impl Differing {
    /// The difference in a few words: the value under the first condition, or the fact if it has none there.
    pub fn in_words(&self) -> String {
        match &self.values {
            [here, there] if here.is_empty() => format!("without {} {there}", self.fact),
            [here, _] if self.fact == FILE_SYSTEM => here.clone(),
            [here, _] => format!("{} {here}", self.fact),
        }
    }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// A value as text, without the quotes of JSON.
fn text(value: &impl Serialize) -> String {
    match serde_json::to_value(value).expect("plain data") {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(facts: &[(&str, &str)]) -> Condition {
        Condition(facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn differing_facts_are_named() {
        let plain = condition(&[("file system", "ext4"), ("size", "1 GiB")]);
        let option =
            condition(&[("file system", "ext4"), ("mkfs options", "-O ^flex_bg"), ("size", "1 GiB")]);
        let [one] = &option.differing(&plain)[..] else { panic!("one option differs") };
        assert_eq!(one.in_words(), "mkfs options -O ^flex_bg");
        let [one] = &plain.differing(&option)[..] else { panic!("one option differs") };
        assert_eq!(one.in_words(), "without mkfs options -O ^flex_bg");
        let xfs = condition(&[("file system", "xfs"), ("version", "6"), ("size", "1 GiB")]);
        assert_eq!(xfs.differing(&plain).len(), 1);
        assert_eq!(xfs.differing(&plain)[0].in_words(), "xfs");
        assert!(plain.differing(&plain).is_empty());
    }
}
