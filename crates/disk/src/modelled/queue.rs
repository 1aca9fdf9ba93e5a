//! The queue of a modelled disk: the order in which requests are served, their service times, and their log.
//!
//! Each request occupies a server thread, which waits here for its turn. The waiting requests are the queue from which the device model
//! chooses, as a drive does with native command queuing.

use super::log::Log;
use super::settings::Clock;
use crate::model::{Device, Model, ModelClock, SharedFtl};
use crate::request::{Request, RequestKind, SECTOR_BYTES};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The queue depth, that of native command queuing.
const DEPTH: usize = 32;

/// Sleeping overshoots by about this much, so the rest is spent in a spin loop.
const OVERSHOOT: Duration = Duration::from_micros(60);

/// The queue of one disk.
pub struct Queue {
    state: Mutex<QueueState>,
    /// Whether requests are served in turns.
    turns: bool,
}

struct QueueState {
    timing: Timing,
    busy: bool,
    /// Waiting requests, oldest first, and their threads, in the same order.
    waiting: Vec<Request>,
    waiters: Vec<Arc<Waiter>>,
    log: Log,
}

/// How service times are applied.
enum Timing {
    /// Requests take no time.
    Free {
        /// Number of running requests.
        under_way: u32,
    },
    /// Times are only counted.
    Counted(ModelClock),
    /// Times are slept. The device time counts from the attach; all requests are complete at the horizon, and `busy_ns` excludes idle time.
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

/// The right to execute a request now.
pub struct TurnGuard<'a> {
    queue: &'a Queue,
    /// Whether other requests wait until this turn ends.
    alone: bool,
}

impl Queue {
    /// Creates the queue of a disk of this model, size and state of the flash, if it has a translation layer.
    pub fn new(model: &Model, size_bytes: u64, flash: Option<SharedFtl>, clock: Clock) -> Queue {
        let timing = match clock {
            _ if model.costs_nothing() => Timing::Free { under_way: 0 },
            Clock::Model => Timing::Counted(ModelClock::new(model.device_with(size_bytes, flash))),
            Clock::Real => {
                let device = model.device_with(size_bytes, flash);
                Timing::Slept { device, start: Instant::now(), under_way: 0, horizon_ns: 0, busy_ns: 0 }
            }
        };
        let turns = !matches!(timing, Timing::Free { .. });
        let (waiting, waiters) = (Vec::with_capacity(DEPTH), Vec::with_capacity(DEPTH));
        Queue {
            state: Mutex::new(QueueState { timing, busy: false, waiting, waiters, log: Log::default() }),
            turns,
        }
    }

    /// The number of server threads: the queue depth if requests wait for turns, otherwise the number that is fastest.
    pub fn threads(&self) -> usize {
        if self.turns { DEPTH } else { 2 }
    }

    /// Waits for the turn of a request, and then for its service time.
    pub fn enter(&self, kind: RequestKind, at_bytes: u64, len_bytes: u64) -> TurnGuard<'_> {
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
        TurnGuard { queue: self, alone }
    }

    /// The busy time of the disk.
    pub fn clock_ns(&self) -> u64 {
        match &self.state().timing {
            Timing::Free { .. } => 0,
            Timing::Counted(clock) => clock.now_ns(),
            Timing::Slept { busy_ns, .. } => *busy_ns,
        }
    }

    /// Gives access to the log.
    pub fn with_log<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.state().log)
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The completion of a request whose service time is slept.
struct End {
    at: Instant,
    /// Whether the disk serves no other request until then.
    alone: bool,
}

impl QueueState {
    /// Passes a request to the device and logs it.
    fn issue(&mut self, mut request: Request) -> Option<End> {
        let now = clock_gettime(ClockId::Monotonic);
        request.time_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        request.queue = self.waiting.len() as u32 + 1;
        let mut end = None;
        match &mut self.timing {
            Timing::Free { under_way } => {
                *under_way += 1;
                request.queue = *under_way;
            }
            Timing::Counted(clock) => request.service_ns = clock.issue(&request),
            Timing::Slept { device, start, under_way, horizon_ns, busy_ns } => {
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
        let chosen = match &mut self.timing {
            Timing::Free { .. } => 0,
            Timing::Counted(clock) => clock.choose(&self.waiting),
            Timing::Slept { device, .. } => device.choose(&self.waiting),
        };
        self.waiting.remove(chosen);
        let waiter = self.waiters.remove(chosen);
        waiter.turn.store(true, Ordering::Release);
        waiter.thread.unpark();
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        match &mut state.timing {
            Timing::Free { under_way } | Timing::Slept { under_way, .. } => *under_way -= 1,
            Timing::Counted(_) => {}
        }
        if self.alone {
            state.next();
        }
    }
}

fn sleep_until(at: Instant) {
    let left = at.saturating_duration_since(Instant::now());
    if left > OVERSHOOT {
        std::thread::sleep(left - OVERSHOOT);
    }
    while Instant::now() < at {
        std::hint::spin_loop();
    }
}
