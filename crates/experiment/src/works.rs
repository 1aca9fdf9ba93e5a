//! The four publications that are reproduced, with all figures and tables, and how these are divided among machines.

use super::spec::Experiment;
use run::Error;
use serde::Serialize;

/// A publication: the prefix of its figure names, its title, the number of figures, and its tables and listings.
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
    ("smith97", "Smith and Seltzer, File System Aging, SIGMETRICS 1997", 8, &["tab1", "tab2"]),
];

/// A figure, table or listing of one of the publications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name: `fast17-fig5`.
    pub figure: String,
    /// `figure`, `table` or `listing`.
    pub kind: &'static str,
    /// Its number within its kind.
    pub number: u32,
    /// The publication, as a reference.
    pub work: &'static str,
    /// Whether a built-in experiment reproduces it.
    pub built_in: bool,
    /// The file of that experiment.
    pub file: Option<String>,
}

/// All figures, tables and listings, by publication, figures first.
pub fn listed() -> Vec<Listed> {
    let one = |short: &str, work, part: String| {
        let figure = format!("{short}-{part}");
        let (what, number) = part.split_at(3);
        let kind = match what {
            "tab" => "table",
            "lst" => "listing",
            _ => "figure",
        };
        let number = number.parse().expect("each has a number");
        let built_in = Experiment::builtin().any(|name| name == figure);
        let file = built_in.then(|| format!("experiments/{figure}.toml"));
        Listed { figure, kind, number, work, built_in, file }
    };
    let of = |(short, work, figures, others): (&'static str, &'static str, u32, &[&str])| {
        let figures = (1..=figures).map(|number| format!("fig{number}"));
        let all = figures.chain(others.iter().map(|other| (*other).to_owned()));
        all.map(|part| one(short, work, part)).collect::<Vec<Listed>>()
    };
    WORKS.into_iter().flat_map(of).collect()
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
        let listed = listed();
        assert_eq!(listed.len(), 35);
        let kinds = |kind: &str| listed.iter().filter(|one| one.kind == kind).count();
        assert_eq!([kinds("figure"), kinds("table"), kinds("listing")], [31, 3, 1]);
        assert_eq!(
            (listed[18].figure.as_str(), listed[18].kind, listed[18].number),
            ("geriatrix17-tab2", "table", 2)
        );
        assert_eq!(listed[4].file.as_deref(), Some("experiments/fast17-fig5.toml"));
        let names: HashSet<&str> = listed.iter().map(|one| one.figure.as_str()).collect();
        assert_eq!(names.len(), 35);
        for name in Experiment::builtin() {
            assert!(names.contains(name), "{name}");
        }
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
    fn shard_number_must_be_in_range() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b", "1/4/2", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
