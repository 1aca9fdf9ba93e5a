//! Long values: copied once, then shared by batch, memtable, buffers and leaves.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::memory::{Charge, Gauge};

/// Values of at least this many bytes are shared; copying shorter ones is cheaper than an allocation.
pub(crate) const LONG: usize = 4 << 10;

/// A long value.
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Box<[u8]>,
    charge: OnceLock<Charge>,
}

impl Payload {
    /// Copies `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), charge: OnceLock::new() }
    }

    /// Charges the value to `gauge`, once for all its users.
    pub fn charge(&self, gauge: &Arc<Gauge>) {
        self.charge.get_or_init(|| Charge::new(gauge, self.bytes.len()));
    }

    /// The bytes, for changes in place.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Deref for Payload {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
