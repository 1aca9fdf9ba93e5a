//! Write-behind: a thread writes a node while the next one is prepared.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use crate::aligned::PooledBuffer;
use crate::error::{Error, Result, catch_panic};
use crate::memory::{Charge, Gauge};
use crate::storage::Storage;

/// Maximum number of queued nodes, besides the one being written.
const MOST: usize = 2;

struct Job {
    at: u64,
    bytes: PooledBuffer,
    _charge: Charge,
}

#[derive(Default)]
struct QueueState {
    /// The first one is being written.
    jobs: VecDeque<Arc<Job>>,
    failed: Option<Error>,
    stop: bool,
}

struct Inner {
    storage: Arc<dyn Storage>,
    state: Mutex<QueueState>,
    changed: Condvar,
}

/// See the module documentation. The thread starts with the first node.
pub(crate) struct WriteBehind {
    inner: Arc<Inner>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl WriteBehind {
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        let inner = Inner { storage, state: Mutex::default(), changed: Condvar::new() };
        Self { inner: Arc::new(inner), thread: Mutex::new(None) }
    }

    /// Queues a node, once the queue is short enough.
    ///
    /// # Errors
    /// If an earlier write failed, or the thread cannot be started.
    pub fn write(&self, at: u64, bytes: PooledBuffer, gauge: &Arc<Gauge>) -> Result<()> {
        self.start()?;
        let charge = Charge::new(gauge, bytes.len());
        let job = Arc::new(Job { at, bytes, _charge: charge });
        let mut state = self.inner.state.lock();
        while state.jobs.len() > MOST && state.failed.is_none() {
            self.inner.changed.wait(&mut state);
        }
        state.result()?;
        state.jobs.push_back(job);
        self.inner.changed.notify_all();
        Ok(())
    }

    fn start(&self) -> Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let inner = Arc::clone(&self.inner);
            let started = std::thread::Builder::new().name("betree-write".into()).spawn(move || inner.run());
            *thread = Some(started.map_err(|e| Error::io("starting a thread, writing", 0, 0, &e))?);
        }
        Ok(())
    }

    /// Waits until no queued node overlaps `bytes` bytes at `at`, so that they can be read.
    pub fn wait_for(&self, at: u64, bytes: usize) {
        let mut state = self.inner.state.lock();
        while state.jobs.iter().any(|job| job.at < at + bytes as u64 && at < job.at + job.bytes.len() as u64)
        {
            self.inner.changed.wait(&mut state);
        }
    }

    /// Waits until all nodes are written.
    ///
    /// # Errors
    /// If a write failed.
    pub fn drain(&self) -> Result<()> {
        let mut state = self.inner.state.lock();
        while !state.jobs.is_empty() {
            self.inner.changed.wait(&mut state);
        }
        state.result()
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.inner.state.lock().stop = true;
        self.inner.changed.notify_all();
        if let Some(thread) = self.thread.get_mut().take() {
            thread.join().expect("the write thread does not panic");
        }
    }
}

impl Inner {
    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            let Some(job) = state.jobs.front().cloned() else {
                if state.stop {
                    return;
                }
                self.changed.wait(&mut state);
                continue;
            };
            // After a failure nothing more is written: no checkpoint will use it.
            if state.failed.is_none() {
                drop(state);
                let write = || {
                    let written = self.storage.write_at(&job.bytes, job.at);
                    written.map_err(|e| Error::io("writing", job.at, job.bytes.len(), &e))
                };
                let written = catch_panic("writing a node", write);
                state = self.state.lock();
                state.failed = written.err();
            }
            state.jobs.pop_front();
            self.changed.notify_all();
        }
    }
}

impl QueueState {
    fn result(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}
