//! Modelled time: a closed loop of requests, each of which arrives as soon as the queue has room for it.

use super::device::Device;
use crate::Request;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The clock of a modelled device. A request records the number of requests outstanding at its issue, including itself; it arrives when
/// only the others are left: at once for the first requests of a batch, after its predecessor for dependent ones. No time passes between
/// requests: the work of the processor costs nothing here.
pub struct ModelClock {
    device: Device,
    /// Arrival time of the last request.
    arrived_ns: u64,
    /// Completion times of the outstanding requests.
    ends_ns: BinaryHeap<Reverse<u64>>,
    /// Latest completion time of all requests.
    horizon_ns: u64,
}

impl ModelClock {
    /// A clock at 0 with a fresh device.
    pub fn new(device: Device) -> ModelClock {
        ModelClock::at(device, 0)
    }

    /// A clock at `now_ns` with a fresh device; rotating media have turned until then.
    pub fn at(device: Device, now_ns: u64) -> ModelClock {
        ModelClock { device, arrived_ns: now_ns, ends_ns: BinaryHeap::new(), horizon_ns: now_ns }
    }

    /// Returns the index of the pending request to issue next; see [`Device::choose`].
    pub fn choose(&mut self, pending: &[Request]) -> usize {
        self.device.choose(pending)
    }

    /// Issues a request. Returns the nanoseconds from its arrival to its completion.
    pub fn issue(&mut self, request: &Request) -> u64 {
        self.issue_as_one(std::slice::from_ref(request))
    }

    /// Issues one request, or several reads as one command, which arrives as the first one does.
    pub(super) fn issue_as_one(&mut self, requests: &[Request]) -> u64 {
        let others = requests[0].queue.saturating_sub(1) as usize;
        while self.ends_ns.len() > others
            && let Some(Reverse(end_ns)) = self.ends_ns.pop()
        {
            self.arrived_ns = self.arrived_ns.max(end_ns);
        }
        let done_ns = match requests {
            [request] => self.device.serve(request, self.arrived_ns),
            reads => self.device.serve_as_one(reads, self.arrived_ns),
        };
        self.ends_ns.push(Reverse(done_ns));
        self.horizon_ns = self.horizon_ns.max(done_ns);
        done_ns - self.arrived_ns
    }

    /// See [`super::Pricing::taking_dies_in_turn`].
    pub(super) fn take_dies_in_turn(&mut self) {
        self.device.take_dies_in_turn();
    }

    /// The time at which all requests so far are complete, in nanoseconds. Writes that are only in a cache of the device count as complete;
    /// a flush waits for them.
    pub fn now_ns(&self) -> u64 {
        self.horizon_ns
    }
}
