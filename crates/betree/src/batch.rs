//! Batches: writes that are visible together and survive a crash together.

use std::ops::Deref;
use std::sync::Arc;

use crate::codec::{Reader, put_u32};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::payload::{LONG, Payload};

/// A value that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Bytes(&'a [u8]),
    Shared(&'a Arc<Payload>),
}

impl Deref for Value<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Shared(value) => value,
        }
    }
}

/// One write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op<'a> {
    Insert(&'a [u8], Value<'a>),
    /// The key, and an empty slice or the 4-byte size of the deleted value.
    Delete(&'a [u8], &'a [u8]),
    Patch(&'a [u8], u32, &'a [u8]),
    DeleteRange(&'a [u8], &'a [u8]),
}

/// Writes in order, which [`Store::write`](crate::Store::write) applies as one.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// In the format of the log, without long values.
    bytes: Vec<u8>,
    /// Long values, each with its position in `bytes`.
    shared: Vec<(usize, Arc<Payload>)>,
    shared_bytes: usize,
    count: usize,
    grows: bool,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of `key`.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.grows = true;
        if value.len() < LONG {
            return self.push(1, key, value, None);
        }
        self.count += 1;
        encode(1, (key, value.len()), None, &mut self.bytes);
        self.shared.push((self.bytes.len(), Arc::new(Payload::new(value))));
        self.shared_bytes += value.len();
        self
    }

    /// Deletes `key`; it need not exist.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.push(2, key, &[], None)
    }

    /// Deletes `key`, whose value has about `bytes` bytes. The delete frees that space when it reaches the leaf, so it is flushed as early as an
    /// insert of that length.
    pub fn delete_sized(&mut self, key: &[u8], bytes: u32) -> &mut Self {
        self.push(2, key, &bytes.to_le_bytes(), None)
    }

    /// Writes `bytes` at `offset` into the value of `key`, without reading it. The value grows as needed, with zeros between its old end and
    /// `offset`. A missing value counts as empty. A patch of no bytes does nothing.
    pub fn patch(&mut self, key: &[u8], offset: u32, bytes: &[u8]) -> &mut Self {
        if bytes.is_empty() {
            return self;
        }
        self.grows = true;
        self.push(3, key, bytes, Some(offset))
    }

    /// Deletes all keys from `from` up to but without `to`, at the cost of one message.
    pub fn delete_range(&mut self, from: &[u8], to: &[u8]) -> &mut Self {
        if from == to {
            return self;
        }
        self.push(4, from, to, None)
    }

    fn push(&mut self, kind: u8, a: &[u8], b: &[u8], offset: Option<u32>) -> &mut Self {
        encode(kind, (a, b.len()), offset, &mut self.bytes);
        self.bytes.extend_from_slice(b);
        self.count += 1;
        self
    }

    /// Removes all writes and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.shared.clear();
        self.shared_bytes = 0;
        self.count = 0;
        self.grows = false;
    }

    /// Number of writes.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the batch has no writes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Size in bytes: keys and values, plus 9 (a patch or a sized delete 13) for each write.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.shared_bytes
    }

    /// Appends the batch to `bytes` in the format of the log, and its long values with their positions there to `shared`.
    pub(crate) fn encode_into(&self, bytes: &mut Vec<u8>, shared: &mut Vec<(usize, Arc<Payload>)>) {
        let start = bytes.len();
        bytes.extend_from_slice(&self.bytes);
        shared.extend(self.shared.iter().map(|(at, value)| (start + at, Arc::clone(value))));
    }

    /// The writes, in order.
    pub(crate) fn ops(&self) -> impl Iterator<Item = Op<'_>> {
        let mut reader = Reader::new(&self.bytes, "batch", 0);
        let mut shared = self.shared.iter();
        std::iter::from_fn(move || {
            let op = (!reader.is_empty())
                .then(|| next(&mut reader, || shared.next().map(|(_, value)| Value::Shared(value))));
            op.map(|op| op.expect("a batch is encoded correctly"))
        })
    }

    /// Whether the batch can make the store larger.
    pub(crate) fn grows(&self) -> bool {
        self.grows
    }

    /// Returns an error if the batch exceeds the limits of the store.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        if self.bytes() > params.max_batch_bytes() {
            return Err(Error::Limit(format!(
                "batch of {} bytes; this store accepts {}",
                self.bytes(),
                params.max_batch_bytes()
            )));
        }
        self.ops().try_for_each(|op| check(&op, params))
    }
}

/// Returns an error if a write exceeds the limits of the store.
pub(crate) fn check(op: &Op<'_>, params: &Params) -> Result<()> {
    let key = |key: &[u8]| match params.max_key_bytes() {
        max if key.len() > max => {
            Err(Error::Limit(format!("key of {} bytes; this store accepts {max}", key.len())))
        }
        _ => Ok(()),
    };
    let value = |bytes: usize| match params.max_value_bytes() {
        max if bytes > max => Err(Error::Limit(format!("value of {bytes} bytes; this store accepts {max}"))),
        _ => Ok(()),
    };
    match *op {
        Op::Insert(k, v) => key(k).and(value(v.len())),
        Op::Delete(k, _) => key(k),
        Op::Patch(k, offset, bytes) => key(k).and(value(bytes.len().saturating_add(offset as usize))),
        Op::DeleteRange(from, to) if from >= to => {
            Err(Error::Limit("a range to delete that ends before it starts".into()))
        }
        Op::DeleteRange(from, to) => key(from).and(key(to)),
    }
}

/// Appends one write in the format of the log, without its last `b` bytes.
fn encode(kind: u8, (a, b): (&[u8], usize), offset: Option<u32>, out: &mut Vec<u8>) {
    out.push(kind);
    put_u32(out, a.len() as u32);
    put_u32(out, b as u32);
    if let Some(offset) = offset {
        put_u32(out, offset);
    }
    out.extend_from_slice(a);
}

/// Decodes writes in the format of the log.
pub(crate) fn ops(bytes: &[u8]) -> impl Iterator<Item = Result<Op<'_>>> {
    let mut reader = Reader::new(bytes, "log record", 0);
    std::iter::from_fn(move || (!reader.is_empty()).then(|| next(&mut reader, || None)))
}

/// Decodes the next write; `shared` returns its value if that is long and not in `reader`.
fn next<'a>(reader: &mut Reader<'a>, shared: impl FnOnce() -> Option<Value<'a>>) -> Result<Op<'a>> {
    let kind = reader.u8()?;
    let (a, b) = (reader.u32()? as usize, reader.u32()? as usize);
    let offset = if kind == 3 { reader.u32()? } else { 0 };
    let a = reader.take(a)?;
    if kind == 1
        && b >= LONG
        && let Some(value) = shared()
    {
        return Ok(Op::Insert(a, value));
    }
    let b = reader.take(b)?;
    match kind {
        1 => Ok(Op::Insert(a, Value::Bytes(b))),
        2 if matches!(b.len(), 0 | 4) => Ok(Op::Delete(a, b)),
        3 => Ok(Op::Patch(a, offset, b)),
        4 => Ok(Op::DeleteRange(a, b)),
        _ => Err(reader.wrong("a write of an unknown kind")),
    }
}
