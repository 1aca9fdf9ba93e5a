//! Read-ahead of a scan: reads the next leaves while the scan is at the current one.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use crate::error::{Result, catch_panic};
use crate::node::Link;
use crate::pager::Pager;
use crate::pointer::Pointer;
use crate::scan::LEAVES;
use crate::store::Shared;
use crate::view::Version;

/// Maximum number of queued jobs; the oldest are dropped.
const MOST: usize = 8;

/// A leaf, or a node whose first leaves are to be read, and the key at which the scan ends. The read holds the node's version of the tree, so that
/// its extents are not reused; if the scan has released that version before, the job is obsolete.
type Job = (Pointer, Weak<Version>, Option<Arc<[u8]>>);

#[derive(Default)]
struct QueueState {
    jobs: Vec<Job>,
    thread: Option<JoinHandle<()>>,
    stop: bool,
}

/// A read-ahead thread, started with the first job.
#[derive(Default)]
pub(crate) struct Prefetcher {
    state: Mutex<QueueState>,
    work: Condvar,
}

impl Prefetcher {
    /// Requests a leaf, or the first leaves below a node. If the queue is full, the oldest request is dropped.
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
            // Without the thread scans are slower, but correct.
            state.thread =
                std::thread::Builder::new().name("betree-read".into()).spawn(move || run(&weak)).ok();
        }
        self.work.notify_one();
    }

    /// Drops the request for a node that a scan has reached and now reads itself: a late read-ahead could load parts the scan has already evicted.
    pub fn arrived(&self, node: &Pointer) {
        self.state.lock().jobs.retain(|(job, ..)| job.at != node.at);
    }

    /// Stops the thread.
    pub fn stop(&self) {
        let thread = {
            let mut state = self.state.lock();
            state.stop = true;
            state.jobs.clear();
            state.thread.take()
        };
        self.work.notify_all();
        if let Some(thread) = thread {
            thread.join().expect("the read-ahead thread does not panic");
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
            // The scan meets the error when it reads the node itself.
            let _ = catch_panic("reading ahead", || read(&shared.pager, &leaf, to.as_deref()));
        }
    }
}

/// Reads a node and the first leaves below it.
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
