//! Accounting of the memory of runs, updated when they are created and dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The sum of all charges.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

impl Gauge {
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The highest value so far.
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
}

/// Charged bytes, released on drop.
#[derive(Debug)]
pub(crate) struct Charge {
    gauge: Arc<Gauge>,
    bytes: usize,
}

impl Charge {
    pub fn new(gauge: &Arc<Gauge>, bytes: usize) -> Self {
        let now = gauge.bytes.fetch_add(bytes, Relaxed) + bytes;
        gauge.peak.fetch_max(now, Relaxed);
        Self { gauge: Arc::clone(gauge), bytes }
    }

    /// Changes the charged bytes.
    pub fn set(&mut self, bytes: usize) {
        if bytes >= self.bytes {
            let now = self.gauge.bytes.fetch_add(bytes - self.bytes, Relaxed) + bytes - self.bytes;
            self.gauge.peak.fetch_max(now, Relaxed);
        } else {
            self.gauge.bytes.fetch_sub(self.bytes - bytes, Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.gauge.bytes.fetch_sub(self.bytes, Relaxed);
    }
}
