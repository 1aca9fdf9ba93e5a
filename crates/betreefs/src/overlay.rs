//! A read-only storage whose writes stay in memory, so that a check can replay the log.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use betree::Storage;
use parking_lot::RwLock;

/// The unit of overlaid writes; store writes are multiples of it.
const UNIT: u64 = 512;

pub(crate) struct Overlay {
    below: Arc<dyn Storage>,
    written: RwLock<BTreeMap<u64, Box<[u8]>>>,
}

impl Overlay {
    pub fn new(below: Arc<dyn Storage>) -> Self {
        Self { below, written: RwLock::default() }
    }
}

impl Storage for Overlay {
    fn len(&self) -> io::Result<u64> {
        self.below.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.below.read_at(buffer, offset)?;
        let end = offset + buffer.len() as u64;
        for (at, unit) in self.written.read().range(offset..end) {
            let from = (at - offset) as usize;
            buffer[from..from + unit.len()].copy_from_slice(unit);
        }
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let mut written = self.written.write();
        for (i, unit) in (0..).zip(buffer.chunks(UNIT as usize)) {
            written.insert(offset + i * UNIT, unit.into());
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
