//! The table of all measures: everything that the store holds a number of, and the ratios that are drawn from them. The command, the page, the
//! export and the claims of experiments take names, units and labels from here.

mod define;
mod table;

use crate::Measurement;
use serde::Serialize;
pub use table::*;

/// Which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The lower, as of costs.
    Lower,
    /// The higher, as of rates.
    Higher,
    /// Neither: a size, a count, a condition.
    Neither,
}

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// Its name in the store. Of a family of measures, `*` stands for the part that differs, as an operation or a size.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// Which values are better.
    pub better: Better,
    /// Whether an experiment has one value for each disk model.
    pub by_disk: bool,
    /// Its definition.
    pub doc: &'static str,
}

/// A measure with the parts of its name filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    name: String,
    unit: &'static str,
}

/// Separates a measure from the disk model that its value is for.
const ON: &str = " on ";

/// Separates a measure from the share of the time that the benchmark waits, in percent.
const WAITING: &str = " waiting ";

impl Measure {
    /// The only value of this measure on a side; `subject` is empty where there are no sides.
    pub fn once(&self, subject: &str, value: f64) -> Measurement {
        self.number(subject, 1, value)
    }

    /// A value of this measure; repetitions count from 1.
    pub fn number(&self, subject: &str, repetition: u64, value: f64) -> Measurement {
        self.named().number(subject, repetition, value)
    }

    /// This measure of a family: with `part` in its name.
    pub fn of(&self, part: &str) -> Named {
        Named { name: self.name.replacen('*', part, 1), unit: self.unit }
    }

    /// This measure for a disk model.
    pub fn on(&self, model: &str) -> Named {
        self.named().on(model)
    }

    /// This measure under its own name.
    pub fn named(&self) -> Named {
        Named { name: self.name.to_owned(), unit: self.unit }
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

impl Named {
    /// The name in the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same for a disk model.
    pub fn on(self, model: &str) -> Named {
        Named { name: format!("{}{ON}{model}", self.name), ..self }
    }

    /// The same of a benchmark that waits for this share of its time, in percent; 0 is the measure itself.
    pub fn waiting(self, percent: f64) -> Named {
        if percent > 0.0 { Named { name: format!("{}{WAITING}{percent}", self.name), ..self } } else { self }
    }

    /// A value; repetitions count from 1, and `subject` is empty where there are no sides.
    pub fn number(&self, subject: &str, repetition: u64, value: f64) -> Measurement {
        Measurement {
            subject: subject.to_owned(),
            measure: self.name.clone(),
            unit: self.unit.to_owned(),
            repetition,
            value,
        }
    }
}

/// The measure of a name in the store, and the disk model that its value is for.
pub fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once(ON).map_or((name, None), |(measure, model)| (measure, Some(model)))
}

/// The measure that has this name in the store. Of those that do, as of a family in a family, the one with the longest name of its own.
pub fn find(name: &str) -> Option<&'static Measure> {
    let (name, _) = split(name);
    let name = name.split_once(WAITING).map_or(name, |(name, _)| name);
    MEASURES
        .iter()
        .copied()
        .filter(|measure| measure.is_called(name))
        .max_by_key(|measure| measure.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_every_measure_is_described() {
        let mut names = HashSet::new();
        for measure in MEASURES {
            assert!(names.insert(measure.name), "{}", measure.name);
            assert!(measure.doc.ends_with('.') && !measure.label.is_empty(), "{}", measure.name);
            assert!(measure.name.matches('*').count() <= 1, "{}", measure.name);
            assert_eq!(find(measure.name), Some(*measure));
        }
    }

    #[test]
    fn names_in_the_store_lead_back_to_their_measure() {
        for (named, measure) in [
            (MODELLED_S_PER_GIB.on("hdd-7200"), &MODELLED_S_PER_GIB),
            (OPERATIONS_PER_S.named().waiting(2.5), &OPERATIONS_PER_S),
            (OPERATION_PER_S.of("read").on("ssd"), &OPERATION_PER_S),
            (WALL_BYTES_PER_S.of("create_16384"), &WALL_BYTES_PER_S),
            (FIO_BYTES_PER_S.of("job_read"), &FIO_BYTES_PER_S),
            (PHASE_OBJECTS_PER_S.of("cleanup").on("ssd"), &PHASE_OBJECTS_PER_S),
            (LATENCY_P99.of("create").waiting(50.0), &LATENCY_P99),
        ] {
            assert_eq!(find(named.name()), Some(measure), "{named:?}");
        }
        assert_eq!(OPERATIONS_PER_S.named().waiting(0.0), OPERATIONS_PER_S.named());
        for unknown in ["", "sails", "_per_s", " on ssd"] {
            assert_eq!(find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_number_has_the_name_and_unit_of_its_measure() {
        let number = SCAN_REQUESTS.number("aged", 3, 7.0);
        let expected = ("aged", "scan_requests", "requests", 3, 7.0);
        let found = (&*number.subject, &*number.measure, &*number.unit, number.repetition, number.value);
        assert_eq!(found, expected);
        assert_eq!(
            split("modelled_s_per_gib on a disk on a shelf"),
            ("modelled_s_per_gib", Some("a disk on a shelf"))
        );
    }
}
