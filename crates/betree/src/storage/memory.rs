//! Storage in memory.

use std::io;

use parking_lot::RwLock;

use super::Storage;

/// A disk in memory.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    bytes: RwLock<Vec<u8>>,
}

impl MemoryStorage {
    /// A disk of `len` zeros.
    pub fn new(len: u64) -> Self {
        Self::of(vec![0; usize::try_from(len).expect("an image in memory fits in memory")])
    }

    /// A disk with this content.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self { bytes: RwLock::new(bytes) }
    }

    /// A copy of the content.
    pub fn image(&self) -> Vec<u8> {
        self.bytes.read().clone()
    }

    /// Flips one bit, for tests.
    pub fn flip(&self, byte: u64, bit: u8) {
        self.bytes.write()[byte as usize] ^= 1 << (bit & 7);
    }
}

/// The requested range of an image of `len` bytes.
pub(super) fn span(len: usize, offset: u64, bytes: usize) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok();
    match start.and_then(|start| Some((start, start.checked_add(bytes)?))) {
        Some((start, end)) if end <= len => Ok(start..end),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the image ends at {len}"))),
    }
}

impl Storage for MemoryStorage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.read().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.bytes.read();
        buffer.copy_from_slice(&bytes[span(bytes.len(), offset, buffer.len())?]);
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let mut bytes = self.bytes.write();
        let span = span(bytes.len(), offset, buffer.len())?;
        bytes[span].copy_from_slice(buffer);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
