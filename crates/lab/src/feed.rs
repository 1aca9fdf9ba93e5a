//! The operations of a planner on their way to the replay: counted, digested, and written to a trace file on request.

use std::time::{Duration, Instant};
use trace::{BATCH, Op, Source, TraceDigest, TraceWriter};
use workload::Planner;

/// A source that passes on the operations of a planner and observes each batch.
pub struct Feed<'a> {
    pub planner: Box<dyn Planner>,
    digest: &'a mut TraceDigest,
    writer: Option<&'a mut TraceWriter>,
    /// Number of operations that may still pass.
    left: u64,
    /// Number of operations passed.
    pub passed: u64,
    /// Time spent by the planner.
    pub planning: Duration,
}

impl<'a> Feed<'a> {
    pub fn new(
        planner: Box<dyn Planner>,
        digest: &'a mut TraceDigest,
        writer: Option<&'a mut TraceWriter>,
    ) -> Feed<'a> {
        Feed { planner, digest, writer, left: 0, passed: 0, planning: Duration::ZERO }
    }

    /// Lets up to `operations` more operations pass.
    pub fn allow(&mut self, operations: u64) {
        self.left = operations;
    }

    /// Discards `operations` operations, which were applied earlier.
    pub fn skip(&mut self, operations: u64) -> Result<(), trace::Error> {
        self.allow(operations);
        let mut batch = Vec::new();
        while self.left > 0 {
            self.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

impl Source for Feed<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        let start = Instant::now();
        self.planner.advance(self.left.min(BATCH as u64) as usize, batch);
        self.planning += start.elapsed();
        self.left -= batch.len() as u64;
        self.passed += batch.len() as u64;
        self.digest.update(batch);
        match &mut self.writer {
            Some(writer) => writer.write(batch),
            None => Ok(()),
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.planner.remaining()
    }
}
