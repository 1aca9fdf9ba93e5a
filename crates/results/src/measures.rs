//! The table of all measures: every measure that the store holds and the ratios derived from them. The command line, the page, the export
//! and the claims of experiments take names, units and labels from here.

mod define;
mod table;

use crate::{Estimate, Measurement};
use serde::{Deserialize, Serialize};
pub use table::*;

/// Which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Lower values, as for costs.
    Lower,
    /// Higher values, as for rates.
    Higher,
    /// Neither: a size, a count, a condition.
    Neither,
}

/// What a measure tells about an aged file system. Comparisons and pages show the measures of a topic together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Time of a scan.
    Cost,
    /// Time of a scan with one cause taken away.
    Causes,
    /// Requests and processor time of a scan.
    Work,
    /// Layout of the files.
    Layout,
    /// Free space.
    FreeSpace,
    /// Layout of a new file.
    NewFile,
    /// The tree of a file system that stores one.
    Tree,
    /// The aging. All other topics belong to a side of a comparison.
    Aging,
}

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// The name in the store. In a family of measures, `*` stands for the variable part, such as an operation or a size.
    pub name: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The name shown to users.
    pub label: &'static str,
    /// Which values are better.
    pub better: Better,
    /// Whether an experiment has one value per disk model.
    pub by_disk: bool,
    /// The topic with which comparisons show the measure; `None` if they do not.
    pub topic: Option<Topic>,
    /// Whether a comparison shows the measure even without a value.
    pub always: bool,
    /// Whether it is a rate of a benchmark in real time, or a quotient of such rates, which differs more from run to run than other measures.
    pub rate: bool,
    /// The definition.
    pub doc: &'static str,
}

/// A measure with the variable parts of its name filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureInstance {
    name: String,
    unit: &'static str,
}

/// Separates a measure from the disk model of its value.
const ON: &str = " on ";

/// Separates a measure from the waiting time of the benchmark, in percent.
const WAITING: &str = " waiting ";

impl Measure {
    /// The only value of this measure on a side; `subject` is empty if there are no sides.
    pub fn once(&self, subject: &str, value: f64) -> Measurement {
        self.measurement(subject, 1, value)
    }

    /// A value of this measure; repetitions count from 1.
    pub fn measurement(&self, subject: &str, repetition: u64, value: f64) -> Measurement {
        self.instance().measurement(subject, repetition, value)
    }

    /// A member of this family of measures, with `part` in its name.
    pub fn of(&self, part: &str) -> MeasureInstance {
        MeasureInstance { name: self.name.replacen('*', part, 1), unit: self.unit }
    }

    /// This measure for a disk model.
    pub fn on(&self, model: &str) -> MeasureInstance {
        self.instance().on(model)
    }

    /// This measure with its plain name.
    pub fn instance(&self) -> MeasureInstance {
        MeasureInstance { name: self.name.to_owned(), unit: self.unit }
    }

    /// The mean over independent agings: geometric for costs and ratios, so that the ratio of two means is the mean of the ratios; otherwise, and
    /// for ratios that can be zero or negative, arithmetic. `None` without values, or if one is not finite.
    pub fn mean(&self, values: &[f64]) -> Option<Estimate> {
        let is_relative = matches!(self.topic, Some(Topic::Cost | Topic::Causes)) || self.is_ratio();
        let geometric = if is_relative { Estimate::geometric(values) } else { None };
        geometric.or_else(|| Estimate::arithmetic(values))
    }

    /// Whether values are quotients, of which 1 is no difference.
    pub fn is_ratio(&self) -> bool {
        self.unit == "ratio"
    }

    fn is_called(&self, name: &str) -> bool {
        match self.name.split_once('*') {
            None => self.name == name,
            Some((before, behind)) => {
                name.len() > before.len() + behind.len() && name.starts_with(before) && name.ends_with(behind)
            }
        }
    }
}

/// The flags of the table.
impl Measure {
    const fn by_disk(self) -> Measure {
        Measure { by_disk: true, ..self }
    }

    const fn always(self) -> Measure {
        Measure { always: true, ..self }
    }

    const fn rate(self) -> Measure {
        Measure { rate: true, ..self }
    }

    const fn cost(self) -> Measure {
        self.about(Topic::Cost)
    }

    const fn causes(self) -> Measure {
        self.about(Topic::Causes)
    }

    const fn work(self) -> Measure {
        self.about(Topic::Work)
    }

    const fn layout(self) -> Measure {
        self.about(Topic::Layout)
    }

    const fn free_space(self) -> Measure {
        self.about(Topic::FreeSpace)
    }

    const fn new_file(self) -> Measure {
        self.about(Topic::NewFile)
    }

    const fn tree(self) -> Measure {
        self.about(Topic::Tree)
    }

    const fn aging(self) -> Measure {
        self.about(Topic::Aging)
    }

    const fn about(self, topic: Topic) -> Measure {
        Measure { topic: Some(topic), ..self }
    }
}

impl MeasureInstance {
    /// The name in the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This measure for a disk model.
    pub fn on(self, model: &str) -> MeasureInstance {
        MeasureInstance { name: format!("{}{ON}{model}", self.name), ..self }
    }

    /// This measure for a benchmark that waits for this share of its time, in percent; 0 is the measure itself.
    pub fn waiting(self, percent: f64) -> MeasureInstance {
        if percent > 0.0 {
            MeasureInstance { name: format!("{}{WAITING}{percent}", self.name), ..self }
        } else {
            self
        }
    }

    /// A value; repetitions count from 1, and `subject` is empty if there are no sides.
    pub fn measurement(&self, subject: &str, repetition: u64, value: f64) -> Measurement {
        Measurement {
            subject: subject.to_owned(),
            measure: self.name.clone(),
            unit: self.unit.to_owned(),
            repetition,
            value,
        }
    }
}

/// The measures of each side of a comparison, in the order of the table.
pub fn compared() -> impl Iterator<Item = &'static Measure> {
    let is_of_side = |measure: &&Measure| measure.topic.is_some_and(|topic| topic != Topic::Aging);
    MEASURES.iter().copied().filter(is_of_side)
}

/// The measures of a topic, in the order of the table.
pub fn of_topic(topic: Topic) -> impl Iterator<Item = &'static Measure> {
    MEASURES.iter().copied().filter(move |measure| measure.topic == Some(topic))
}

/// Splits a name in the store into the measure and the disk model of its value.
pub fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once(ON).map_or((name, None), |(measure, model)| (measure, Some(model)))
}

/// Splits a name in the store: the name of the measure, the waiting time in percent, and the disk model.
fn parts(name: &str) -> (&str, Option<&str>, Option<&str>) {
    let (name, disk) = split(name);
    let (name, waiting) =
        name.split_once(WAITING).map_or((name, None), |(name, percent)| (name, Some(percent)));
    (name, waiting, disk)
}

/// Finds a measure by its name in the store. If several families match, returns the one with the longest name.
pub fn find(name: &str) -> Option<&'static Measure> {
    let (name, ..) = parts(name);
    MEASURES
        .iter()
        .copied()
        .filter(|measure| measure.is_called(name))
        .max_by_key(|measure| measure.name.len())
}

/// The label of a measure by its name in the store, with everything in which the name varies: the part of a family, the waiting time and the
/// disk model. The name itself if the measure is unknown.
pub fn label(name: &str) -> String {
    let Some(measure) = find(name) else { return name.to_owned() };
    let (plain, waiting, disk) = parts(name);
    let part = measure
        .name
        .split_once('*')
        .map(|(before, behind)| plain[before.len()..plain.len() - behind.len()].replace('_', " "));
    let varying =
        [part, waiting.map(|percent| format!("waiting {percent} %")), disk.map(|disk| format!("on {disk}"))];
    [Some(measure.label.to_owned())].into_iter().chain(varying).flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn labels_tell_what_names_vary_in() {
        assert_eq!(label("layout_score"), LAYOUT_SCORE.label);
        assert_eq!(label("append_p999_us"), format!("{}, append p999", LATENCY_US.label));
        let waiting = OPERATIONS_PER_S.instance().waiting(25.0).on("hdd-7200");
        assert_eq!(label(waiting.name()), format!("{}, waiting 25 %, on hdd-7200", OPERATIONS_PER_S.label));
        assert_eq!(label("nothing known"), "nothing known");
    }

    #[test]
    fn names_are_unique_and_every_measure_is_described() {
        let mut names = HashSet::new();
        for measure in MEASURES {
            assert!(names.insert(measure.name), "{}", measure.name);
            assert!(measure.doc.ends_with('.') && !measure.label.is_empty(), "{}", measure.name);
            assert!(measure.name.matches('*').count() <= 1, "{}", measure.name);
            assert_eq!(find(measure.name), Some(*measure));
            let is_shown = compared().any(|shown| shown == *measure);
            assert!(is_shown || !measure.always, "{} is in no comparison", measure.name);
        }
    }

    #[test]
    fn names_in_the_store_are_found() {
        for (named, measure) in [
            (MODELLED_S_PER_GIB.on("hdd-7200"), &MODELLED_S_PER_GIB),
            (OPERATIONS_PER_S.instance().waiting(2.5), &OPERATIONS_PER_S),
            (OPERATION_PER_S.of("read").on("ssd"), &OPERATION_PER_S),
            (WALL_BYTES_PER_S.of("create_16384"), &WALL_BYTES_PER_S),
            (FIO_BYTES_PER_S.of("job_read"), &FIO_BYTES_PER_S),
            (PHASE_OBJECTS_PER_S.of("cleanup").on("ssd"), &PHASE_OBJECTS_PER_S),
            (LATENCY_P99.of("create").waiting(50.0), &LATENCY_P99),
        ] {
            assert_eq!(find(named.name()), Some(measure), "{named:?}");
        }
        assert_eq!(OPERATIONS_PER_S.instance().waiting(0.0), OPERATIONS_PER_S.instance());
        for unknown in ["", "sails", "_per_s", " on ssd"] {
            assert_eq!(find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn comparisons_show_topics_in_the_order_of_the_table() {
        let names = |measures: Vec<&Measure>| measures.iter().map(|measure| measure.name).collect::<Vec<_>>();
        let costs = names(of_topic(Topic::Cost).collect());
        assert_eq!(costs, names(compared().take(costs.len()).collect()));
        assert!(compared().all(|measure| !measure.name.contains('*')), "a family has no value of its own");
        assert!(of_topic(Topic::Aging).all(|measure| compared().all(|of_side| of_side != measure)));
    }

    #[test]
    fn measurements_have_the_name_and_unit_of_their_measure() {
        let number = SCAN_REQUESTS.measurement("aged", 3, 7.0);
        let expected = ("aged", "scan_requests", "requests", 3, 7.0);
        let found = (&*number.subject, &*number.measure, &*number.unit, number.repetition, number.value);
        assert_eq!(found, expected);
        assert_eq!(
            split("modelled_s_per_gib on a disk on a shelf"),
            ("modelled_s_per_gib", Some("a disk on a shelf"))
        );
    }
}
