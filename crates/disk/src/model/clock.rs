//! Modelled time: a closed loop of requests, each of which arrives as soon as there is room for it.

use super::device::Device;
use crate::Request;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The clock of a modelled device. A request says with how many others it was outstanding; it arrives when so many are left
/// as were there beside it, that is, at once for the first of a batch and after its predecessor where one waits for the
/// other. No time passes between requests: what the processor does meanwhile costs nothing here.
pub struct ModelClock {
    device: Device,
    /// When the last request arrived.
    arrived_ns: u64,
    /// When the requests that are outstanding will be done.
    ends_ns: BinaryHeap<Reverse<u64>>,
    /// When the last of all requests will be done.
    horizon_ns: u64,
}

impl ModelClock {
    /// A clock at 0 with a fresh device.
    pub fn new(device: Device) -> ModelClock {
        ModelClock::at(device, 0)
    }

    /// A clock at `now_ns` with a fresh device: a disk has turned meanwhile.
    pub fn at(device: Device, now_ns: u64) -> ModelClock {
        ModelClock { device, arrived_ns: now_ns, ends_ns: BinaryHeap::new(), horizon_ns: now_ns }
    }

    /// Which of the requests that wait is issued next; see [`Device::choose`].
    pub fn choose(&mut self, pending: &[Request]) -> usize {
        self.device.choose(pending)
    }

    /// Issues a request; returns the nanoseconds from its arrival until it is done.
    pub fn issue(&mut self, request: &Request) -> u64 {
        let others = request.queue.saturating_sub(1) as usize;
        while self.ends_ns.len() > others
            && let Some(Reverse(end_ns)) = self.ends_ns.pop()
        {
            self.arrived_ns = self.arrived_ns.max(end_ns);
        }
        let done_ns = self.device.serve(request, self.arrived_ns);
        self.ends_ns.push(Reverse(done_ns));
        self.horizon_ns = self.horizon_ns.max(done_ns);
        done_ns - self.arrived_ns
    }

    /// The time at which all requests so far are done, in nanoseconds. Writes that only a cache of the device holds count
    /// as done; a flush waits for them.
    pub fn now_ns(&self) -> u64 {
        self.horizon_ns
    }
}
