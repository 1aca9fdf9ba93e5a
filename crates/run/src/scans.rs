//! Repeated scans of an aged file system and its unaged copy; the sides alternate.

use crate::Error;
use crate::compare::SUBJECTS;
use crate::error::interrupted;
use crate::scanned::{self, Scanned};
use disk::{MemoryLimit, Session};
use fs::Target;
use probe::{Census, Reader};
use results::{Measurement, RunId, Store, Watch, measures};
use std::sync::Arc;

/// The state of the cache during a scan.
pub(crate) enum Scan<'a> {
    /// Cold cache.
    Cold(Reader),
    /// Warm cache, filled by the previous scan, within `memory_bytes` of memory.
    Warm { session: &'a Arc<Session>, memory_bytes: u64 },
}

/// Repeated scans.
pub(crate) struct Scans<'a> {
    pub store: &'a Store,
    pub run: RunId,
    pub scan: Scan<'a>,
    /// Scans of each side.
    pub repeat: u64,
    /// Whether block requests can be traced.
    pub traced: bool,
}

impl Scans<'_> {
    /// Scans the aged side, which is first, and the unaged side if there is one. Records the measurements that `numbers` computes from each
    /// scan. Skips scans that the store already holds.
    pub fn run(
        &self,
        targets: &mut [&mut dyn Target],
        watch: &mut dyn Watch,
        numbers: impl Fn(&Scanned, &dyn Target, &str, u64) -> Vec<Measurement>,
    ) -> Result<(), Error> {
        let census =
            targets.iter().map(|target| probe::census(target.root())).collect::<Result<Vec<_>, _>>()?;
        for ((target, subject), census) in targets.iter().zip(SUBJECTS).zip(&census) {
            // If the file system maps files, they were counted with their extents.
            if !target.supports_fiemap() {
                self.store.record(self.run, &measures::FILES.once(subject, census.files as f64))?;
            }
        }
        let known = self.store.measurements(self.run)?;
        let is_known = |subject: &str, repetition| {
            known.iter().any(|number| {
                number.subject == subject
                    && number.measure == measures::SCAN_WALL_S.name
                    && number.repetition == repetition
            })
        };
        let mut order: Vec<usize> = (0..targets.len()).collect();
        let mut done = 0;
        for repetition in 1..=self.repeat {
            for &side in &order {
                let subject = SUBJECTS[side];
                if !is_known(subject, repetition) {
                    let scanned = self.scan(&mut *targets[side], &census[side], subject)?;
                    self.store
                        .record_all(self.run, &numbers(&scanned, &*targets[side], subject, repetition))?;
                    if disk::interrupted() {
                        return Err(interrupted());
                    }
                }
                done += 1;
                watch.at(done);
            }
            // The next repetition starts with the other side, so that a drift of the machine affects both.
            order.reverse();
        }
        Ok(())
    }

    fn scan(&self, target: &mut dyn Target, census: &Census, subject: &str) -> Result<Scanned, Error> {
        match self.scan {
            Scan::Cold(reader) => {
                let scanned = scanned::cold(target, reader, census, self.traced)?;
                self.store.record_document(self.run, subject, "chilled", &scanned.dropped_caches)?;
                Ok(scanned)
            }
            Scan::Warm { session, memory_bytes } => {
                let limit = MemoryLimit::new(session, memory_bytes)?;
                let scanned = scanned::warm(target, census, &limit, self.traced)?;
                limit.remove()?;
                Ok(scanned)
            }
        }
    }
}
