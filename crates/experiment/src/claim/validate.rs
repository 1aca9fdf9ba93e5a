//! Validation of claims.

use super::{At, Bounds, Claim, Place, Published};
use crate::measure::known;
use crate::spec::Experiment;
use crate::validate::check_names;

impl Experiment {
    /// Refuses a claim that makes no sense or cannot fail, including typos. `sides` are those that the experiment measures.
    pub(crate) fn validate_claim(&self, claim: &Claim, sides: &[&str]) -> Result<(), String> {
        for (key, text) in [("where", &claim.section), ("states", &claim.states)] {
            if text.trim().is_empty() {
                return Err(format!("{key} is empty"));
            }
        }
        if !claim.missing.is_empty() {
            let Claim { section, states, missing, .. } = claim.clone();
            let plain = Claim { section, states, missing, side: claim.side.clone(), ..Claim::default() };
            return if plain == *claim { Ok(()) } else { Err("a missing claim has no value".to_owned()) };
        }
        self.validate_names(claim, sides)?;
        claim.validate_value()?;
        claim.validate_bounds()
    }

    fn validate_names(&self, claim: &Claim, sides: &[&str]) -> Result<(), String> {
        let measures = claim.over.iter().filter_map(|over| over.measure.as_ref());
        for measure in measures.chain(&claim.correlates_with).chain([&claim.measure]) {
            known(measure)?;
        }
        let (fs, options) = (self.fs_names(), self.option_names());
        // Disks are validated with the names of their models, when a run is planned.
        let of_over = |name: fn(&super::Over) -> &Option<String>| claim.over.iter().filter_map(name_of(name));
        for (key, named, there) in [
            ("side", of_over(|over| &over.side).chain([&claim.side]).collect::<Vec<_>>(), sides),
            ("fs", of_over(|over| &over.fs).chain(&claim.fs).collect(), &fs),
            ("option", of_over(|over| &over.option).chain(&claim.options).collect(), &options),
        ] {
            check_names(key, named, there)?;
        }
        if !claim.order.is_empty() && self.ordered(claim).is_none() {
            return Err(
                "order must name at least two file systems, settings or disks of the experiment".to_owned()
            );
        }
        let rounds = claim.over.iter().filter_map(|over| over.at).chain([claim.at]);
        for at in rounds {
            let round = match at {
                At::Round(round) => round,
                At::Share(share) if !(0.0..1.0).contains(&share) => {
                    return Err(format!("at = {share} is not a share of the last round"));
                }
                _ => continue,
            };
            if let Some((name, _)) = self.scale.iter().find(|(_, scale)| !scale.axis().contains(&round)) {
                return Err(format!("at names round {round}, which is not measured at scale {name}"));
            }
        }
        Ok(())
    }

    /// The dimension of the names in the order of a claim.
    pub(crate) fn ordered(&self, claim: &Claim) -> Option<Dimension> {
        let disks = self.disks.iter().map(String::as_str).collect();
        let dimensions = [
            (Dimension::Fs, self.fs_names()),
            (Dimension::Option, self.option_names()),
            (Dimension::Disk, disks),
        ];
        let has_all = |(_, names): &(Dimension, Vec<&str>)| {
            claim.order.len() > 1 && claim.order.iter().all(|name| names.contains(&name.as_str()))
        };
        dimensions.into_iter().find(has_all).map(|(dimension, _)| dimension)
    }
}

/// What the names of an order are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// File systems.
    Fs,
    /// Settings.
    Option,
    /// Disks.
    Disk,
}

fn name_of<'o>(name: fn(&super::Over) -> &Option<String>) -> impl Fn(&'o super::Over) -> Option<&'o String> {
    move |over| name(over).as_ref()
}

impl Claim {
    fn validate_value(&self) -> Result<(), String> {
        let rankings = [self.reorders, self.keeps_order, !self.order.is_empty()];
        let has_value = !self.over.is_empty()
            || self.change
            || self.either_way
            || self.correlates_with.is_some()
            || self.published.is_some();
        let has_value = has_value || self.trend.is_some() || self.extreme.is_some();
        if self.is_ranking() && (has_value || rankings.into_iter().filter(|is| *is).count() > 1) {
            return Err("order, reorders and keeps_order exclude each other, and leave no room for a value"
                .to_owned());
        }
        if self.is_ranking() && matches!(self.at, At::Place(Place::Least | Place::Greatest)) {
            return Err(
                "order, reorders and keeps_order need one round for all: a number, \"first\" or \"last\""
                    .to_owned(),
            );
        }
        if self.extreme.is_some() && (self.any || self.correlates_with.is_some()) {
            return Err("extreme excludes any and correlates_with".to_owned());
        }
        if self.change && self.correlates_with.is_none() && !self.is_quotient() {
            return Err("change needs over, or a measure that is a ratio".to_owned());
        }
        if self.either_way && (self.change || !self.is_quotient()) {
            return Err("either_way needs over, or a measure that is a ratio, and excludes change".to_owned());
        }
        if self.correlates_with.is_some() && (self.change || !self.over.is_empty()) {
            return Err("correlates_with excludes over and change".to_owned());
        }
        if (self.pooled || self.log) && self.correlates_with.is_none() {
            return Err("pooled and log need correlates_with".to_owned());
        }
        if self.over.iter().any(|over| *over == super::Over::default()) {
            return Err("a divisor in over must differ in a coordinate".to_owned());
        }
        Ok(())
    }

    fn validate_bounds(&self) -> Result<(), String> {
        if self.is_ranking() {
            return Ok(());
        }
        if self.published.is_none() && self.trend.is_none() {
            return Err("a claim needs published, trend, order, reorders or keeps_order".to_owned());
        }
        let of_published = match self.published {
            Some(Published::Range([low, high])) if low > high => {
                return Err("the first end of the published range is the lesser".to_owned());
            }
            Some(Published::Bound(bounds)) => Some(bounds),
            _ => None,
        };
        for bounds in of_published.iter().chain(&self.trend) {
            match bounds {
                Bounds { above: None, below: None } => return Err("bounds need above or below".to_owned()),
                Bounds { above: Some(above), below: Some(below) } if above >= below => {
                    return Err(format!("nothing is above {above} and below {below}"));
                }
                _ => {}
            }
        }
        Ok(())
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

[[claim]]
where = "§1"
states = "it ages"
measure = "aging_ratio"
fs = ["btrfs"]
options = ["a"]
side = "aged"
at = 100
over = [{ option = "b" }]
published = 2.0
"#;

    fn refusal(from: &str, to: &str) -> String {
        crate::spec::refusal(TEXT, from, to)
    }

    #[test]
    fn senseless_claims_are_refused() {
        Experiment::parse(TEXT, "it").unwrap();
        for (from, to, said) in [
            ("where = \"§1\"", "where = \" \"", "where is empty"),
            ("\"aging_ratio\"", "\"ageing_ratio\"", "aging_ratio"),
            ("fs = [\"btrfs\"]", "fs = [\"xfs\"]", "\"btrfs\""),
            ("options = [\"a\"]", "options = [\"c\"]", "\"b\""),
            ("option = \"b\"", "option = \"c\"", "\"b\""),
            ("option = \"b\"", "fs = \"zfs\"", "\"ext4\""),
            ("option = \"b\"", "", "must differ"),
            ("side = \"aged\"", "side = \"old\"", "\"unaged\""),
            ("at = 100", "at = 10", "scale small"),
            ("at = 100", "at = \"next\"", "at"),
            ("at = 100", "at = 1.5", "share"),
            ("published = 2.0", "", "needs published"),
            ("published = 2.0", "published = [3.0, 2.0]", "lesser"),
            ("published = 2.0", "published = {}", "above or below"),
            ("published = 2.0", "trend = { above = 3.0, below = 2.0 }", "nothing is above"),
            ("published = 2.0", "reorders = true", "no room"),
            ("over = [{ option = \"b\" }]\npublished = 2.0", "order = [\"ext4\"]", "at least two"),
            ("over = [{ option = \"b\" }]\npublished = 2.0", "order = [\"ext4\", \"a\"]", "at least two"),
            (
                "at = 100\nover = [{ option = \"b\" }]\npublished = 2.0",
                "at = \"least\"\nreorders = true",
                "one round",
            ),
            ("published = 2.0", "keeps_order = true", "no room"),
            ("published = 2.0", "published = 2.0\neither_way = true\nchange = true", "excludes change"),
            (
                "over = [{ option = \"b\" }]\npublished = 2.0",
                "reorders = true\nkeeps_order = true",
                "exclude each other",
            ),
            ("published = 2.0", "published = 2.0\nany = true\nextreme = \"least\"", "excludes any"),
            ("published = 2.0", "published = 2.0\nextreme = \"last\"", "extreme"),
            ("published = 2.0", "published = 2.0\nmissing = \"no disk\"", "no value"),
            ("published = 2.0", "published = 2.0\npooled = true", "correlates_with"),
            ("published = 2.0", "published = 2.0\ncorrelates_with = \"layout_score\"", "excludes"),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(said), "{to}: {refusal}");
        }
    }
}
