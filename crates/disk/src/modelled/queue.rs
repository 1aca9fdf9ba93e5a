//! The queue of a modelled disk: in which order requests are served, how long each takes, and the log of them.
//!
//! Each request has a thread of the server for itself, which waits here for its turn. Those that wait together are
//! the queue that the device model chooses from, as a drive does with native command queuing.

use super::log::Log;
use super::settings::Clock;
use crate::model::{Device, Model, ModelClock};
use crate::request::{Request, RequestKind, SECTOR_BYTES};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The depth of the queue, that of native command queuing.
const DEPTH: usize = 32;

/// Sleeping ends late by about this much; the rest is waited for awake.
const LATE: Duration = Duration::from_micros(60);

/// The queue of one disk.
pub struct Queue {
    state: Mutex<State>,
    /// Whether requests take turns.
    turns: bool,
}

struct State {
    pace: Pace,
    busy: bool,
    /// Requests that wait, oldest first, and who they belong to, in the same order.
    waiting: Vec<Request>,
    waiters: Vec<Arc<Waiter>>,
    log: Log,
}

/// How long requests take.
enum Pace {
    /// No time.
    Free {
        /// Requests that are under way.
        under_way: u32,
    },
    /// The time that is counted.
    Counted(ModelClock),
    /// The time that is slept. The device's time is that since it was attached; the last of all requests is done at the
    /// horizon, and `busy_ns` leaves out what was waited for requests.
    Slept { device: Device, start: Instant, under_way: u32, horizon_ns: u64, busy_ns: u64 },
}

struct Waiter {
    turn: AtomicBool,
    thread: Thread,
}

thread_local! {
    static WAITER: Arc<Waiter> =
        Arc::new(Waiter { turn: AtomicBool::new(false), thread: std::thread::current() });
}

/// The right to do a request now.
pub struct Turn<'a> {
    queue: &'a Queue,
    /// Whether others wait until this ends.
    alone: bool,
}

impl Queue {
    /// The queue of a disk of that model and size.
    pub fn new(model: &Model, size_bytes: u64, clock: Clock) -> Queue {
        let pace = match clock {
            _ if model.costs_nothing() => Pace::Free { under_way: 0 },
            Clock::Model => Pace::Counted(ModelClock::new(model.device(size_bytes))),
            Clock::Real => {
                let device = model.device(size_bytes);
                Pace::Slept { device, start: Instant::now(), under_way: 0, horizon_ns: 0, busy_ns: 0 }
            }
        };
        let turns = !matches!(pace, Pace::Free { .. });
        let (waiting, waiters) = (Vec::with_capacity(DEPTH), Vec::with_capacity(DEPTH));
        Queue { state: Mutex::new(State { pace, busy: false, waiting, waiters, log: Log::default() }), turns }
    }

    /// How many threads the server needs: where nothing waits, as many as do it fastest.
    pub fn threads(&self) -> usize {
        if self.turns { DEPTH } else { 2 }
    }

    /// Waits until a request may be done, and until the disk has done it.
    pub fn enter(&self, kind: RequestKind, at_bytes: u64, len_bytes: u64) -> Turn<'_> {
        let request = Request {
            time_ns: 0,
            kind,
            metadata: false,
            readahead: false,
            sector: at_bytes / SECTOR_BYTES,
            sectors: (len_bytes / SECTOR_BYTES).try_into().unwrap_or(u32::MAX),
            queue: 1,
            service_ns: 0,
        };
        let mut state = self.state();
        if self.turns && std::mem::replace(&mut state.busy, true) {
            let waiter = WAITER.with(Arc::clone);
            waiter.turn.store(false, Ordering::Relaxed);
            state.waiting.push(request);
            state.waiters.push(waiter.clone());
            drop(state);
            while !waiter.turn.load(Ordering::Acquire) {
                std::thread::park();
            }
            state = self.state();
        }
        let end = state.issue(request);
        let alone = self.turns && end.as_ref().is_none_or(|end| end.alone);
        if self.turns && !alone {
            state.next();
        }
        drop(state);
        if let Some(end) = end {
            sleep_until(end.at);
        }
        Turn { queue: self, alone }
    }

    /// How long the disk has had requests to do so far.
    pub fn clock_ns(&self) -> u64 {
        match &self.state().pace {
            Pace::Free { .. } => 0,
            Pace::Counted(clock) => clock.now_ns(),
            Pace::Slept { busy_ns, .. } => *busy_ns,
        }
    }

    /// Looks at the log.
    pub fn with_log<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.state().log)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a request is done that is slept for.
struct End {
    at: Instant,
    /// Whether the disk does nothing else until then.
    alone: bool,
}

impl State {
    /// Hands a request to the device, and writes it down.
    fn issue(&mut self, mut request: Request) -> Option<End> {
        let now = clock_gettime(ClockId::Monotonic);
        request.time_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        request.queue = self.waiting.len() as u32 + 1;
        let mut end = None;
        match &mut self.pace {
            Pace::Free { under_way } => {
                *under_way += 1;
                request.queue = *under_way;
            }
            Pace::Counted(clock) => request.service_ns = clock.issue(&request),
            Pace::Slept { device, start, under_way, horizon_ns, busy_ns } => {
                *under_way += 1;
                request.queue += *under_way - 1;
                let now_ns = start.elapsed().as_nanos() as u64;
                let done_ns = device.serve(&request, now_ns);
                request.service_ns = done_ns - now_ns;
                *busy_ns += done_ns.saturating_sub(now_ns.max(*horizon_ns));
                *horizon_ns = done_ns.max(*horizon_ns);
                end = Some(End {
                    at: *start + Duration::from_nanos(done_ns),
                    alone: device.does_one_at_a_time(),
                });
            }
        }
        self.log.push(&request);
        end
    }

    /// Gives the turn to the request that the device chooses.
    fn next(&mut self) {
        if self.waiting.is_empty() {
            self.busy = false;
            return;
        }
        let chosen = match &mut self.pace {
            Pace::Free { .. } => 0,
            Pace::Counted(clock) => clock.choose(&self.waiting),
            Pace::Slept { device, .. } => device.choose(&self.waiting),
        };
        self.waiting.remove(chosen);
        let waiter = self.waiters.remove(chosen);
        waiter.turn.store(true, Ordering::Release);
        waiter.thread.unpark();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        match &mut state.pace {
            Pace::Free { under_way } | Pace::Slept { under_way, .. } => *under_way -= 1,
            Pace::Counted(_) => {}
        }
        if self.alone {
            state.next();
        }
    }
}

fn sleep_until(at: Instant) {
    let left = at.saturating_duration_since(Instant::now());
    if left > LATE {
        std::thread::sleep(left - LATE);
    }
    while Instant::now() < at {
        std::hint::spin_loop();
    }
}
