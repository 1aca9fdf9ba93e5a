//! Reads the leaves that a scan comes to next, while it is at this one.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use crate::error::Result;
use crate::node::Link;
use crate::pager::Pager;
use crate::pointer::Pointer;
use crate::scan::LEAVES;
use crate::store::Shared;
use crate::view::Version;

/// Jobs that wait; more than that are not worth keeping.
const MOST: usize = 8;

/// A leaf to be read, or a node whose first leaves are, and the key that nothing from is needed of. While it is read the tree that it is of is held, so
/// that its place is not used again; when the scan has let go of that before, nobody needs it.
type Job = (Pointer, Weak<Version>, Option<Arc<[u8]>>);

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
    /// Asks for a leaf, or for the first ones below a node. What was asked for longest ago is forgotten when there is too much.
    pub fn ask(&self, shared: &Arc<Shared>, leaf: Pointer, version: &Arc<Version>, to: Option<&[u8]>) {
        let mut state = self.state.lock();
        if state.stop || state.jobs.iter().any(|(job, ..)| job.at == leaf.at) {
            return;
        }
        if state.jobs.len() == MOST {
            state.jobs.remove(0);
        }
        state.jobs.push((leaf, Arc::downgrade(version), to.map(Arc::from)));
        if state.thread.is_none() {
            let weak = Arc::downgrade(shared);
            // Without the thread scans are slower, and nothing else.
            state.thread =
                std::thread::Builder::new().name("betree-read".into()).spawn(move || run(&weak)).ok();
        }
        self.work.notify_one();
    }

    /// A scan has come to a node, and reads itself what of it is not there: what is read of it later may be what the scan has let go of by then.
    pub fn arrived(&self, node: &Pointer) {
        self.state.lock().jobs.retain(|(job, ..)| job.at != node.at);
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
    while let Some((leaf, version, to)) = shared.prefetcher.next() {
        if let Some(_held) = version.upgrade() {
            // Whoever needs what could not be read meets the error himself.
            let _ = read(&shared.pager, &leaf, to.as_deref());
        }
    }
}

/// Reads a node, and the first leaves below it.
fn read(pager: &Pager, pointer: &Pointer, to: Option<&[u8]>) -> Result<()> {
    pager.prefetch_node(pointer, to)?;
    if pointer.level == 0 {
        return Ok(());
    }
    let node = pager.header(pointer)?;
    let few = if pointer.level == 1 { LEAVES } else { 1 };
    let wanted = node.entries.iter().take(few).take_while(|entry| to.is_none_or(|to| &*entry.key < to));
    for entry in wanted {
        if let Link::Disk(child) = &entry.child {
            read(pager, child, to)?;
        }
    }
    Ok(())
}
