//! The threads that apply operations, and how operations get to them.

use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, bounded};
use trace::Op;

use crate::Engine;
use crate::failures::Ledger;
use crate::route::{Route, Router};

/// How many operations travel to a lane together.
const LOAD: usize = 256;
/// How many loads a lane may be behind. With [`LOAD`] it bounds how far operations drift apart in time.
const LOADS: usize = 4;

/// What a run gives operations to.
pub(crate) trait Crew {
    /// Takes operations, the next ones of the trace, and says how many: all, unless the run has to end.
    fn take(&mut self, ops: &[Op], ledger: &Ledger) -> usize;

    /// Returns when all that was taken is done.
    fn finish(&mut self);
}

/// One engine that works while its caller waits.
pub(crate) struct Alone<'e>(pub &'e mut dyn Engine);

impl Crew for Alone<'_> {
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

/// Engines with a thread each, and one for what cannot be done beside anything else.
pub(crate) struct Lanes<'e> {
    foreman: &'e mut dyn Engine,
    router: &'e mut Router,
    lanes: Vec<Lane>,
}

/// The near end of a lane. Buffers go round, so that none is allocated an operation and a lane that is behind makes
/// the caller wait.
struct Lane {
    load: Vec<Op>,
    to: Sender<Vec<Op>>,
    back: Receiver<Vec<Op>>,
    empty: Vec<Vec<Op>>,
}

impl<'e> Lanes<'e> {
    /// Starts a thread for each of `engines` but the last.
    pub fn start<'s>(
        scope: &'s Scope<'s, '_>,
        engines: &'e mut [Box<dyn Engine>],
        router: &'e mut Router,
        ledger: &'e Ledger,
    ) -> Self
    where
        'e: 's,
    {
        let (foreman, engines) = engines.split_last_mut().expect("there is an engine for what runs alone");
        let start = |engine: &'e mut Box<dyn Engine>| {
            let (to, loads) = bounded::<Vec<Op>>(LOADS);
            let (done, back) = bounded(LOADS);
            scope.spawn(move || {
                for load in loads {
                    for op in &load {
                        match *op {
                            // It was removed alone; a lane only forgets it.
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
        Self { foreman: foreman.as_mut(), router, lanes: engines.iter_mut().map(start).collect() }
    }
}

impl Crew for Lanes<'_> {
    fn take(&mut self, ops: &[Op], ledger: &Ledger) -> usize {
        for op in ops {
            match self.router.route(op) {
                Route::Lane(lane) => self.lanes[lane].push(*op),
                Route::Now => work(self.foreman, op, ledger),
                Route::Alone => {
                    self.finish();
                    work(self.foreman, op, ledger);
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

    /// Sends what has gathered on its way.
    fn send(&mut self) {
        if self.load.is_empty() {
            return;
        }
        let next = self.empty.pop().unwrap_or_else(|| self.back.recv().expect(GONE));
        self.to.send(std::mem::replace(&mut self.load, next)).expect(GONE);
        self.load.clear();
    }

    /// Returns when all that was sent is done.
    fn wait(&mut self) {
        while self.empty.len() < LOADS - 1 {
            self.empty.push(self.back.recv().expect(GONE));
        }
    }
}

const GONE: &str = "a lane ends before its caller only by panicking";

/// Applies one operation, or counts that it failed.
fn work(engine: &mut dyn Engine, op: &Op, ledger: &Ledger) {
    if let Err(trouble) = engine.apply(op) {
        ledger.record(op, trouble);
    }
}
