//! Reads the leaves that a scan comes to next, while it is at this one.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use crate::pointer::Pointer;
use crate::store::Shared;
use crate::view::Version;

/// Jobs that wait; more than that are not worth keeping.
const MOST: usize = 8;

/// A leaf to be read, and the key that nothing from is needed of. The tree that it is of is held, so that its place is not used again meanwhile.
type Job = (Pointer, Arc<Version>, Option<Arc<[u8]>>);

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    thread: Option<JoinHandle<()>>,
    stop: bool,
}

/// A thread that reads ahead; it starts with the first job.
#[derive(Default)]
pub(crate) struct Prefetcher {
    state: Mutex<State>,
    work: Condvar,
}

impl Prefetcher {
    /// Asks for a leaf. What was asked for longest ago is forgotten when there is too much.
    pub fn ask(&self, shared: &Arc<Shared>, leaf: Pointer, version: &Arc<Version>, to: Option<&[u8]>) {
        let mut state = self.state.lock();
        if state.stop || state.jobs.iter().any(|(job, ..)| job.at == leaf.at) {
            return;
        }
        if state.jobs.len() == MOST {
            state.jobs.remove(0);
        }
        state.jobs.push((leaf, Arc::clone(version), to.map(Arc::from)));
        if state.thread.is_none() {
            let weak = Arc::downgrade(shared);
            // Without the thread scans are slower, and nothing else.
            state.thread =
                std::thread::Builder::new().name("betree-read".into()).spawn(move || run(&weak)).ok();
        }
        self.work.notify_one();
    }

    /// Ends the thread.
    pub fn stop(&self) {
        let thread = {
            let mut state = self.state.lock();
            state.stop = true;
            state.jobs.clear();
            state.thread.take()
        };
        self.work.notify_all();
        if let Some(thread) = thread {
            thread.join().expect("the thread that reads ahead does not panic");
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.stop {
                return None;
            }
            if !state.jobs.is_empty() {
                return Some(state.jobs.remove(0));
            }
            self.work.wait(&mut state);
        }
    }
}

fn run(shared: &Weak<Shared>) {
    let Some(shared) = shared.upgrade() else { return };
    while let Some((leaf, _version, to)) = shared.prefetcher.next() {
        // Whoever needs what could not be read meets the error himself.
        let _ = shared.pager.prefetch_node(&leaf, to.as_deref());
    }
}
