//! Requirements on every interface, whatever the service.

use crate::server::{SECRET, Server};
use bench::metadata::*;
use ranks::{ThreadRank, threads};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

struct Recorder(Vec<PhaseOutcome>);

impl PhaseObserver for Recorder {
    fn phase_started(&mut self, _: Phase, _: u32) {}

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.0.push(outcome.clone());
        Ok(())
    }
}

/// A job: its phases, and its result.
struct Job<'a> {
    backend: &'a Backend,
    ranks: u32,
    run_info: Option<&'a Path>,
}

impl Job<'_> {
    fn run(&self, settings: &Settings) -> (Vec<PhaseOutcome>, Result<(), Error>) {
        let mut told = Recorder(Vec::new());
        let task = Task {
            settings: settings.clone(),
            ranks: Ranks::Threads(self.ranks),
            backend: self.backend.clone(),
            run_info: self.run_info.map(Path::to_owned),
        };
        let rank_command = || Command::new("false");
        let launch = Launch { task: &task, interrupted: &|| false, rank_command: &rank_command };
        let done = launch.run(&mut told);
        self.without_secrets(told.0, done)
    }

    /// The same, with the interface of each rank replaced by `wrap`.
    fn run_wrapped(
        &self,
        settings: &Settings,
        wrap: &(dyn Fn(Box<dyn Interface>) -> Box<dyn Interface> + Sync),
    ) -> (Vec<PhaseOutcome>, Result<(), Error>) {
        let rank = &|mut group: ThreadRank| {
            let mut told = Recorder(Vec::new());
            let mut interface = wrap(self.backend.open().unwrap());
            let done = run(settings, &mut group, interface.as_mut(), self.run_info, &|| false, &mut told);
            if done.is_ok() {
                group.end();
            }
            (told.0, done)
        };
        let (phases, done) = std::thread::scope(|scope| {
            let start = |group| scope.spawn(move || rank(group));
            let started: Vec<_> = threads(self.ranks).into_iter().map(start).collect();
            started.into_iter().next().unwrap().join().unwrap()
        });
        self.without_secrets(phases, done)
    }

    fn without_secrets(
        &self,
        phases: Vec<PhaseOutcome>,
        done: Result<(), Error>,
    ) -> (Vec<PhaseOutcome>, Result<(), Error>) {
        let kept = self.run_info.and_then(|path| std::fs::read_to_string(path).ok());
        let all = format!("{:?} {phases:?} {done:?} {kept:?}", self.backend);
        assert!(!all.contains(SECRET), "a secret was printed or stored: {all}");
        (phases, done)
    }
}

fn small() -> Settings {
    let object_size = SizeDistribution::Uniform { least: 0, most: 9_000 };
    Settings { data_sets: 3, precreate: 12, iterations: 8, repeats: 2, object_size, ..Settings::default() }
}

const NONE: Phases = Phases { precreate: false, benchmark: false, cleanup: false };

/// The time-independent results of a phase: objects, data sets, errors, operations.
type Counts = (Phase, u64, u64, u64, BTreeMap<String, OpOutcome>);

fn counts(phases: &[PhaseOutcome]) -> Vec<Counts> {
    phases.iter().map(|p| (p.phase, p.objects, p.data_sets, p.errors, p.operations.clone())).collect()
}

/// The results match those of files, with one rank and with four, and nothing is left.
pub fn behaves_like_files(backend: &Backend) {
    for ranks in [1, 4] {
        let dir = tempfile::tempdir().unwrap();
        let files = Backend::posix(dir.path().join("out"));
        let (expected, done) = Job { backend: &files, ranks, run_info: None }.run(&small());
        done.unwrap();
        let (phases, done) = Job { backend, ranks, run_info: None }.run(&small());
        done.unwrap();
        assert_eq!(counts(&phases), counts(&expected), "{phases:#?}");
        assert!(phases.iter().all(|phase| phase.errors == 0));
        is_empty(backend);
    }
}

/// Checks that the location is empty, so that a new run can start.
pub fn is_empty(backend: &Backend) {
    let mut interface = backend.open().unwrap();
    interface.prepare().unwrap();
    interface.finish().unwrap();
}

/// A wrong byte and a missing object are counted and named; a location in use is refused; the rest is cleaned up. `gone` is the error message
/// for a missing object, `missing_deletes` the number of errors from deleting it.
pub fn counts_errors(backend: &Backend, gone: &str, missing_deletes: u64) {
    let dir = tempfile::tempdir().unwrap();
    let info = dir.path().join("info");
    let job = |phases| {
        let settings = Settings { phases, repeats: 1, ..small() };
        let job = Job { backend, ranks: 2, run_info: Some(&info) };
        let (phases, done) = job.run(&settings);
        (phases, done.map_err(|error| error.to_string()))
    };
    job(Phases { precreate: true, ..NONE }).1.unwrap();
    let refused = job(Phases { precreate: true, ..NONE }).1.unwrap_err();
    assert!(refused.contains("not empty") && refused.contains("--phases cleanup"), "{refused}");
    let object = |rank, number, item| Object { set: DataSet { rank, number }, item };
    let mut interface = backend.open().unwrap();
    let mut contents = Vec::new();
    let bytes = interface.stat(object(0, 1, 4)).unwrap();
    interface.read(object(0, 1, 4), bytes, &mut contents).unwrap();
    assert_eq!(contents.len() as u64, bytes);
    let last = contents.len() - 1;
    contents[last] ^= 1;
    interface.write(object(0, 1, 4), &contents).unwrap();
    interface.delete(object(1, 2, 7)).unwrap();
    drop(interface);
    let (benchmark, done) = job(Phases { benchmark: true, ..NONE });
    done.unwrap();
    assert_eq!(benchmark[0].errors, 2, "{:?}", benchmark[0].failures);
    let told = benchmark[0].failures.join("\n");
    let wrong = format!("read of object 4 in data set 0_1: byte {last} is wrong");
    assert!(told.contains(&wrong), "{wrong}\n{told}");
    assert!(told.contains("stat of object 7 in data set 1_2: ") && told.contains(gone), "{told}");
    // A missing object cannot be deleted, and is then not replaced either.
    let (cleanup, done) = job(Phases { cleanup: true, ..NONE });
    done.unwrap();
    assert_eq!(cleanup[0].errors, missing_deletes, "{:?}", cleanup[0].failures);
    is_empty(backend);
    assert!(!info.exists());
}

/// An interface that calls `act` before the stat of the `left`th object, counted over all ranks.
struct Interrupting {
    inner: Box<dyn Interface>,
    left: Arc<AtomicI64>,
    act: Arc<dyn Fn() + Send + Sync>,
}

impl Interface for Interrupting {
    fn prepare(&mut self) -> Result<(), InterfaceError> {
        self.inner.prepare()
    }
    fn finish(&mut self) -> Result<(), InterfaceError> {
        self.inner.finish()
    }
    fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        self.inner.make_set(set)
    }
    fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        self.inner.remove_set(set)
    }
    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
        self.inner.write(object, contents)
    }
    fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            (self.act)();
        }
        self.inner.stat(object)
    }
    fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
        self.inner.read(object, bytes, into)
    }
    fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
        self.inner.delete(object)
    }
}

/// A server is killed, or stops answering: the run reports it and ends; the rest can be cleaned up when the server is
/// back.
pub fn ends_without_its_server(server: Server, backend: &Backend) {
    let server = Arc::new(Mutex::new(server));
    type Act = fn(&mut Server);
    let killed: (Act, Act) = (Server::kill, Server::restart);
    let stopped: (Act, Act) = (|server| server.signal(Signal::STOP), |server| server.signal(Signal::CONT));
    for (leave, come_back) in [killed, stopped] {
        let dir = tempfile::tempdir().unwrap();
        let info = dir.path().join("info");
        let settings =
            Settings { data_sets: 2, precreate: 150, iterations: 150, repeats: 3, ..Settings::default() };
        let job = Job { backend, ranks: 4, run_info: Some(&info) };
        let (left, leaving) = (Arc::new(AtomicI64::new(100)), server.clone());
        let act: Arc<dyn Fn() + Send + Sync> = Arc::new(move || leave(&mut leaving.lock().unwrap()));
        let (phases, done) = job.run_wrapped(&settings, &move |inner| {
            Box::new(Interrupting { inner, left: left.clone(), act: act.clone() })
        });
        let error = done.unwrap_err().to_string();
        assert!(error.starts_with("rank 0: "), "{error}");
        let (benchmarks, last) = (&phases[1..4], &phases[4]);
        let of_all = benchmarks.iter().flat_map(|phase| phase.operations.values());
        let (well, failed) = of_all.fold((0, 0), |(w, f), op| (w + op.done, f + op.errors));
        assert!(well > 0 && failed > 0, "{benchmarks:#?}");
        assert!(benchmarks[2].failures[0].starts_with("rank 0: "), "{:?}", benchmarks[2].failures);
        assert!(last.phase == Phase::Cleanup && last.objects == 0 && last.errors > 0, "{last:#?}");
        come_back(&mut server.lock().unwrap());
        let settings = Settings { phases: Phases { cleanup: true, ..NONE }, ..settings };
        let (phases, done) = job.run(&settings);
        done.unwrap();
        assert_eq!(phases[0].data_sets, 2 * 4);
        is_empty(backend);
    }
}
