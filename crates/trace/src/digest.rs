//! The digest of a trace: SHA-256 over its operations, so that two runs can be compared regardless of format,
//! batch size and machine.
//!
//! Each operation is one record, little-endian and without padding: its kind ([`Op::kind`]) as a byte, then
//! its fields in declaration order in [`Op`]: directories as 4 bytes; files, sizes, offsets, lengths and
//! checkpoint numbers as 8; the contents ([`Content`](crate::Content)) as 1. The kind determines the length
//! of the record, so different sequences of operations have different bytes.

use digest::Digest;
use sha2::{Digest as _, Sha256};

use crate::{DirId, Error, FileId, Op, Source};

/// The SHA-256 of a sequence of operations, added in pieces of any size.
#[derive(Clone, Default)]
pub struct TraceDigest {
    hasher: Sha256,
    records: Vec<u8>,
}

impl TraceDigest {
    /// The digest of an empty sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next operations.
    pub fn update(&mut self, ops: &[Op]) {
        self.records.clear();
        for op in ops {
            encode(op, &mut self.records);
        }
        self.hasher.update(&self.records);
    }

    /// The digest of all operations added so far, as 64 hexadecimal digits.
    pub fn finish(self) -> String {
        Digest::from(self.hasher).to_string()
    }
}

/// A source that digests the operations that pass through it.
pub struct DigestingSource<S> {
    source: S,
    digest: TraceDigest,
}

impl<S: Source> DigestingSource<S> {
    /// Digests the operations of `source` from now on.
    pub fn new(source: S) -> Self {
        Self { source, digest: TraceDigest::new() }
    }

    /// The digest of the operations so far.
    pub fn sha256(&self) -> String {
        self.digest.clone().finish()
    }
}

impl<S: Source> Source for DigestingSource<S> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        self.source.next_batch(batch)?;
        self.digest.update(batch);
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        self.source.remaining()
    }
}

/// Appends the record of `op`.
fn encode(op: &Op, out: &mut Vec<u8>) {
    let dir = |out: &mut Vec<u8>, DirId(number)| out.extend(u32::to_le_bytes(number));
    let file = |out: &mut Vec<u8>, FileId(number)| out.extend(u64::to_le_bytes(number));
    let number = |out: &mut Vec<u8>, number| out.extend(u64::to_le_bytes(number));
    out.push(op.kind() as u8);
    match *op {
        Op::Mkdir { dir: made, parent } | Op::Rmdir { dir: made, parent } => {
            dir(out, made);
            dir(out, parent);
        }
        Op::Create { file: id, parent, size, content } => {
            file(out, id);
            dir(out, parent);
            number(out, size);
            out.push(content as u8);
        }
        Op::Write { file: id, parent, offset, len } | Op::Punch { file: id, parent, offset, len } => {
            file(out, id);
            dir(out, parent);
            number(out, offset);
            number(out, len);
        }
        Op::Append { file: id, parent, len: amount } | Op::Truncate { file: id, parent, size: amount } => {
            file(out, id);
            dir(out, parent);
            number(out, amount);
        }
        Op::Rename { file: id, parent, to_file, to_parent }
        | Op::Link { file: id, parent, to_file, to_parent }
        | Op::Clone { file: id, parent, to_file, to_parent } => {
            file(out, id);
            dir(out, parent);
            file(out, to_file);
            dir(out, to_parent);
        }
        Op::Delete { file: id, parent } | Op::Fsync { file: id, parent } => {
            file(out, id);
            dir(out, parent);
        }
        Op::Snapshot { number: n } | Op::DeleteSnapshot { number: n } | Op::Checkpoint { number: n } => {
            number(out, n)
        }
    }
}
