//! Runs the threads of a personality together, for a time or a number of operations.

use super::choice::FileStates;
use super::error::Error;
use super::files::FileTree;
use super::kind::OperationKind;
use super::limit::Growth;
use super::load::Personality;
use super::operation::Operation;
use super::outcome::{Outcome, Tally};
use super::plan::Plan;
use super::thread::{Thread, incompressible};
use quanta::Clock;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Interval at which the end of the run is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Stack of a thread, which needs little.
const STACK_BYTES: usize = 256 << 10;

/// The length of a run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum RunLength {
    /// A duration.
    Time(Duration),
    /// Complete loops with at least this many operations.
    Operations(u64),
}

/// A run of a personality on existing files.
pub struct Run<'a> {
    /// The personality.
    pub personality: &'a Personality,
    /// The files.
    pub plan: &'a Plan,
    /// The open directories of the files.
    pub files: &'a FileTree,
    /// The length of the run.
    pub length: RunLength,
    /// The seed of the random choices.
    pub seed: u64,
}

/// State shared by all threads.
pub(super) struct Shared<'a> {
    pub plan: &'a Plan,
    pub files: &'a FileTree,
    pub seed: u64,
    pub io_bytes: u64,
    pub operations: Vec<Operation>,
    /// The operation at which to continue if one cannot be done: the one after the close of its step.
    pub otherwise: Vec<usize>,
    /// The states of the files of each set.
    pub choices: Vec<FileStates>,
    /// The growth of the files of each set.
    pub grown: Vec<Growth>,
    /// The data to write.
    pub data: Vec<u8>,
    over: AtomicBool,
    /// The error that ended the run, if any.
    failed: OnceLock<Error>,
    loops_left: AtomicU64,
    begun_raw: OnceLock<u64>,
}

impl Shared<'_> {
    /// Whether the run is over.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends the run with an error; the first one is kept.
    pub fn fail(&self, error: Error) {
        let _ = self.failed.set(error);
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether a thread starts another loop.
    pub fn another_loop(&self) -> bool {
        let one_less = |left: u64| left.checked_sub(1);
        !self.is_over()
            && self.loops_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// The clock reading at the start of the run.
    pub fn begun_raw(&self) -> u64 {
        *self.begun_raw.get().expect("the run has started")
    }
}

/// Runs the personality. Checks `interrupted` at intervals. A failed operation ends the run.
pub fn run(run: &Run, interrupted: &dyn Fn() -> bool) -> Result<Outcome, Error> {
    let operations = run.personality.operations()?;
    let loops = match run.length {
        RunLength::Time(_) => u64::MAX,
        RunLength::Operations(least) => least.div_ceil(operations.len() as u64),
    };
    let shared = Shared {
        plan: run.plan,
        files: run.files,
        seed: run.seed,
        io_bytes: run.personality.io_bytes,
        otherwise: otherwise(&operations),
        operations,
        choices: run
            .plan
            .sets
            .iter()
            .map(|set| FileStates::new(set.files.iter().map(|file| file.there)))
            .collect(),
        grown: run.plan.sets.iter().map(|_| Growth::default()).collect(),
        data: incompressible(run.personality.io_bytes),
        over: AtomicBool::new(false),
        failed: OnceLock::new(),
        loops_left: AtomicU64::new(loops),
        begun_raw: OnceLock::new(),
    };
    let tallies = together(run, &shared, interrupted)?;
    if interrupted() {
        return Err(Error::Interrupted);
    }
    if let Some(error) = shared.failed.into_inner() {
        return Err(error);
    }
    Ok(Outcome::of(run.personality, &tallies))
}

/// Starts all threads together and waits for them.
fn together(run: &Run, shared: &Shared, interrupted: &dyn Fn() -> bool) -> Result<Vec<Tally>, Error> {
    let threads = run.personality.threads;
    let (clock, running, gate) = (Clock::new(), AtomicU32::new(threads), Gate::default());
    std::thread::scope(|scope| {
        let mut started = Vec::new();
        for number in 0..threads {
            let thread = Thread::new(shared, number, clock.clone());
            let (gate, running) = (&gate, &running);
            let work = move || {
                gate.wait();
                let tally = thread.run();
                running.fetch_sub(1, Ordering::Release);
                tally
            };
            match std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work) {
                Ok(thread) => started.push(thread),
                Err(source) => {
                    // The threads that wait at the gate see that the run is over.
                    shared.over.store(true, Ordering::Relaxed);
                    gate.open();
                    return Err(Error::Thread { number: number + 1, threads, source });
                }
            }
        }
        let _ = shared.begun_raw.set(clock.raw());
        gate.open();
        wait(run.length, shared, &running, interrupted);
        Ok(started.into_iter().map(|thread| thread.join().expect("no thread panics")).collect())
    })
}

/// A barrier that holds the threads until all are started.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        let closed = self.is_open.lock().expect("no thread panics while holding the lock");
        drop(self.opened.wait_while(closed, |is_open| !*is_open));
    }

    fn open(&self) {
        *self.is_open.lock().expect("no thread panics while holding the lock") = true;
        self.opened.notify_all();
    }
}

/// Waits until the run must end, and ends it.
fn wait(length: RunLength, shared: &Shared, running: &AtomicU32, interrupted: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while running.load(Ordering::Acquire) > 0 && !interrupted() {
        let left = match length {
            RunLength::Time(time) => time.saturating_sub(begun.elapsed()),
            RunLength::Operations(_) => LOOK,
        };
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(LOOK));
    }
    shared.over.store(true, Ordering::Relaxed);
}

/// For each operation, the one at which to continue if it cannot be done.
fn otherwise(operations: &[Operation]) -> Vec<usize> {
    let mut is_open = false;
    let go_on = |(at, operation): (usize, &Operation)| {
        is_open = match operation.kind() {
            OperationKind::Create | OperationKind::Open => true,
            OperationKind::Close => false,
            _ => is_open,
        };
        let behind = || operations[at..].iter().position(|after| after.kind() == OperationKind::Close);
        if is_open { at + behind().expect("steps close the files they open") + 1 } else { at + 1 }
    };
    operations.iter().enumerate().map(go_on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::personality::FileSet;
    use std::path::Path;

    /// Runs a personality below `root`.
    fn ran(root: &Path, personality: &Personality, length: RunLength) -> Result<Outcome, Error> {
        let plan = Plan::new(personality, 1)?;
        plan.make(root, &|| false)?;
        let files = FileTree::open(&plan, root, personality.threads)?;
        run(&Run { personality, plan: &plan, files: &files, length, seed: 1 }, &|| false)
    }

    fn counts(outcome: &Outcome) -> Vec<(&str, u64)> {
        outcome.by_kind.iter().map(|(kind, of)| (kind.as_str(), of.done)).collect()
    }

    /// The operation counts are those of the loops, and the remaining files match the counts.
    #[test]
    fn number_of_operations_runs_complete_loops() {
        for (name, expected) in [
            (
                "fileserver",
                vec![
                    ("append", 1),
                    ("close", 3),
                    ("create", 1),
                    ("delete", 1),
                    ("open", 2),
                    ("read", 1),
                    ("stat", 1),
                    ("write", 1),
                ],
            ),
            (
                "varmail",
                vec![
                    ("append", 2),
                    ("close", 3),
                    ("create", 1),
                    ("delete", 1),
                    ("fsync", 2),
                    ("open", 2),
                    ("read", 2),
                ],
            ),
            ("webserver", vec![("append", 1), ("close", 10), ("open", 10), ("read", 10)]),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let personality = Personality { threads: 4, ..Personality::find(name).unwrap().scaled(0.05) };
            let each = personality.operations().unwrap().len() as u64;
            let outcome = ran(dir.path(), &personality, RunLength::Operations(each * 200)).unwrap();
            assert_eq!(outcome.skipped, 0, "{name}");
            let expected: Vec<(&str, u64)> = expected.into_iter().map(|(kind, n)| (kind, 200 * n)).collect();
            assert_eq!(counts(&outcome), expected, "{name}");
            assert_eq!(outcome.operations, each * 200);
            assert!(outcome.read_bytes > 0 && outcome.written_bytes > 0 && outcome.mib_per_s > 0.0);
            for of in outcome.by_kind.values() {
                let ordered =
                    [of.latency_us.median, of.latency_us.p99, of.latency_us.p999, of.latency_us.max];
                assert!(ordered.is_sorted() && ordered[0] > 0.0 && of.worst_at_s >= 0.0);
                assert_eq!(of.latency_bins.iter().map(|bin| bin.count).sum::<u64>(), of.done);
            }
        }
    }

    fn tiny(files: u64, preallocated: f64, steps: &[&str]) -> Personality {
        let set = FileSet {
            files,
            mean_bytes: 3000,
            shape: 1.5,
            width: 20,
            preallocated,
            most_bytes: Some(50_000),
        };
        Personality {
            name: "tiny".to_owned(),
            title: String::new(),
            source: String::new(),
            threads: 3,
            io_bytes: 1000,
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
            set: [("files".to_owned(), set)].into(),
        }
    }

    #[test]
    fn loop_without_files_ends_with_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let error =
            ran(dir.path(), &tiny(20, 1.0, &["delete files"]), RunLength::Time(Duration::from_secs(60)));
        assert!(matches!(error, Err(Error::NoSuitableFile)), "{error:?}");
    }

    #[test]
    fn run_ends_after_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let time = Duration::from_millis(50);
        let plan = tiny(10, 1.0, &["stat files"]);
        // Threads may start late, so their own time may be shorter. Without a time limit the run would never end.
        let begun = Instant::now();
        let outcome = ran(dir.path(), &plan, RunLength::Time(time)).unwrap();
        assert!(begun.elapsed() >= time);
        assert!(outcome.time_s <= begun.elapsed().as_secs_f64(), "{}", outcome.time_s);
    }

    #[test]
    fn files_do_not_exceed_their_limit() {
        let dir = tempfile::tempdir().unwrap();
        let appends = tiny(1, 1.0, &["append 999 to files"]);
        let outcome = ran(dir.path(), &appends, RunLength::Operations(3_000)).unwrap();
        assert_eq!(outcome.written_bytes, 3_000 * 999);
        let largest = std::fs::read_dir(dir.path().join("files/d1")).unwrap();
        let largest = largest.map(|entry| entry.unwrap().metadata().unwrap().len()).max().unwrap();
        assert!(largest < 60_000, "{largest}");
    }

    #[test]
    fn failure_ends_the_run_and_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let personality = tiny(10, 1.0, &["open files; read whole; close", "stat files"]);
        let plan = Plan::new(&personality, 1).unwrap();
        plan.make(dir.path(), &|| false).unwrap();
        let files = FileTree::open(&plan, dir.path(), 3).unwrap();
        std::fs::remove_dir_all(dir.path().join("files/d1")).unwrap();
        let length = RunLength::Time(Duration::from_secs(600));
        let error =
            run(&Run { personality: &personality, plan: &plan, files: &files, length, seed: 1 }, &|| false)
                .unwrap_err()
                .to_string();
        assert!(error.contains(" of files/d1/0000000") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn interrupted_run_ends() {
        let dir = tempfile::tempdir().unwrap();
        let personality = tiny(10, 1.0, &["stat files"]);
        let plan = Plan::new(&personality, 1).unwrap();
        plan.make(dir.path(), &|| false).unwrap();
        let files = FileTree::open(&plan, dir.path(), 3).unwrap();
        let length = RunLength::Time(Duration::from_secs(600));
        let ended =
            run(&Run { personality: &personality, plan: &plan, files: &files, length, seed: 1 }, &|| true);
        assert!(matches!(ended, Err(Error::Interrupted)));
    }

    mod soak {
        use super::*;

        #[test]
        #[ignore = "soak: compares the counter of the processor with the clock of the system, which agree only on a quiet machine"]
        fn longest_operation_starts_before_the_run_ends() {
            let dir = tempfile::tempdir().unwrap();
            let personality =
                Personality { threads: 4, ..Personality::find("varmail").unwrap().scaled(0.05) };
            let begun = Instant::now();
            let outcome = ran(dir.path(), &personality, RunLength::Operations(20_000)).unwrap();
            // More than `time_s`, which starts with the first thread to run.
            let longest_s = 1.1 * begun.elapsed().as_secs_f64();
            assert!(outcome.by_kind.values().all(|of| of.worst_at_s <= longest_s), "{longest_s}");
        }
    }
}
