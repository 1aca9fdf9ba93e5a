//! The file of all latencies contains all operations of all ranks, for any number of ranks and operations.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use senesce_bench::metadata::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

struct Recorder {
    outcomes: Vec<PhaseOutcome>,
    /// Ends the run after this many phases.
    most: usize,
}

impl PhaseObserver for Recorder {
    fn phase_started(&mut self, _: Phase, _: u32) {}

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.outcomes.push(outcome.clone());
        if self.outcomes.len() < self.most { Ok(()) } else { Err(Error::Settings("enough".to_owned())) }
    }
}

fn go(settings: &Settings, ranks: u32, most: usize) -> (Vec<PhaseOutcome>, Result<(), Error>) {
    let (settings, ranks) = (settings.clone(), Ranks::Threads(ranks));
    let backend = Backend::new("null", ObjectLocation::default()).unwrap();
    let task = Task { settings, ranks, backend, run_info: None };
    let rank_command = || Command::new("false");
    let launch = Launch { task: &task, interrupted: &|| false, rank_command: &rank_command };
    let mut told = Recorder { outcomes: Vec::new(), most };
    let done = launch.run(&mut told);
    (told.outcomes, done)
}

/// By phase, repeat and operation: count, minimum start, maximum end and maximum latency in nanoseconds.
type Rows = BTreeMap<(String, i32, String), (u64, i64, i64, i64)>;

/// Summarizes the rows of a file, and checks that each operation of a rank starts after the previous one has ended. All times are from one clock,
/// so load of the machine does not matter.
fn rows(path: &Path) -> Rows {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut found = BTreeMap::new();
    let mut before = (0, String::new(), 0, 0);
    for row in reader.get_row_iter(None).unwrap() {
        let fields: BTreeMap<String, Field> =
            row.unwrap().get_column_iter().map(|(n, f)| (n.clone(), f.clone())).collect();
        let text = |name: &str| match &fields[name] {
            Field::Str(text) => text.clone(),
            other => panic!("{name} is {other}"),
        };
        let (Field::Int(iteration), Field::Long(start), Field::Long(took)) =
            (&fields["iteration"], &fields["start_ns"], &fields["latency_ns"])
        else {
            panic!("{fields:?}")
        };
        let Field::Int(rank @ 0..2) = fields["rank"] else { panic!("{fields:?}") };
        assert_eq!(fields["waiting"], Field::Double(0.0));
        let phase = text("phase");
        let is_next = (before.0, &before.1, before.2) == (rank, &phase, *iteration);
        assert!(*start >= if is_next { before.3 } else { 0 }, "{fields:?} begins before {} ns", before.3);
        before = (rank, phase, *iteration, start + took);
        let at = found.entry((text("phase"), *iteration, text("operation"))).or_insert((0, i64::MAX, 0, 0));
        *at = (at.0 + 1, at.1.min(*start), at.2.max(start + took), at.3.max(*took));
    }
    found
}

#[test]
fn every_operation_of_every_rank_is_in_one_file() {
    for ranks in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all.parquet");
        // More operations than one row group holds.
        let settings = Settings {
            precreate: 6_600,
            iterations: 100,
            repeats: 2,
            latencies: Some(path.clone()),
            ..Settings::default()
        };
        let (outcomes, done) = go(&settings, ranks, usize::MAX);
        done.unwrap();
        let rows = rows(&path);
        let mut kinds = 0;
        for outcome in &outcomes {
            for (op, count) in &outcome.operations {
                let at = (outcome.phase.name().to_owned(), outcome.iteration as i32, op.clone());
                let (number, _, _, longest) = rows[&at];
                assert_eq!(number, count.done, "{at:?}");
                let told = outcome.latency_us[op].max;
                assert!((longest.max(1) as f64 / 1e3 / told - 1.0).abs() < 2e-3, "{at:?}: {longest} {told}");
                kinds += 1;
            }
        }
        assert_eq!(rows.len(), kinds);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the joined file remains");
    }
}

#[test]
fn run_that_ends_early_leaves_the_parts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.parquet");
    let settings =
        Settings { precreate: 20, iterations: 10, latencies: Some(path.clone()), ..Settings::default() };
    assert!(go(&settings, 1, 2).1.is_err());
    assert!(!path.exists());
    let rows = rows(&dir.path().join("all.parquet.rank-0"));
    assert_eq!(rows[&("precreate".to_owned(), 0, "create".to_owned())].0, 200);
    assert_eq!(rows[&("benchmark".to_owned(), 0, "read".to_owned())].0, 100);
}

#[test]
fn file_that_cannot_be_created_prevents_the_run() {
    let settings = Settings { latencies: Some("/nowhere/at/all.parquet".into()), ..Settings::default() };
    let (outcomes, done) = go(&settings, 2, usize::MAX);
    assert!(outcomes.is_empty());
    assert!(done.unwrap_err().to_string().contains("all.parquet.rank-"));
}

#[test]
fn histograms_and_timelines_are_complete_and_small() {
    let settings = Settings { precreate: 5_000, iterations: 5_000, ..Settings::default() };
    let (outcomes, done) = go(&settings, 2, usize::MAX);
    done.unwrap();
    for outcome in &outcomes {
        for (op, count) in &outcome.operations {
            let (bins, slices) = (&outcome.latency_bins[op], &outcome.timeline[op]);
            assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), count.done);
            assert_eq!(slices.iter().map(|slice| slice.count).sum::<u64>(), count.done);
            assert!(bins.len() < 300 && slices.len() <= 128, "{} {}", bins.len(), slices.len());
            assert!(slices.is_sorted_by(|a, b| a.at_s < b.at_s) && slices[0].at_s > 0.0);
        }
    }
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "soak: compares the counter of the processor with the clock of the system, which agree only on a quiet machine"]
    fn operations_end_before_their_phase() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all.parquet");
        let settings = Settings {
            precreate: 20_000,
            iterations: 20_000,
            latencies: Some(path.clone()),
            ..Settings::default()
        };
        let (outcomes, done) = go(&settings, 2, usize::MAX);
        done.unwrap();
        let rows = rows(&path);
        for outcome in &outcomes {
            for op in outcome.operations.keys() {
                let at = (outcome.phase.name().to_owned(), outcome.iteration as i32, op.clone());
                let (_, least, end, _) = rows[&at];
                assert!(end as f64 / 1e9 <= 1.1 * outcome.time_s, "{at:?}: {least} {end} {}", outcome.time_s);
                assert!(outcome.timeline[op].last().unwrap().at_s < outcome.time_s + 1.0);
            }
        }
    }
}
