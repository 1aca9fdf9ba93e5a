//! The operations of an ager on their way to the replay: counted, digested, and written to a trace file on request.

use ager::Ager;
use std::time::{Duration, Instant};
use trace::{BATCH, Op, Source, TraceDigest, TraceWriter};

/// A source that passes on the operations of an ager and observes each batch.
pub struct Feed<'a> {
    pub ager: Box<dyn Ager>,
    digest: &'a mut TraceDigest,
    writer: Option<&'a mut TraceWriter>,
    /// Number of operations that may still pass.
    left: u64,
    /// Number of operations passed.
    pub passed: u64,
    /// Time spent by the ager.
    pub planning: Duration,
}

impl<'a> Feed<'a> {
    pub fn new(
        ager: Box<dyn Ager>,
        digest: &'a mut TraceDigest,
        writer: Option<&'a mut TraceWriter>,
    ) -> Feed<'a> {
        Feed { ager, digest, writer, left: 0, passed: 0, planning: Duration::ZERO }
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
        self.ager.advance(self.left.min(BATCH as u64) as usize, batch);
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
        self.ager.remaining()
    }
}
