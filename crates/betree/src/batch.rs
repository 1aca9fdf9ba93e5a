//! Several writes that are seen together, and survive together or not at all.

use crate::codec::{Reader, put_u32};
use crate::error::{Error, Result};
use crate::params::Params;

/// One write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op<'a> {
    Insert(&'a [u8], &'a [u8]),
    /// The key, and nothing or 4 bytes: how many bytes that takes away.
    Delete(&'a [u8], &'a [u8]),
    Patch(&'a [u8], u32, &'a [u8]),
    DeleteRange(&'a [u8], &'a [u8]),
}

/// Writes in order, which [`Store::write`](crate::Store::write) applies as one.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// As in the log.
    bytes: Vec<u8>,
    count: usize,
    grows: bool,
}

impl Batch {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of `key`.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.grows = true;
        self.push(&Op::Insert(key, value))
    }

    /// Takes `key` away; it need not be there.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.push(&Op::Delete(key, &[]))
    }

    /// The same, where it is known that the value has about so many bytes. They are room that comes back when the delete is at its leaf, so
    /// it is sent there as early as an insert of that length.
    pub fn delete_sized(&mut self, key: &[u8], bytes: u32) -> &mut Self {
        self.push(&Op::Delete(key, &bytes.to_le_bytes()))
    }

    /// Writes `bytes` at `offset` into the value of `key`, without reading it. The value becomes longer as needed; what lies between its
    /// end and `offset` becomes zero. Where there is no value it begins as an empty one. A patch of no bytes does nothing.
    pub fn patch(&mut self, key: &[u8], offset: u32, bytes: &[u8]) -> &mut Self {
        if bytes.is_empty() {
            return self;
        }
        self.grows = true;
        self.push(&Op::Patch(key, offset, bytes))
    }

    /// Takes away all keys from `from` up to but without `to`, at the cost of one message.
    pub fn delete_range(&mut self, from: &[u8], to: &[u8]) -> &mut Self {
        if from == to {
            return self;
        }
        self.push(&Op::DeleteRange(from, to))
    }

    fn push(&mut self, op: &Op<'_>) -> &mut Self {
        encode(op, &mut self.bytes);
        self.count += 1;
        self
    }

    /// Forgets its writes and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.grows = false;
    }

    /// How many writes it has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of it: those of keys and values, and 9 (a patch or a sized delete 13) for each write.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it can make the store larger.
    pub(crate) fn grows(&self) -> bool {
        self.grows
    }

    /// Refuses what does not fit the store.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        if self.bytes.len() > params.max_batch_bytes() {
            return Err(Error::Limit(format!(
                "a batch of {} bytes; this store takes {}",
                self.bytes.len(),
                params.max_batch_bytes()
            )));
        }
        for op in ops(&self.bytes) {
            check(&op.expect("a batch encodes what it is given"), params)?;
        }
        Ok(())
    }
}

/// Refuses a write that does not fit the store.
pub(crate) fn check(op: &Op<'_>, params: &Params) -> Result<()> {
    let key = |key: &[u8]| match params.max_key_bytes() {
        max if key.len() > max => {
            Err(Error::Limit(format!("a key of {} bytes; this store takes {max}", key.len())))
        }
        _ => Ok(()),
    };
    let value = |bytes: usize| match params.max_value_bytes() {
        max if bytes > max => Err(Error::Limit(format!("a value of {bytes} bytes; this store takes {max}"))),
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

/// Appends one write as the log has it.
pub(crate) fn encode(op: &Op<'_>, out: &mut Vec<u8>) {
    let (kind, a, b, offset) = match *op {
        Op::Insert(key, value) => (1, key, value, None),
        Op::Delete(key, freed) => (2, key, freed, None),
        Op::Patch(key, offset, bytes) => (3, key, bytes, Some(offset)),
        Op::DeleteRange(from, to) => (4, from, to, None),
    };
    out.reserve(13 + a.len() + b.len());
    out.push(kind);
    put_u32(out, a.len() as u32);
    put_u32(out, b.len() as u32);
    if let Some(offset) = offset {
        put_u32(out, offset);
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
}

/// The writes in `bytes`, which are as the log has them.
pub(crate) fn ops(bytes: &[u8]) -> impl Iterator<Item = Result<Op<'_>>> {
    let mut reader = Reader::new(bytes, "a record of the log", 0);
    std::iter::from_fn(move || (!reader.is_empty()).then(|| next(&mut reader)))
}

fn next<'a>(reader: &mut Reader<'a>) -> Result<Op<'a>> {
    let kind = reader.u8()?;
    let (a, b) = (reader.u32()? as usize, reader.u32()? as usize);
    let offset = if kind == 3 { reader.u32()? } else { 0 };
    let (a, b) = (reader.take(a)?, reader.take(b)?);
    match kind {
        1 => Ok(Op::Insert(a, b)),
        2 if matches!(b.len(), 0 | 4) => Ok(Op::Delete(a, b)),
        3 => Ok(Op::Patch(a, offset, b)),
        4 => Ok(Op::DeleteRange(a, b)),
        _ => Err(reader.wrong("a write of no known kind")),
    }
}
