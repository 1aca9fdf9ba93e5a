//! The heartbeat of runs: every few seconds a thread records their progress in the store, so that other processes see it and notice when it
//! stops.

use crate::progress::since_1970_s;
use crate::{Pace, Progress, RunId, StoreLocation, Watch};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Interval between two heartbeats.
const BEAT: Duration = Duration::from_secs(2);

/// The heartbeat of a store. It starts with the first run of the store and uses a separate connection.
pub(crate) struct Heartbeat {
    location: StoreLocation,
    shared: Arc<Shared>,
    thread: OnceLock<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The runs in progress, outermost first, with their start times.
    open: Vec<(RunId, f64)>,
    now: Progress,
    /// The pace of the phase.
    pace: Option<Pace>,
    ended: bool,
}

impl Heartbeat {
    pub fn new(location: &StoreLocation) -> Heartbeat {
        Heartbeat { location: location.clone(), shared: Arc::default(), thread: OnceLock::new() }
    }

    pub fn begins(&self, run: RunId) {
        let mut state = self.shared.state();
        let now_s = since_1970_s(SystemTime::now());
        if state.open.is_empty() {
            state.now = Progress::default();
            state.pace = None;
        }
        state.open.push((run, now_s));
        drop(state);
        self.thread.get_or_init(|| {
            let (location, shared) = (self.location.clone(), self.shared.clone());
            std::thread::spawn(move || beat(&location, &shared))
        });
    }

    pub fn ends(&self, run: RunId) {
        self.shared.state().open.retain(|(open, _)| *open != run);
    }

    pub fn record_progress<'w>(&self, watch: &'w mut dyn Watch) -> RecordedProgress<'w> {
        RecordedProgress { watch, shared: self.shared.clone() }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.ended.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }
}

/// Records the progress until the end. A failed write does not affect the measurement; the next one may succeed.
fn beat(location: &StoreLocation, shared: &Shared) {
    let mut store = None;
    let mut state = shared.state();
    loop {
        state = shared.ended.wait_timeout(state, BEAT).expect("no thread panics while it holds the lock").0;
        if state.ended {
            return;
        }
        let notes = state.notes(since_1970_s(SystemTime::now()), Instant::now());
        drop(state);
        if !notes.is_empty() {
            let open = || location.open().and_then(|store| store.disable_sync().map(|()| store)).ok();
            store = store.or_else(open);
            for (run, progress) in &notes {
                let _ = store.as_ref().map(|store| progress.record(store, *run));
            }
        }
        state = shared.state();
    }
}

impl State {
    /// The progress of each run in progress. Steps belong to the outermost run.
    fn notes(&self, now_s: f64, now: Instant) -> Vec<(RunId, Progress)> {
        let recent_per_s = self.pace.as_ref().and_then(|pace| pace.per_s(now));
        let left = self.pace.as_ref().zip(self.now.total).and_then(|(pace, total)| pace.left(now, total));
        let steady_left_s = left.map(|left| left.as_secs_f64());
        let note = |(at, (run, begun_s)): (usize, &(RunId, f64))| {
            let steps = self.now.steps.filter(|_| at == 0);
            let progress = self.now.clone();
            let (at_s, begun_s) = (now_s, *begun_s);
            (*run, Progress { at_s, begun_s, steps, recent_per_s, steady_left_s, ..progress })
        };
        self.open.iter().enumerate().map(note).collect()
    }
}

/// A watch that forwards progress and records it in the store.
pub struct RecordedProgress<'w> {
    watch: &'w mut dyn Watch,
    shared: Arc<Shared>,
}

impl Watch for RecordedProgress<'_> {
    fn phase(&mut self, name: &str, total: Option<u64>) {
        let mut state = self.shared.state();
        state.now = Progress { phase: name.to_owned(), done: 0, total, ..state.now.clone() };
        state.pace = Some(Pace::begin(Instant::now()));
        drop(state);
        self.watch.phase(name, total);
    }

    fn at(&mut self, done: u64) {
        let mut state = self.shared.state();
        state.now.done = done;
        if let Some(pace) = &mut state.pace {
            pace.at(Instant::now(), done);
        }
        drop(state);
        self.watch.at(done);
    }

    fn steps(&mut self, done: u64, of: u64) {
        self.shared.state().now.steps = Some((done, of));
        self.watch.steps(done, of);
    }

    fn measured(&mut self) {
        self.watch.measured();
    }

    fn say(&mut self, line: &str) {
        self.watch.say(line);
    }
}

#[cfg(test)]
mod tests {
    use crate::store::NewRun;
    use crate::{IgnoreProgress, Progress, RunId, Store, StoreLocation, Watch as _};

    fn last_progress(store: &Store, run: RunId) -> Progress {
        testing::wait_for("a heartbeat", || Progress::load(store, run).unwrap())
    }

    #[test]
    fn other_connections_see_the_progress_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let store = Store::open(&path).unwrap();
        let new = |name| NewRun { kind: "age", name, command: "", seed: None, parameters: "".into() };
        let over = store.begin(&new("over")).unwrap();
        store.end(over, "done", None).unwrap();
        let [outer, inner] = ["outer", "inner"].map(|name| store.begin(&new(name)).unwrap());
        let mut ignore = IgnoreProgress;
        let mut watch = store.record_progress(&mut ignore);
        watch.steps(2, 5);
        watch.phase("aging", Some(100));
        watch.at(30);
        let reader = StoreLocation::File(path).open_read_only().unwrap();
        let seen = last_progress(&reader, inner);
        assert_eq!((seen.phase.as_str(), seen.done, seen.total, seen.steps), ("aging", 30, Some(100), None));
        assert_eq!(last_progress(&reader, outer).steps, Some((2, 5)));
        assert_eq!(Progress::load(&reader, over).unwrap(), None);
    }
}
