//! The operations of a planner on their way to the replay: counted, digested, and written to a trace file on request.

use crate::planner::resume;
use crate::{BLOCK_BYTES, Conditions, Error, Planner, Segment};
use std::path::Path;
use std::time::{Duration, Instant};
use trace::{BATCH, Op, Source, TraceDigest, TraceInfo, TraceWriter};

/// A source that passes on the operations of a planner and observes each batch.
pub(super) struct Feed {
    pub planner: Box<dyn Planner>,
    digest: TraceDigest,
    writer: Option<TraceWriter>,
    /// Number of operations that may still pass.
    left: u64,
    /// Number of operations passed.
    pub passed: u64,
    /// Time spent by the planner.
    pub planning: Duration,
}

impl Feed {
    /// Starts before the first operation of the last segment. The operations of earlier segments go through the digest and into the trace.
    pub fn last_of(segments: &[Segment], mut writer: Option<TraceWriter>) -> Result<Feed, Error> {
        let mut digest = TraceDigest::new();
        for (i, segment) in segments.iter().enumerate() {
            let start = Instant::now();
            let planner = resume(&segments[..i], &segment.conditions)?;
            let planning = start.elapsed();
            let mut feed = Feed { planner, digest, writer, left: 0, passed: 0, planning };
            if i + 1 == segments.len() {
                return Ok(feed);
            }
            feed.skip(segment.done)?;
            (digest, writer) = (feed.digest, feed.writer);
        }
        unreachable!("an aging has at least one segment")
    }

    /// Lets up to `operations` more operations pass.
    pub fn allow(&mut self, operations: u64) {
        self.left = operations;
    }

    /// Discards `operations` operations, which were applied earlier.
    pub fn skip(&mut self, operations: u64) -> Result<(), Error> {
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

    /// The digest of all operations passed. Completes the trace file.
    pub fn finish(&mut self) -> Result<String, Error> {
        self.writer.take().map(TraceWriter::finish).transpose()?;
        Ok(self.digest.clone().finish())
    }
}

impl Source for Feed {
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

/// Starts the trace file of an aging under these conditions.
pub(super) fn trace_writer(path: &Path, conditions: &Conditions, tool: &str) -> Result<TraceWriter, Error> {
    let info = TraceInfo {
        tool: tool.to_owned(),
        seed: Some(conditions.seed),
        source: serde_json::to_value(conditions.method)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .expect("a method is a JSON string"),
        parameters: serde_json::to_string(conditions).expect("plain data"),
        block_size: BLOCK_BYTES,
    };
    Ok(TraceWriter::create(path, &info)?)
}
