//! The threads that apply operations, and the queues that feed them.

use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, bounded};
use trace::Op;

use crate::Engine;
use crate::failures::Ledger;
use crate::route::{Route, Router};

/// Number of operations per queue item.
const LOAD: usize = 256;
/// Queue length of a lane in items. With [`LOAD`] it bounds how far lanes drift apart.
const LOADS: usize = 4;

/// The executor of a run.
pub(crate) trait WorkerPool {
    /// Accepts the next operations of the trace and returns their number: all, unless the run must end.
    fn take(&mut self, ops: &[Op], ledger: &Ledger) -> usize;

    /// Waits until all accepted operations are done.
    fn finish(&mut self);
}

/// A single engine on the calling thread.
pub(crate) struct SingleEngine<'e>(pub &'e mut dyn Engine);

impl WorkerPool for SingleEngine<'_> {
    fn take(&mut self, ops: &[Op], ledger: &Ledger) -> usize {
        for (index, op) in ops.iter().enumerate() {
            work(self.0, op, ledger);
            if ledger.is_full() {
                return index + 1;
            }
        }
        ops.len()
    }

    fn finish(&mut self) {}
}

/// Engines with a thread each, and one engine for operations that must run exclusively.
pub(crate) struct Lanes<'e> {
    exclusive: &'e mut dyn Engine,
    router: &'e mut Router,
    lanes: Vec<Lane>,
}

/// The sending side of a lane. Buffers are recycled, so operations cause no allocations and the caller waits for a lane
/// that is behind.
struct Lane {
    load: Vec<Op>,
    to: Sender<Vec<Op>>,
    back: Receiver<Vec<Op>>,
    empty: Vec<Vec<Op>>,
}

impl<'e> Lanes<'e> {
    /// Starts a thread for each of `engines` except the last.
    pub fn start<'s>(
        scope: &'s Scope<'s, '_>,
        engines: &'e mut [Box<dyn Engine>],
        router: &'e mut Router,
        ledger: &'e Ledger,
    ) -> Self
    where
        'e: 's,
    {
        let (exclusive, engines) =
            engines.split_last_mut().expect("an engine for exclusive operations exists");
        let start = |engine: &'e mut Box<dyn Engine>| {
            let (to, loads) = bounded::<Vec<Op>>(LOADS);
            let (done, back) = bounded(LOADS);
            scope.spawn(move || {
                for load in loads {
                    for op in &load {
                        match *op {
                            // The directory was removed exclusively; a lane only drops its cached state.
                            Op::Rmdir { dir, .. } => engine.forget(dir),
                            _ => work(engine.as_mut(), op, ledger),
                        }
                    }
                    if done.send(load).is_err() {
                        return;
                    }
                }
            });
            let empty = (1..LOADS).map(|_| Vec::with_capacity(LOAD)).collect();
            Lane { load: Vec::with_capacity(LOAD), to, back, empty }
        };
        Self { exclusive: exclusive.as_mut(), router, lanes: engines.iter_mut().map(start).collect() }
    }
}

impl WorkerPool for Lanes<'_> {
    fn take(&mut self, ops: &[Op], ledger: &Ledger) -> usize {
        for op in ops {
            match self.router.route(op) {
                Route::Lane(lane) => self.lanes[lane].push(*op),
                Route::Now => work(self.exclusive, op, ledger),
                Route::Exclusive => {
                    self.finish();
                    work(self.exclusive, op, ledger);
                    if let Op::Rmdir { .. } = op {
                        self.lanes.iter_mut().for_each(|lane| lane.push(*op));
                    }
                }
            }
        }
        ops.len()
    }

    fn finish(&mut self) {
        self.lanes.iter_mut().for_each(Lane::send);
        self.lanes.iter_mut().for_each(Lane::wait);
    }
}

impl Lane {
    fn push(&mut self, op: Op) {
        self.load.push(op);
        if self.load.len() == LOAD {
            self.send();
        }
    }

    /// Sends the collected operations.
    fn send(&mut self) {
        if self.load.is_empty() {
            return;
        }
        let next = self.empty.pop().unwrap_or_else(|| self.back.recv().expect(GONE));
        self.to.send(std::mem::replace(&mut self.load, next)).expect(GONE);
        self.load.clear();
    }

    /// Waits until all sent operations are done.
    fn wait(&mut self) {
        while self.empty.len() < LOADS - 1 {
            self.empty.push(self.back.recv().expect(GONE));
        }
    }
}

const GONE: &str = "a lane ends before its caller only by panicking";

/// Applies one operation and records a failure.
fn work(engine: &mut dyn Engine, op: &Op, ledger: &Ledger) {
    if let Err(cause) = engine.apply(op) {
        ledger.record(op, cause);
    }
}
