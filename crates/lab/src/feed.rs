//! An ager's operations on their way to the replay: counted, digested, and kept in a trace file if asked for.

use ager::Ager;
use std::time::{Duration, Instant};
use trace::{BATCH, Op, Source, TraceDigest, TraceWriter};

/// A source that gives an ager's operations and looks at each batch that passes.
pub struct Feed<'a> {
    pub ager: Box<dyn Ager>,
    digest: &'a mut TraceDigest,
    writer: Option<&'a mut TraceWriter>,
    /// How many more may pass.
    left: u64,
    /// How many have passed.
    pub passed: u64,
    /// Time that the ager took.
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

    /// Lets `operations` more pass; fewer if the ager has no more.
    pub fn allow(&mut self, operations: u64) {
        self.left = operations;
    }

    /// Lets `operations` pass to nobody: what has been applied earlier.
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
