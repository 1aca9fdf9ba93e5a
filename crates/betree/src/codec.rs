//! Encoding and decoding of numbers, with bounds checks.

use crate::error::{Error, Result};

/// Reads numbers and bytes in sequence; reading past the end is an error, never a panic.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
    offset: u64,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`, the structure `what` at `offset` on the disk.
    pub fn new(bytes: &'a [u8], what: &'static str, offset: u64) -> Self {
        Self { bytes, at: 0, what, offset }
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if n > rest.len() {
            return Err(self.wrong(format!("{n} bytes are expected, but {} follow", rest.len())));
        }
        self.at += n;
        Ok(&rest[..n])
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(get_u32(self.take(4)?, 0))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(get_u64(self.take(8)?, 0))
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error about the structure being read.
    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::damaged(self.what, self.offset, why)
    }
}

/// The number at `at`, which must be within `bytes`.
#[inline]
pub(crate) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The number at `at`, which must be within `bytes`.
#[inline]
pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(crate) fn put_u32(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&n.to_le_bytes());
}

pub(crate) fn put_u64(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&n.to_le_bytes());
}

pub(crate) fn set_u32(out: &mut [u8], at: usize, n: u32) {
    out[at..at + 4].copy_from_slice(&n.to_le_bytes());
}

pub(crate) fn set_u64(out: &mut [u8], at: usize, n: u64) {
    out[at..at + 8].copy_from_slice(&n.to_le_bytes());
}
