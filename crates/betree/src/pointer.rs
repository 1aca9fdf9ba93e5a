//! Pointers to extents.

use crate::codec::{Reader, put_u32, put_u64};
use crate::error::Result;
use crate::params::Params;

/// Address and identity of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub at: u64,
    pub birth: u64,
    /// Bytes of the extent, whole blocks.
    pub bytes: u32,
    pub header: u32,
    pub sum: u64,
    pub level: u8,
}

impl Pointer {
    /// Bytes of an encoded pointer.
    pub const BYTES: usize = 40;
    /// The level of a space map.
    pub const MAP: u8 = 255;

    pub fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.at);
        put_u64(out, self.birth);
        put_u32(out, self.bytes);
        put_u32(out, self.header);
        put_u64(out, self.sum);
        out.extend([self.level, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Decodes a pointer; returns an error if it cannot point into the area.
    pub fn get(reader: &mut Reader<'_>, params: &Params, area: (u64, u64)) -> Result<Self> {
        let pointer = Self {
            at: reader.u64()?,
            birth: reader.u64()?,
            bytes: reader.u32()?,
            header: reader.u32()?,
            sum: reader.u64()?,
            level: reader.u8()?,
        };
        let zero = reader.take(7)?;
        let (start, slots) = area;
        let (block, node) = (params.block(), params.node());
        let bytes = u64::from(pointer.bytes);
        let sound = pointer.at >= start
            && pointer.at.is_multiple_of(block)
            && bytes > 0
            && bytes.is_multiple_of(block)
            && bytes <= node
            && (pointer.at - start) / node < slots
            && (pointer.at - start) % node + bytes <= node
            && pointer.header > 0
            && pointer.header <= pointer.bytes
            && zero.iter().all(|b| *b == 0);
        if sound { Ok(pointer) } else { Err(reader.wrong("a pointer is out of range")) }
    }
}
