//! The published claims of an experiment, and what decides whether they hold.

mod validate;

pub(crate) use validate::Dimension;

use serde::{Deserialize, Serialize};

/// A published claim.
///
/// Its value is that of a measure at a coordinate (file system, disk, setting, side, round), or relates several such values. The claim
/// holds if the value is as published, and holds in its trend if it only goes in the published direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Where the publication states it: `§6, Figure 5a`.
    #[serde(rename = "where")]
    pub section: String,
    /// The statement, in other words than those of the publication.
    pub states: String,
    /// Why nothing here can show or refute it, if so. It then has no value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
    /// The measure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub measure: String,
    /// The file systems that the claim is about; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<String>,
    /// The disks; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
    /// The settings; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The side.
    #[serde(default = "aged", skip_serializing_if = "is_aged")]
    pub side: String,
    /// The round.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at: At,
    /// What the value is divided by: the same value with other coordinates. With several, the quotient by the first is again divided by the
    /// same quotient with the coordinates of the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<Over>,
    /// Whether the value is a change: the quotient minus 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub change: bool,
    /// Whether the value is the quotient or, if their mean is below 1, its inverse: for statements that two differ, whichever is greater.
    #[serde(default, skip_serializing_if = "is_default")]
    pub either_way: bool,
    /// The value is Pearson's correlation with this measure, over the rounds and agings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlates_with: Option<String>,
    /// Whether the correlation is of the logarithms.
    #[serde(default, skip_serializing_if = "is_default")]
    pub log: bool,
    /// Whether the correlation is over all file systems of the claim together, and, unless `side` names another than the aged one, over both sides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pooled: bool,
    /// Instead of a value: the published order of file systems, settings or disks by the measure, greatest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Instead of a value: two of the file systems change places from the unaged side to the side of the claim.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reorders: bool,
    /// Instead of a value: no two of the file systems change places.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keeps_order: bool,
    /// The published value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// What the trend asks of the value. By default, for quotients, that it is on the published side of 1; for changes and correlations, of 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Bounds>,
    /// Whether one line of the figure that meets the claim is enough: for statements that something can happen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub any: bool,
    /// Judges this one of the values of all lines alone: for statements that something is at most, or at least, so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extreme: Option<Extreme>,
    /// Whether the claim can hold without any aging: of fresh file systems, of disks, that file systems or settings differ, or that something
    /// stays the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_aging: bool,
    /// Why the claim is known not to hold here. Shown if it does not hold; does not change the verdict.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A position on the axis of rounds; the last one by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum At {
    /// A round.
    Round(u64),
    /// The round nearest to this share of the last one.
    Share(f64),
    /// A round by its place among the measured ones.
    Place(Place),
}

impl Default for At {
    fn default() -> At {
        At::Place(Place::Last)
    }
}

/// The place of a round among the measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The first.
    First,
    /// The last.
    Last,
    /// That of the least value.
    Least,
    /// That of the greatest value.
    Greatest,
}

/// One of the values of several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extreme {
    /// The least.
    Least,
    /// The greatest.
    Greatest,
}

/// The coordinates of a divisor that differ from those of the value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    /// The file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fs: Option<String>,
    /// The disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// The setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// The round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// The measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
}

/// A published value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// A number. The claim holds within a quarter of it.
    Figure(f64),
    /// The least and the greatest of a range.
    Range([f64; 2]),
    /// A bound.
    Bound(Bounds),
}

/// Bounds of a value, which it may not reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The value is above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The value is below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
}

/// How far from a published number a value may be, relative to it.
pub(crate) const TOLERANCE: f64 = 0.25;

impl Claim {
    /// The value without any effect, on whose published side a trend is: 0 for changes and correlations, 1 for quotients. `None` if there is none.
    pub(crate) fn neutral(&self) -> Option<f64> {
        match () {
            () if self.change || self.correlates_with.is_some() => Some(0.0),
            () if self.is_quotient() => Some(1.0),
            () => None,
        }
    }

    /// Whether the value is a quotient, of two values or by its measure.
    fn is_quotient(&self) -> bool {
        self.divisions() > 0
    }

    /// How many times the value is divided, by its measure or by `over`.
    pub(crate) fn divisions(&self) -> usize {
        let is_ratio = results::measures::find(&self.measure).is_some_and(|measure| measure.unit == "ratio");
        self.over.len() + usize::from(is_ratio)
    }

    /// The least and the greatest value of `measure` that the claim states, if it relates the measure to nothing else. A published change
    /// of a ratio gives the ratio.
    pub fn published_ends_of(&self, measure: &str) -> Option<(f64, f64)> {
        let related = !self.over.is_empty() || self.correlates_with.is_some();
        let (low, high) = self.published.filter(|_| self.measure == measure && !related)?.ends();
        let base = if self.change { 1.0 } else { 0.0 };
        Some((base + low, base + high))
    }

    /// Whether the claim is about an order, and has no value.
    pub(crate) fn is_ranking(&self) -> bool {
        self.reorders || self.keeps_order || !self.order.is_empty()
    }

    /// What the trend asks of the value: as given, or by the published value.
    pub(crate) fn trend(&self) -> Option<Bounds> {
        self.trend.or_else(|| self.published?.side_of(self.neutral()?))
    }
}

impl Published {
    /// The side of `neutral` on which all published values lie; `None` if they lie on both.
    fn side_of(self, neutral: f64) -> Option<Bounds> {
        let (low, high) = match self {
            Published::Bound(Bounds { above, below }) => {
                (above.unwrap_or(f64::NEG_INFINITY), below.unwrap_or(f64::INFINITY))
            }
            Published::Figure(_) | Published::Range(_) => self.ends(),
        };
        match () {
            () if low >= neutral && high > neutral => Some(Bounds { above: Some(neutral), below: None }),
            () if high <= neutral && low < neutral => Some(Bounds { above: None, below: Some(neutral) }),
            () => None,
        }
    }

    /// The least and the greatest published number.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Published::Figure(figure) => (figure, figure),
            Published::Range([low, high]) => (low, high),
            Published::Bound(Bounds { above, below }) => {
                let bounds = || above.into_iter().chain(below);
                (bounds().fold(f64::INFINITY, f64::min), bounds().fold(f64::NEG_INFINITY, f64::max))
            }
        }
    }

    /// The published value as text.
    pub fn told(self) -> String {
        match self {
            Published::Figure(figure) => figure.to_string(),
            Published::Range([low, high]) => format!("{low} – {high}"),
            Published::Bound(bounds) => bounds.told(),
        }
    }
}

impl Bounds {
    /// The bounds as text.
    pub fn told(self) -> String {
        let above = self.above.map(|bound| format!("above {bound}"));
        let below = self.below.map(|bound| format!("below {bound}"));
        above.into_iter().chain(below).collect::<Vec<_>>().join(", ")
    }
}

fn aged() -> String {
    "aged".to_owned()
}

fn is_aged(side: &str) -> bool {
    side == "aged"
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(claim: &str) -> Option<Bounds> {
        let claim = format!("where = \"§1\"\nstates = \"it\"\nmeasure = \"dynamic_layout_score\"\n{claim}");
        toml::from_str::<Claim>(&claim).unwrap().trend()
    }

    #[test]
    fn trend_is_the_published_side_of_no_effect() {
        let above = |bound| Some(Bounds { above: Some(bound), below: None });
        let below = |bound| Some(Bounds { above: None, below: Some(bound) });
        let over = "over = [{ side = \"unaged\" }]\n";
        assert_eq!(trend(&format!("{over}published = 2.0")), above(1.0));
        assert_eq!(trend(&format!("{over}published = [0.7, 0.9]")), below(1.0));
        assert_eq!(trend(&format!("{over}published = [0.7, 1.2]")), None);
        assert_eq!(trend(&format!("{over}published = {{ above = 3.0 }}")), above(1.0));
        assert_eq!(trend(&format!("{over}published = {{ below = 3.0 }}")), None);
        assert_eq!(trend(&format!("{over}change = true\npublished = -0.3")), below(0.0));
        assert_eq!(trend("correlates_with = \"layout_score\"\npublished = -0.3"), below(0.0));
        assert_eq!(trend("published = 0.3"), None);
        assert_eq!(trend("published = 0.3\ntrend = { above = 0.1 }"), above(0.1));
    }
    #[test]
    fn published_change_of_a_ratio_is_that_ratio() {
        let ends = |text: &str| {
            let claim = format!("where = \"§1\"\nstates = \"it\"\nmeasure = \"grep_cost_ratio\"\n{text}");
            toml::from_str::<Claim>(&claim).unwrap().published_ends_of("grep_cost_ratio")
        };
        assert_eq!(ends("published = 2.0"), Some((2.0, 2.0)));
        assert_eq!(ends("change = true\npublished = [-0.5, -0.25]"), Some((0.5, 0.75)));
        assert_eq!(ends("over = [{ fs = \"xfs\" }]\npublished = 2.0"), None);
    }
}
