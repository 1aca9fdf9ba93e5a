//! The measures of a page, with all that the page has to say about them. The page knows no measure by its name.

use super::{Comparison, Experiment};
use results::measures::{self, Better, MEASURES, Measure, Topic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A measure of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureInfo {
    /// The name, by which values refer to it.
    pub name: String,
    /// The name shown to readers.
    pub label: String,
    /// The unit.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
    /// The definition.
    pub doc: String,
    /// The section of the page that shows the measure; `None` if only the raw numbers do.
    pub topic: Option<Topic>,
    /// Whether the summary shows the measure, and a figure tells where it was not measured.
    pub always: bool,
    /// Whether the value depends on [`Comparison::modelled_disk`].
    pub by_disk: bool,
}

impl MeasureInfo {
    /// The measures in these comparisons and experiments, in the order of the table of measures.
    pub fn of(comparisons: &[Comparison], experiments: &[Experiment]) -> Vec<MeasureInfo> {
        let sides = || comparisons.iter().flat_map(|c| [&c.aged, &c.unaged]);
        let shown: BTreeSet<&String> = sides()
            .flat_map(|side| side.values.keys())
            .chain(comparisons.iter().flat_map(|c| c.aging.values.keys()))
            .chain(experiments.iter().flat_map(|e| e.trees.iter().flat_map(|at| at.values.keys())))
            .collect();
        let raw = sides().flat_map(|side| side.raw.iter().map(|number| &number.measure));
        let names: BTreeSet<&String> = shown.iter().copied().chain(raw).collect();
        let mut found: Vec<(usize, MeasureInfo)> = names
            .into_iter()
            .filter_map(|name| {
                let measure = measures::find(name)?;
                let at = MEASURES.iter().position(|other| *other == measure)?;
                Some((at, MeasureInfo::new(name, measure, shown.contains(name))))
            })
            .collect();
        // Stable, so that the members of a family stay in the order of their names.
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, info)| info).collect()
    }

    fn new(name: &str, measure: &Measure, is_shown: bool) -> MeasureInfo {
        MeasureInfo {
            name: name.to_owned(),
            label: measure.label.to_owned(),
            unit: measure.unit.to_owned(),
            better: measure.better,
            doc: measure.doc.to_owned(),
            topic: measure.topic.filter(|_| is_shown),
            always: measure.always && is_shown,
            by_disk: measure.by_disk,
        }
    }
}
