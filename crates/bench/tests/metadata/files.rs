//! The metadata benchmark on files, with threads as ranks.

use crate::Recorder;
use ranks::{Group as _, threads};
use senesce_bench::metadata::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs with `ranks` threads; returns the outcomes of the phases and the result of each rank.
fn run_with(
    settings: &Settings,
    ranks: u32,
    run_info: Option<&Path>,
    interface: impl Fn(u32) -> Box<dyn Interface> + Sync,
) -> (Vec<PhaseOutcome>, Vec<Result<(), Error>>) {
    let told = Mutex::new(Recorder::default());
    let (told_ref, interface) = (&told, &interface);
    let ended = std::thread::scope(|scope| {
        let started: Vec<_> = threads(ranks)
            .into_iter()
            .map(|mut group| {
                scope.spawn(move || {
                    let mut own = Recorder::default();
                    let mut interface = interface(group.rank());
                    let done = run(settings, &mut group, interface.as_mut(), run_info, &|| false, &mut own);
                    if group.rank() == 0 {
                        *told_ref.lock().unwrap() = own;
                    }
                    if done.is_ok() {
                        group.end();
                    }
                    done
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (told.into_inner().unwrap().0, ended)
}

fn on_files(settings: &Settings, ranks: u32, root: &Path) -> Vec<PhaseOutcome> {
    let (outcomes, ended) = run_with(settings, ranks, None, |_| Box::new(Posix::new(root)));
    ended.into_iter().for_each(|done| done.unwrap());
    outcomes
}

/// Calls a function with the initial of each operation on an object before it does the operation.
struct Hooked<I, H>(I, H);

impl<I: Interface, H: FnMut(char, Object) -> Result<(), InterfaceError>> Interface for Hooked<I, H> {
    fn prepare(&mut self) -> Result<(), InterfaceError> {
        self.0.prepare()
    }
    fn finish(&mut self) -> Result<(), InterfaceError> {
        self.0.finish()
    }
    fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        self.0.make_set(set)
    }
    fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        self.0.remove_set(set)
    }
    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
        self.1('w', object)?;
        self.0.write(object, contents)
    }
    fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
        self.1('s', object)?;
        self.0.stat(object)
    }
    fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
        self.1('r', object)?;
        self.0.read(object, bytes, into)
    }
    fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
        self.1('d', object)?;
        self.0.delete(object)
    }
    fn stores_contents(&self) -> bool {
        self.0.stores_contents()
    }
}

fn small() -> Settings {
    Settings { data_sets: 3, precreate: 20, iterations: 10, repeats: 2, ..Settings::default() }
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        found.push(entry.path());
        if entry.path().is_dir() {
            found.extend(names(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn all_ranks_run_all_phases_and_leave_nothing() {
    for (ranks, offset) in [(1, 1), (2, 1), (4, 1), (4, 3), (5, 2)] {
        let dir = crate::dir();
        let root = dir.path().join("out");
        let settings = Settings { offset, ..small() };
        let outcomes = on_files(&settings, ranks, &root);
        let all = u64::from(ranks) * 3;
        let seen: Vec<_> =
            outcomes.iter().map(|o| (o.phase.name(), o.iteration, o.objects, o.errors)).collect();
        assert_eq!(
            seen,
            [
                ("precreate", 0, all * 20, 0),
                ("benchmark", 0, all * 10, 0),
                ("benchmark", 1, all * 10, 0),
                ("cleanup", 0, all * 20, 0)
            ]
        );
        assert_eq!(outcomes[0].data_sets, all);
        assert!(outcomes.iter().all(|o| o.ranks.len() == ranks as usize && o.objects_per_s > 0.0));
        let benchmark = &outcomes[1];
        for op in ["create", "stat", "read", "delete"] {
            assert_eq!(benchmark.operations[op], OpOutcome { done: all * 10, errors: 0 });
            let us = benchmark.latency_us[op];
            assert!(0.0 < us.min && us.min <= us.median && us.median <= us.p999 && us.p999 <= us.max);
        }
        assert!(!root.exists(), "{:?}", names(dir.path()));
    }
}

#[test]
fn phases_run_separately_in_consecutive_jobs() {
    let dir = crate::dir();
    let (root, info) = (dir.path().join("out"), dir.path().join("info"));
    let only = |phases: [bool; 3]| Settings {
        phases: Phases { precreate: phases[0], benchmark: phases[1], cleanup: phases[2] },
        ..small()
    };
    let job =
        |settings: &Settings, ranks| run_with(settings, ranks, Some(&info), |_| Box::new(Posix::new(&root)));
    let well = |(outcomes, ended): (Vec<PhaseOutcome>, Vec<Result<(), Error>>)| {
        ended.into_iter().for_each(|done| done.unwrap());
        assert!(outcomes.iter().all(|o| o.errors == 0), "{outcomes:?}");
        outcomes
    };
    well(job(&only([true, false, false]), 3));
    assert_eq!(names(&root).len(), 3 * 3 * 21);
    well(job(&only([false, true, false]), 3));
    let (_, ended) = job(&only([false, true, false]), 2);
    assert!(ended[0].as_ref().unwrap_err().to_string().contains("3 ranks"), "{ended:?}");
    well(job(&only([false, true, false]), 3));
    let cleaned = well(job(&only([false, false, true]), 3));
    assert_eq!(cleaned[0].objects, 3 * 3 * 20);
    assert!(names(&root).is_empty() && !info.exists());
}

#[test]
fn stonewall_ends_a_phase_and_cleanup_is_complete() {
    for wear_out in [false, true] {
        let dir = crate::dir();
        let root = dir.path().join("out");
        let stonewall = Some(Stonewall { after: Duration::from_millis(1), wear_out });
        let settings = Settings { precreate: 1_000, iterations: 1_000, repeats: 3, stonewall, ..small() };
        let outcomes = on_files(&settings, 3, &root);
        assert!(outcomes.iter().all(|o| o.errors == 0), "{outcomes:?}");
        for benchmark in &outcomes[1..4] {
            let iterations = benchmark.stonewall_iterations.unwrap();
            assert!(0 < iterations && iterations < 1_000);
            let each: Vec<u64> = benchmark.ranks.iter().map(|rank| rank.objects).collect();
            assert!(!wear_out || each.iter().all(|objects| *objects == 3 * iterations), "{each:?}");
        }
        assert!(!root.exists());
    }
}

#[test]
fn read_only_run_changes_nothing() {
    let dir = crate::dir();
    let root = dir.path().join("out");
    let outcomes = on_files(&Settings { read_only: true, repeats: 3, ..small() }, 2, &root);
    assert_eq!(outcomes.len(), 5);
    for benchmark in &outcomes[1..4] {
        assert_eq!((benchmark.objects, benchmark.errors), (2 * 3 * 10, 0));
        assert!(!benchmark.operations.contains_key("delete") && !benchmark.operations.contains_key("create"));
        assert!((benchmark.operations_per_s / benchmark.objects_per_s - 2.0).abs() < 1e-9);
    }
    assert!(!root.exists());
}

#[test]
fn wrong_and_missing_objects_are_counted_and_named() {
    let dir = crate::dir();
    let (root, info) = (dir.path().join("out"), dir.path().join("info"));
    let job = |phases| {
        let settings = Settings { phases, repeats: 1, ..small() };
        let (outcomes, ended) = run_with(&settings, 2, Some(&info), |_| Box::new(Posix::new(&root)));
        ended.into_iter().for_each(|done| done.unwrap());
        outcomes
    };
    let none = Phases { precreate: false, benchmark: false, cleanup: false };
    job(Phases { precreate: true, ..none });
    let flip = |name: &str| {
        let mut bytes = std::fs::read(root.join(name)).unwrap();
        bytes[3_000] ^= 1;
        std::fs::write(root.join(name), bytes).unwrap();
    };
    flip("0_1/file-4");
    std::fs::remove_file(root.join("1_2/file-7")).unwrap();
    std::fs::write(root.join("1_0/file-0"), "short").unwrap();
    let benchmark = &job(Phases { benchmark: true, ..none })[0];
    // The truncated object fails both in stat and in read.
    assert_eq!(benchmark.errors, 4, "{:?}", benchmark.failures);
    let told = benchmark.failures.join("\n");
    for what in [
        "read of object 4 in data set 0_1: byte 3000 is wrong",
        "stat of object 7 in data set 1_2: No such file",
        "stat of object 0 in data set 1_0: it has 5 bytes instead of 3900",
    ] {
        assert!(told.contains(what), "{told}");
    }
    // A missing object cannot be deleted, and is then not replaced either; the cleanup removes the rest.
    let cleanup = &job(Phases { cleanup: true, ..none })[0];
    assert_eq!(cleanup.operations["delete"].errors, 1);
    assert!(names(&root).is_empty());
}

#[test]
fn full_disk_ends_the_precreate_phase_unless_ignored() {
    let fill = |op, object: Object| match (op, object.set.rank, object.item) {
        ('w', 1, 5) => Err(rustix::io::Errno::NOSPC.into()),
        _ => Ok(()),
    };
    let dir = crate::dir();
    let root = dir.path().join("out");
    let full = |_| -> Box<dyn Interface> { Box::new(Hooked(Posix::new(&root), fill)) };
    let (outcomes, ended) = run_with(&small(), 3, None, full);
    for done in ended {
        let error = done.unwrap_err().to_string();
        assert!(error.starts_with("rank 1: ") && error.contains("No space left"), "{error}");
    }
    assert_eq!((outcomes.len(), outcomes[0].errors), (1, 1));
    std::fs::remove_dir_all(&root).unwrap();
    let (outcomes, ended) = run_with(&Settings { ignore_precreate_errors: true, ..small() }, 3, None, full);
    assert!(ended.iter().all(Result::is_ok) && outcomes.len() == 4);
    assert_eq!(outcomes[0].errors, 3);
    assert!(!root.exists());
}

#[test]
fn lost_rank_ends_the_others() {
    // The third rank panics; the others would run for weeks.
    let panic = |_, object: Object| {
        std::thread::sleep(Duration::from_millis(1));
        if object.set.rank == 2 { std::panic::resume_unwind(Box::new(())) } else { Ok(()) }
    };
    let settings = Settings { precreate: 1_000_000_000, ..small() };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = threads(4)
            .into_iter()
            .map(|mut group| {
                let settings = &settings;
                scope.spawn(move || {
                    let mut interface = Hooked(Null, panic);
                    let mut told = Recorder::default();
                    let done = run(settings, &mut group, &mut interface, None, &|| false, &mut told);
                    if done.is_ok() {
                        group.end();
                    }
                    done
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join()).collect()
    });
    assert!(ended[2].is_err(), "rank 2 panicked");
    for rank in [0, 1, 3] {
        let error = ended[rank].as_ref().unwrap().as_ref().unwrap_err().to_string();
        assert_eq!(error, "rank 2 ended before the others");
    }
}

#[test]
fn object_sizes_may_vary() {
    let dir = crate::dir();
    let root = dir.path().join("out");
    let sizes = SizeDistribution::Uniform { least: 0, most: 9_000 };
    let outcomes = on_files(&Settings { object_size: sizes, precreate: 200, ..small() }, 2, &root);
    assert!(outcomes.iter().all(|o| o.errors == 0), "{outcomes:?}");
    let mib = outcomes[0].mib_per_s * outcomes[0].time_s;
    let mean = mib * f64::from(1 << 20) / (2.0 * 3.0 * 200.0);
    assert!((mean / 4_500.0 - 1.0).abs() < 0.1, "{mean}");
}

#[test]
fn invalid_settings_are_refused() {
    for (settings, what) in [
        (Settings { data_sets: 0, ..small() }, "data set"),
        (Settings { iterations: 21, ..small() }, "21 iterations"),
        (
            Settings { object_size: SizeDistribution::Uniform { least: 2, most: 1 }, ..small() },
            "between 2 and 1",
        ),
        (Settings { object_size: SizeDistribution::Fixed(1 << 40), ..small() }, "too large"),
        (Settings { waiting: WaitingFactor::Fixed(-1.0), ..small() }, "-1"),
        (Settings { precreate: u64::MAX, ..small() }, "fewer"),
    ] {
        let error = settings.check(2).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn objects_are_written_first_only_if_asked() {
    for (write_first, step) in [(true, "wsrd"), (false, "srdw")] {
        let phases = Phases { precreate: true, benchmark: true, cleanup: false };
        let settings = Settings { data_sets: 1, repeats: 1, write_first, phases, ..small() };
        let done = Arc::new(Mutex::new(String::new()));
        let (_, ended) = run_with(&settings, 1, None, |_| {
            let done = done.clone();
            Box::new(Hooked(Null, move |op, _| {
                done.lock().unwrap().push(op);
                Ok(())
            }))
        });
        ended.into_iter().for_each(|done| done.unwrap());
        assert_eq!(*done.lock().unwrap(), "w".repeat(20) + &step.repeat(10));
    }
}

#[test]
fn data_sets_are_filled_one_after_the_other_only_if_asked() {
    let phases = Phases { precreate: true, benchmark: false, cleanup: false };
    for (set_by_set, expected) in [(true, "000111"), (false, "010101")] {
        let settings = Settings { data_sets: 2, precreate: 3, iterations: 1, set_by_set, phases, ..small() };
        let done = Arc::new(Mutex::new(String::new()));
        let (_, ended) = run_with(&settings, 1, None, |_| {
            let done = done.clone();
            Box::new(Hooked(Null, move |_, object: Object| {
                *done.lock().unwrap() += &object.set.number.to_string();
                Ok(())
            }))
        });
        ended.into_iter().for_each(|done| done.unwrap());
        assert_eq!(*done.lock().unwrap(), expected);
    }
}

/// The lines of Listing 1 of the report, without times of day.
#[test]
fn output_has_the_layout_of_the_report() {
    let settings = Settings { repeats: 5, ..Settings::default() };
    let (free, root) = (Some(1000 << 20), "/mnt/test/out");
    let above = Heading {
        interface: "posix",
        root,
        ranks: 1,
        free_memory_bytes: free,
        process_reports: true,
        ..Heading::default()
    };
    let text = heading(&settings, &above);
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(first.starts_with("MD-REAL-IO total objects: 80000 (version: "), "{first}");
    let expected = "offset=1 interface=posix obj-per-proc=1000 precreate-per-set=3000 data-sets=10 lim-free-mem=1000 \
                    lim-free-mem-phase=0 object-size=3900 iterations=5 start-index=0 run-precreate run-benchmark \
                    run-cleanup process-reports root-dir=/mnt/test/out";
    assert_eq!(rest.split_whitespace().collect::<Vec<_>>().join(" "), expected);
    let dir = crate::dir();
    let outcomes = on_files(&Settings { repeats: 1, ..small() }, 1, &dir.path().join("out"));
    // Numbers as `#`, up to the latencies.
    let shape = |line: &str| {
        let (head, _) = line.split_once(" errs)").unwrap();
        let is_number =
            |word: &str| word.trim_start_matches('(').trim_end_matches('s').parse::<f64>().is_ok();
        head.split(' ').map(|word| if is_number(word) { "#" } else { word }).collect::<Vec<_>>().join(" ")
    };
    let shapes: Vec<String> = outcomes.iter().map(|outcome| shape(&phase_line(outcome))).collect();
    assert_eq!(
        shapes,
        [
            "precreate # # dset # obj # dset/s # obj/s # Mib/s #",
            "benchmark # # obj # obj/s # Mib/s #",
            "cleanup # # obj # dset # obj/s # dset/s #",
        ]
    );
    let ranks: Vec<String> = outcomes.iter().flat_map(rank_lines).collect();
    assert!(
        ranks.iter().zip(&shapes).all(|(rank, of_all)| shape(rank) == format!("0: {of_all}")),
        "{ranks:?}"
    );
}

#[test]
fn output_is_parsed_like_the_published_format() {
    let dir = crate::dir();
    let outcomes = on_files(&small(), 2, &dir.path().join("out"));
    let mut text =
        heading(&small(), &Heading { interface: "posix", root: "/out", ranks: 2, ..Heading::default() });
    for outcome in &outcomes {
        text += &format!("{}\n", phase_line(outcome));
        rank_lines(outcome).for_each(|rank| text += &format!("{rank}\n"));
    }
    // The pattern of the script that comes with md-workbench: (phase).* (obj) obj/s.*?( (mib) Mib/s)? \((errs) errs
    for line in text.lines().filter(|line| line.contains(" obj/s")) {
        let (head, tail) = line.split_once(" obj/s").unwrap();
        assert!(head.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
        let (middle, _) = tail.split_once(" errs").unwrap();
        let (middle, errors) = middle.rsplit_once(" (").unwrap();
        assert_eq!(errors, "0");
        let mib = middle.strip_suffix(" Mib/s").and_then(|m| m.rsplit(' ').next()?.parse::<f64>().ok());
        assert_eq!(mib.is_some(), !line.contains("cleanup"), "{line}");
    }
    let imported = import(&text).unwrap();
    assert_eq!((imported.settings["data-sets"].as_str(), imported.phases.len()), ("3", 4 * 3));
    for (outcome, read) in outcomes.iter().zip(imported.phases.chunks(3)) {
        assert_eq!((read[0].phase, read[0].rank, read[2].rank), (outcome.phase, None, Some(1)));
        assert_eq!((read[0].objects, read[0].errors), (Some(outcome.objects), Some(0)));
        assert!((read[0].time_s.unwrap() - outcome.time_s).abs() <= 0.051);
        assert!((read[0].objects_per_s - outcome.objects_per_s).abs() <= 0.051);
        for (op, us) in &outcome.latency_us {
            assert!((read[0].latency_us[op]["p99"] / us.p99 - 1.0).abs() < 1e-3);
        }
    }
}
