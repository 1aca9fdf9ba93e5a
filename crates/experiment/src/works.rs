//! The publications that are reproduced, with all figures and tables, and how these are divided among machines.

use super::spec::Experiment;
use run::Error;
use serde::Serialize;

/// The publications that are listed completely, built in or not: the prefix of the figure names, its title, the number of figures, and its tables and listings.
const WORKS: [(&str, &str, u32, &[&str]); 4] = [
    (
        "fast17",
        "Conway et al., File Systems Fated for Senescence? Nonsense, Says Science!, FAST 2017",
        9,
        &[],
    ),
    (
        "geriatrix17",
        "Kadekodi, Nagarajan and Gibson, Aging Gracefully with Geriatrix, CMU-PDL-17-106, 2017",
        9,
        &["tab2"],
    ),
    ("mdrealio16", "Kunkel, Analysis of Local File Systems Using MD-REAL-IO, 2016", 5, &["lst1"]),
    ("smith97", "Smith and Seltzer, File System Aging, SIGMETRICS 1997", 8, &["tab1", "tab2", "tab3"]),
];

/// A figure, table or listing of one of the publications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name: `fast17-fig5`.
    pub figure: String,
    /// `figure`, `table` or `listing`.
    pub kind: &'static str,
    /// Its number within its kind; 0 if the name has none.
    pub number: u32,
    /// The publication, as a reference.
    pub work: String,
    /// Whether a built-in experiment reproduces it.
    pub built_in: bool,
    /// The file of that experiment.
    pub file: Option<String>,
}

/// All figures, tables and listings, by publication, figures first; then the built-in experiments of other publications.
pub fn listed() -> Vec<Listed> {
    let others = Experiment::builtin().filter(|name| !WORKS.iter().any(|(short, ..)| is_of(name, short)));
    // Their reference is all that their experiment says of the source.
    let others = others.map(|name| {
        let source = Experiment::find(name).map(|experiment| experiment.source);
        Listed::new(name.to_owned(), source.unwrap_or_default())
    });
    complete().chain(others).collect()
}

/// The publication that is listed completely and has this figure, as a reference.
pub fn work_of(figure: &str) -> Option<&'static str> {
    WORKS.into_iter().find(|(short, ..)| is_of(figure, short)).map(|(_, work, ..)| work)
}

/// Whether this is the name of a figure of the publication with that prefix.
fn is_of(figure: &str, short: &str) -> bool {
    figure.strip_prefix(short).is_some_and(|part| part.starts_with('-'))
}

/// All of the publications that are listed completely.
fn complete() -> impl Iterator<Item = Listed> {
    let of = |(short, work, figures, others): (&'static str, &'static str, u32, &[&str])| {
        let figures = (1..=figures).map(|number| format!("fig{number}"));
        let all = figures.chain(others.iter().map(|other| (*other).to_owned()));
        all.map(move |part| Listed::new(format!("{short}-{part}"), work.to_owned())).collect::<Vec<_>>()
    };
    WORKS.into_iter().flat_map(of)
}

impl Listed {
    fn new(figure: String, work: String) -> Listed {
        // The name ends with the kind and the number: `-fig5`.
        let part = figure.rsplit('-').next().unwrap_or_default();
        let number = part.trim_start_matches(|c: char| !c.is_ascii_digit());
        let kind = match part.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "tab" => "table",
            "lst" => "listing",
            _ => "figure",
        };
        let number = number.parse().unwrap_or(0);
        let built_in = Experiment::builtin().any(|name| name == figure);
        let file = built_in.then(|| format!("experiments/{figure}.toml"));
        Listed { figure, kind, number, work, built_in, file }
    }
}

/// A part of the figures for one of several machines, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of this part.
    pub number: usize,
    /// The number of parts.
    pub of: usize,
}

impl Shard {
    /// Everything in one part.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// The experiments of this part. Experiments are assigned by descending expected time to the machine with the smallest load, so that
    /// all machines end at about the same time; the division is deterministic, so machines need not communicate. Each part keeps the order
    /// of the list.
    pub fn of_all(self, experiments: Vec<Experiment>, scale: &str) -> Result<Vec<Experiment>, Error> {
        let mut costs = Vec::new();
        for (at, experiment) in experiments.iter().enumerate() {
            costs.push((experiment.at(scale)?.expected_s, at));
        }
        costs.sort_by_key(|&(cost, at)| (std::cmp::Reverse(cost), at));
        let mut load = vec![0; self.of];
        let mut part = vec![0; experiments.len()];
        for (cost, at) in costs {
            let least = (0..self.of).min_by_key(|&part| load[part]).expect("there is a part");
            load[least] += cost.max(1);
            part[at] = least;
        }
        let mine = experiments.into_iter().zip(part).filter(|(_, part)| part + 1 == self.number);
        Ok(mine.map(|(experiment, _)| experiment).collect())
    }

    /// The items of this part: consecutive ones, so that what lies side by side in the list is mostly measured on one machine.
    pub fn part_of<T>(self, items: Vec<T>) -> Vec<T> {
        let end = |number: usize| items.len() * number / self.of;
        let (begin, end) = (end(self.number - 1), end(self.number));
        items.into_iter().take(end).skip(begin).collect()
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("must be PART/PARTS, as in 1/4".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn list_has_every_figure_and_every_built_in() {
        let listed: Vec<Listed> = complete().collect();
        assert_eq!(listed.len(), 36);
        let kinds = |kind: &str| listed.iter().filter(|one| one.kind == kind).count();
        assert_eq!([kinds("figure"), kinds("table"), kinds("listing")], [31, 4, 1]);
        assert_eq!(
            (listed[18].figure.as_str(), listed[18].kind, listed[18].number),
            ("geriatrix17-tab2", "table", 2)
        );
        assert_eq!(listed[4].file.as_deref(), Some("experiments/fast17-fig5.toml"));
        let names: HashSet<&str> = listed.iter().map(|one| one.figure.as_str()).collect();
        assert_eq!(names.len(), 36);
        let all: Vec<String> = super::listed().into_iter().map(|one| one.figure).collect();
        for name in Experiment::builtin() {
            assert_eq!(all.iter().filter(|listed| *listed == name).count(), 1, "{name}");
            let is_of_a_listed_work = WORKS.iter().any(|(short, ..)| is_of(name, short));
            assert!(!is_of_a_listed_work || names.contains(name), "{name}");
        }
    }

    #[test]
    fn names_tell_kind_and_number() {
        let told = |name: &str| {
            let listed = Listed::new(name.to_owned(), String::new());
            (listed.kind, listed.number)
        };
        assert_eq!(told("smith97-tab2"), ("table", 2));
        assert_eq!(told("a-b-fig10"), ("figure", 10));
        assert_eq!(told("mine"), ("figure", 0));
    }

    fn all() -> Vec<Experiment> {
        Experiment::builtin().map(|name| Experiment::find(name).unwrap()).collect()
    }

    #[test]
    fn shards_cover_each_figure_once_with_balanced_cost() {
        let cost = |part: &[Experiment]| part.iter().map(|e| e.at("small").unwrap().expected_s).sum::<u64>();
        let whole = cost(&all());
        let costliest = all().iter().map(|e| e.at("small").unwrap().expected_s).max().unwrap();
        for of in [1, 2, 3, 8] {
            let parts: Vec<Vec<Experiment>> =
                (1..=of).map(|number| Shard { number, of }.of_all(all(), "small").unwrap()).collect();
            let mut names: Vec<&str> = parts.iter().flatten().map(|e| e.figure.as_str()).collect();
            names.sort_unstable();
            let mut expected: Vec<&str> = Experiment::builtin().collect();
            expected.sort_unstable();
            assert_eq!(names, expected);
            for part in &parts {
                assert!(cost(part) <= whole / of as u64 + costliest, "{of}: {}", cost(part));
            }
        }
    }

    #[test]
    fn parts_of_a_list_cover_it_in_order() {
        for of in [1, 3, 8, 20] {
            let part = |number| Shard { number, of }.part_of((0..8).collect());
            let parts: Vec<Vec<i32>> = (1..=of).map(part).collect();
            assert_eq!(parts.concat(), (0..8).collect::<Vec<_>>());
            assert!(parts.iter().all(|part| part.len() <= 8usize.div_ceil(of)), "{parts:?}");
        }
    }

    #[test]
    fn shard_number_must_be_in_range() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b", "1/4/2", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
