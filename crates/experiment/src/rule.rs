//! The rules that decide whether a claim holds.

use serde::{Deserialize, Serialize};

/// A rule. All given conditions must hold; bounds are strict. With several agings a bound is exceeded if the whole interval of their mean
/// exceeds it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// The value of the first round is above this.
    pub first_above: Option<f64>,
    /// The value of the first round is below this.
    pub first_below: Option<f64>,
    /// The value of this round …
    pub at_round: Option<u64>,
    /// … is above this.
    pub at_above: Option<f64>,
    /// … is below this.
    pub at_below: Option<f64>,
    /// … divided by that of the unaged side is below this.
    pub at_over_unaged_below: Option<f64>,
    /// The value of the last round is above this.
    pub last_above: Option<f64>,
    /// The value of the last round is below this.
    pub last_below: Option<f64>,
    /// The value of the last round divided by that of the first is above this.
    pub grows_above: Option<f64>,
    /// The value of the last round divided by that of the first is below this.
    pub grows_below: Option<f64>,
    /// The value of the last round divided by that of the unaged side is above this.
    pub over_unaged_above: Option<f64>,
    /// The value of the last round divided by that of the unaged side is below this.
    pub over_unaged_below: Option<f64>,
    /// The maximum over all rounds divided by the minimum is above this.
    pub spread_above: Option<f64>,
    /// The maximum over all rounds divided by the minimum is below this.
    pub spread_below: Option<f64>,
    /// The minimum over all rounds is above this.
    pub least_above: Option<f64>,
    /// The maximum over all rounds is below this.
    pub greatest_below: Option<f64>,
    /// The 95 % interval of Pearson's correlation with this other measure over the rounds and agings …
    pub correlates_with: Option<String>,
    /// … is below this.
    pub correlation_below: Option<f64>,
    /// Two file systems change their order: the one with the greater values on the unaged side has the smaller values at the last round,
    /// and the intervals of both ratios over the agings exclude 1.
    pub ranking_changes: bool,
    /// The value of the last round, or of `at_round`, divided by that of each of these other settings …
    pub over_options: Vec<String>,
    /// … or divided by that of each of these other disks …
    pub over_disks: Vec<String>,
    /// … or divided by that of the unaged side of each of these other file systems …
    pub over_unaged_fs: Vec<String>,
    /// … or the growth (last over first round) divided by that of each of these other file systems …
    pub growth_over_fs: Vec<String>,
    /// … is above this.
    pub ratio_above: Option<f64>,
    /// … is below this.
    pub ratio_below: Option<f64>,
}

/// The conditions that name something to compare with.
const COMPARED: &str = "over_options, over_disks, over_unaged_fs and growth_over_fs";

impl Rule {
    /// Refuses a rule with a part that has no effect.
    pub(super) fn validate(&self) -> Result<(), String> {
        let none = Rule::default();
        if *self == none {
            return Err("rule is empty".to_owned());
        }
        let at = self.at_round.is_some();
        let compared = [&self.over_options, &self.over_disks, &self.over_unaged_fs, &self.growth_over_fs];
        let compared = compared.into_iter().filter(|others| !others.is_empty()).count();
        if compared > 1 {
            return Err(format!("rule has more than one of {COMPARED}; split it into two claims"));
        }
        let at_bound = self.at_above.or(self.at_below).or(self.at_over_unaged_below);
        let has_growth = !self.growth_over_fs.is_empty();
        let pairs = [
            (
                at,
                "at_round",
                // Ratios to other settings, disks and file systems are those of this round.
                at_bound.or(self.ratio_above.or(self.ratio_below).filter(|_| at && !has_growth)),
                "at_above, at_below, at_over_unaged_below or a ratio",
            ),
            (self.correlates_with.is_some(), "correlates_with", self.correlation_below, "correlation_below"),
            (compared > 0, COMPARED, self.ratio_above.or(self.ratio_below), "ratio_above or ratio_below"),
        ];
        pairs.into_iter().try_for_each(|(what, named, bound, bounds)| match (what, bound.is_some()) {
            (true, false) => Err(format!("rule has {named} without {bounds}")),
            (false, true) => Err(format!("rule has {bounds} without {named}")),
            _ => Ok(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        toml::from_str::<Rule>(text).unwrap().validate().err()
    }

    #[test]
    fn parts_and_bounds_need_each_other() {
        for half in [
            "",
            "at_round = 60",
            "at_above = 1.0",
            "at_below = 1.0",
            "at_over_unaged_below = 1.0",
            "correlates_with = 'x'",
            "correlation_below = -0.4",
            "over_options = ['x']",
            "growth_over_fs = ['x']",
            "over_disks = ['x']",
            "over_unaged_fs = ['x']",
            "ratio_above = 1.0",
            "ratio_below = 1.0",
            "first_above = 1.0\nat_round = 60",
            "over_options = ['x']\ngrowth_over_fs = ['y']\nratio_above = 1.0",
        ] {
            assert!(refused(half).is_some(), "{half}");
        }
        assert!(refused("at_round = 60").unwrap().contains("without at_above"));
        assert!(refused("at_round = 60\ngrowth_over_fs = ['x']\nratio_below = 1.0").is_some());
    }

    #[test]
    fn complete_rules_are_valid() {
        for whole in [
            "first_above = 1.0",
            "at_round = 60\nat_below = 1.0",
            "at_round = 60\nat_over_unaged_below = 1.0",
            "correlates_with = 'x'\ncorrelation_below = -0.4",
            "over_options = ['x']\nratio_above = 1.0",
            "growth_over_fs = ['x']\nratio_below = 1.0",
            "at_round = 60\nover_options = ['x']\nratio_above = 1.0",
            "over_disks = ['x']\nratio_above = 1.0",
            "spread_below = 2.0",
            "least_above = 2.0",
            "ranking_changes = true",
            "over_unaged_fs = ['x']\nratio_below = 1.0",
        ] {
            assert_eq!(refused(whole), None, "{whole}");
        }
    }
}
