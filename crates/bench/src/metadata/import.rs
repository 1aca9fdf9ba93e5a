//! Imports published results: the output of MD-REAL-IO (2016) and md-workbench (since 2017).

use super::latency::Op;
use super::settings::Phase;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The content of a result file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ImportedResults {
    /// The settings, under their original names.
    pub settings: BTreeMap<String, String>,
    /// The phases, in the order of the file.
    pub phases: Vec<ImportedPhase>,
}

/// A phase, of all ranks or of one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ImportedPhase {
    /// The phase.
    pub phase: Phase,
    /// The repeat, from 0.
    pub iteration: u32,
    /// The rank; none for all ranks.
    pub rank: Option<u32>,
    /// Objects, if given.
    pub objects: Option<u64>,
    /// Objects per second. MD-REAL-IO includes data sets, except in the benchmark phase.
    pub objects_per_s: f64,
    /// MiB per second, if given.
    pub mib_per_s: Option<f64>,
    /// Failed operations, if given.
    pub errors: Option<u64>,
    /// Seconds of the slowest rank, if given.
    pub time_s: Option<f64>,
    /// Latencies in microseconds, by operation and quantile.
    pub latency_us: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The quantiles of an operation, in output order.
const QUANTILES: [&str; 7] = ["min", "q1", "median", "q3", "p90", "p99", "max"];

/// Parses the output. Ignores lines without a phase; a text without any phase is an error.
pub fn import(text: &str) -> Result<ImportedResults, String> {
    let mut imported = ImportedResults::default();
    for line in text.lines() {
        if let Some((name, value)) = line.strip_prefix('\t').and_then(|line| line.trim().split_once('=')) {
            imported.settings.insert(name.to_owned(), value.to_owned());
        } else if let Some(phase) = workbench(line).or_else(|| real_io(line)) {
            let same = |earlier: &&ImportedPhase| earlier.phase == phase.phase && earlier.rank == phase.rank;
            let iteration = imported.phases.iter().filter(same).count() as u32;
            imported.phases.push(ImportedPhase { iteration, ..phase });
        }
    }
    if imported.phases.is_empty() {
        return Err(
            "no line contains the result of a phase in the format of MD-REAL-IO or md-workbench".to_owned()
        );
    }
    Ok(imported)
}

/// A line of MD-REAL-IO as in Listing 1 of the report, or of md-workbench, for all ranks or for one.
fn workbench(line: &str) -> Option<ImportedPhase> {
    let (rank, line) = match line.split_once(": ") {
        Some((rank, rest)) if rank.chars().all(|c| c.is_ascii_digit()) => (Some(rank.parse().ok()?), rest),
        _ => (None, line),
    };
    let (name, numbers) = line.split_once(' ')?;
    let phase =
        [Phase::Precreate, Phase::Benchmark, Phase::Cleanup].into_iter().find(|p| p.name() == name)?;
    Some(ImportedPhase {
        phase,
        iteration: 0,
        rank,
        objects: behind(numbers, "objects:")
            .or_else(|| before(numbers, " obj "))
            .map(|objects| objects as u64),
        objects_per_s: before(numbers, " obj/s")?,
        mib_per_s: before(numbers, " MiB/s").or_else(|| before(numbers, " Mib/s")),
        errors: before(numbers, " errs").map(|errors| errors as u64),
        time_s: behind(numbers, "max:").or_else(|| finite(numbers.split_once("s ")?.0)),
        latency_us: Op::ALL
            .iter()
            .filter_map(|op| Some((op.name().to_owned(), quantiles(numbers, *op)?)))
            .collect(),
    })
}

/// A line of the summary of MD-REAL-IO.
fn real_io(line: &str) -> Option<ImportedPhase> {
    let (name, numbers) = line.split_once(':')?;
    let (phase, unit) = match name {
        "Precreate" => (Phase::Precreate, " elements/s"),
        "Benchmark" => (Phase::Benchmark, " iters/s"),
        "Delete" => (Phase::Cleanup, " elements/s"),
        _ => return None,
    };
    Some(ImportedPhase {
        phase,
        iteration: 0,
        rank: None,
        objects: None,
        objects_per_s: before(numbers, unit)?,
        mib_per_s: before(numbers, " MiB/s"),
        errors: None,
        time_s: None,
        latency_us: BTreeMap::new(),
    })
}

/// The number directly before a word.
fn before(text: &str, word: &str) -> Option<f64> {
    let (head, _) = text.split_once(word)?;
    let begin = head.rfind(|c: char| !(c.is_ascii_digit() || c == '.')).map_or(0, |at| at + 1);
    finite(head.get(begin..)?)
}

/// The number directly after a word.
fn behind(text: &str, word: &str) -> Option<f64> {
    let (_, tail) = text.split_once(word)?;
    let end = tail.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(tail.len());
    finite(&tail[..end])
}

fn finite(number: &str) -> Option<f64> {
    number.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The seven times, in seconds, in the brackets after the name of an operation.
fn quantiles(text: &str, op: Op) -> Option<BTreeMap<String, f64>> {
    let (_, tail) = text.split_once(&format!(" {}(", op.name()))?;
    let (inside, _) = tail.split_once(')')?;
    let seconds: Option<Vec<f64>> = inside.split(", ").map(|s| finite(s.strip_suffix('s')?)).collect();
    let seconds = seconds.filter(|seconds| seconds.len() == QUANTILES.len())?;
    Some(QUANTILES.iter().map(|name| name.to_string()).zip(seconds.iter().map(|s| s * 1e6)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_spellings_of_md_workbench_are_parsed() {
        let text = "Args: \"md-workbench\"\n\
            \toffset=1\n\tinterface=posix\n\trun-precreate\n\n\
            precreate process max:0.60s min:0.6s mean: 0.6s balance:95.0 stddev:0.0 rate:900.5 iops/s dsets: 2 objects:600 \
            rate:3.300 dset/s rate:899.5 obj/s tp:3.4 MiB/s op-max:1.2016e-02s (0 errs) \
            create(1.0e-06s, 2.0e-06s, 3.0e-06s, 4.0e-06s, 5.0e-06s, 6.0e-06s, 1.2e-02s)\n\
            benchmark process max:0.4s rate:40.0 iops/s objects:20 rate: 10.0 obj/s tp: 0.1 Mib/s (2 errs!!!)\n\
            1: benchmark process max:0.4s rate:40.0 iops/s objects:10 rate:5.0 obj/s tp:0.1 MiB/s op-max:1e-3s (2 errs!!!)\n\
            benchmark process max:0.5s rate:40.0 iops/s objects:20 rate:11.0 obj/s tp:0.1 MiB/s op-max:1e-3s (0 errs)\n";
        let imported = import(text).unwrap();
        assert_eq!(imported.settings["interface"], "posix");
        let seen: Vec<_> = imported
            .phases
            .iter()
            .map(|p| (p.phase.name(), p.iteration, p.rank, p.objects_per_s, p.mib_per_s, p.errors))
            .collect();
        assert_eq!(
            seen,
            [
                ("precreate", 0, None, 899.5, Some(3.4), Some(0)),
                ("benchmark", 0, None, 10.0, Some(0.1), Some(2)),
                ("benchmark", 0, Some(1), 5.0, Some(0.1), Some(2)),
                ("benchmark", 1, None, 11.0, Some(0.1), Some(0)),
            ]
        );
        assert!((imported.phases[0].latency_us["create"]["p90"] - 5.0).abs() < 1e-9);
        assert_eq!((imported.phases[0].objects, imported.phases[0].time_s), (Some(600), Some(0.6)));
    }

    /// Lines of Listing 1 of the report.
    #[test]
    fn listing_of_the_report_is_parsed() {
        let text = "precreate 1.1s 10 dset 30000 obj 8.878 dset/s 26634.7 obj/s 99.1 Mib/s (0 errs)\n\
            0: benchmark 0.7s 10000 obj 15320.1 obj/s 114.0 Mib/s (0 errs)\n\
            cleanup 0.3s 30000 obj 10 dset 90796.6 obj/s 30.266 dset/s (0 errs)\n";
        let phases = import(text).unwrap().phases;
        let seen: Vec<_> =
            phases.iter().map(|p| (p.rank, p.objects, p.objects_per_s, p.mib_per_s, p.time_s)).collect();
        assert_eq!(
            seen,
            [
                (None, Some(30_000), 26634.7, Some(99.1), Some(1.1)),
                (Some(0), Some(10_000), 15320.1, Some(114.0), Some(0.7)),
                (None, Some(30_000), 90796.6, None, Some(0.3)),
            ]
        );
    }

    #[test]
    fn md_real_io_summary_is_parsed() {
        let text = "MD-REAL-IO total files: 10 (version: x)\n\nCompound performance:\n\
            Precreate: 700.5 elements/s (dirs+files) 2.5 MiB/s ops = (create dir, file, write, close)\n\
            Benchmark: 80.25 iters/s 0.5 MiB/s iteration = (open, write, close, stat, open, read, close, unlink)\n\
            Delete:    900.0 elements/s (dirs+files) ops = (delete dirs, files)\n";
        let phases = import(text).unwrap().phases;
        let seen: Vec<_> = phases.iter().map(|p| (p.phase.name(), p.objects_per_s, p.mib_per_s)).collect();
        assert_eq!(
            seen,
            [("precreate", 700.5, Some(2.5)), ("benchmark", 80.25, Some(0.5)), ("cleanup", 900.0, None)]
        );
    }

    #[test]
    fn other_text_is_refused() {
        assert!(import("precreate\nobj/s\n").unwrap_err().contains("no line"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(
            text in "([0-9]: )?(precreate|benchmark|Delete:|x)? ?[ -~é\n\t]{0,60}( obj/s| errs| create\\(|objects:)?[ -~]{0,20}",
        ) {
            let _ = import(&text);
        }
    }
}
