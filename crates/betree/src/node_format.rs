//! The on-disk format of nodes.

use std::sync::Arc;

use crate::codec::{Reader, set_u32, set_u64};
use crate::error::{Error, Result};
use crate::node::{Entry, Link, NODE_HEAD, Node, Part, PartPlace, entry_bytes};
use crate::params::Params;
use crate::pointer::Pointer;
use crate::sum::{Uuid, seed, sum};

/// Part number of the header.
const HEADER: u64 = u64::MAX;

/// The store parameters needed to read and write nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub params: Params,
    pub uuid: Uuid,
    /// Start and number of slots.
    pub area: (u64, u64),
}

impl Layout {
    /// The sum of a header or map.
    pub fn header_sum(&self, at: u64, birth: u64, bytes: &[u8]) -> u64 {
        sum(seed(&self.uuid, [at, birth, HEADER]), bytes)
    }

    /// The sum of part `number` of the node at `at`.
    pub fn part_sum(&self, at: u64, birth: u64, number: u32, bytes: &[u8]) -> u64 {
        sum(seed(&self.uuid, [at, birth, u64::from(number)]), bytes)
    }

    /// Encodes `node`, with all parts in memory, into `out`, which has its length; returns its pointer.
    pub fn encode(&self, node: &Node, at: u64, birth: u64, out: &mut [u8]) -> Pointer {
        let header = node.header_bytes();
        let mut part_at = self.params.blocks(header);
        out[..part_at].fill(0);
        out[..4].copy_from_slice(b"node");
        out[4] = node.level;
        set_u64(out, 8, birth);
        set_u64(out, 16, at);
        let bytes = out.len() as u32;
        set_u32(out, 24, bytes);
        set_u32(out, 28, header as u32);
        set_u32(out, 32, node.entries.len() as u32);
        let mut place = NODE_HEAD;
        for (i, entry) in node.entries.iter().enumerate() {
            let run = match &entry.part {
                Part::Memory(run) => Some(run.bytes()),
                Part::Empty => None,
                Part::Disk(_) => unreachable!("all parts of a written node are in memory"),
            };
            set_u32(out, place, entry.key.len() as u32);
            if let Some(run) = run {
                let part = &mut out[part_at..part_at + run.len()];
                run.write_to(part);
                let sum = self.part_sum(at, birth, i as u32, part);
                set_u32(out, place + 4, part_at as u32);
                set_u32(out, place + 8, run.len() as u32);
                set_u64(out, place + 16, sum);
                let end = part_at + self.params.blocks(run.len());
                out[part_at + run.len()..end].fill(0);
                part_at = end;
            }
            if let Link::Disk(child) = &entry.child {
                let mut bytes = Vec::with_capacity(Pointer::BYTES);
                child.put(&mut bytes);
                out[place + 24..place + 24 + Pointer::BYTES].copy_from_slice(&bytes);
            }
            place += entry_bytes(node.level);
            out[place..place + entry.key.len()].copy_from_slice(&entry.key);
            place += entry.key.len();
        }
        let sum = self.header_sum(at, birth, &out[..header]);
        Pointer { at, birth, bytes, header: header as u32, sum, level: node.level }
    }

    /// Decodes the node with its header at the start of `bytes`; the parts stay on the disk.
    pub fn decode(&self, pointer: &Pointer, bytes: &[u8]) -> Result<Node> {
        let header = &bytes[..pointer.header as usize];
        if self.header_sum(pointer.at, pointer.birth, header) != pointer.sum {
            return Err(Error::damaged("node", pointer.at, "checksum mismatch"));
        }
        let mut reader = Reader::new(header, "node", pointer.at);
        let magic = reader.take(4)?;
        let level = reader.u8()?;
        reader.take(3)?;
        let same = magic == b"node"
            && level == pointer.level
            && reader.u64()? == pointer.birth
            && reader.u64()? == pointer.at
            && reader.u32()? == pointer.bytes
            && reader.u32()? == pointer.header;
        if !same {
            return Err(reader.wrong("it is not the node that its parent refers to"));
        }
        let count = reader.u32()? as usize;
        reader.u32()?;
        if count > reader.left() / entry_bytes(level) {
            return Err(reader.wrong(format!("{count} parts do not fit into its header")));
        }
        if level > 0 && count == 0 {
            return Err(reader.wrong("it has no children"));
        }
        let mut entries = Vec::with_capacity(count);
        let mut free = self.params.blocks(header.len());
        for number in 0..count {
            entries.push(self.decode_entry(&mut reader, pointer, number as u32, &mut free)?);
        }
        let rising = entries.windows(2).all(|pair| pair[0].key < pair[1].key);
        if !rising || !entries.first().is_none_or(|first| first.key.is_empty()) || !reader.is_empty() {
            return Err(reader.wrong("its keys are not ascending, or do not match its header"));
        }
        if free != pointer.bytes as usize {
            return Err(reader.wrong("its parts do not match its size"));
        }
        Ok(Node { level, entries })
    }

    /// Returns an error if `bytes`, the whole node, has nonzero bytes between its parts.
    pub fn expect_zero_padding(&self, node: &Node, pointer: &Pointer, bytes: &[u8]) -> Result<()> {
        let mut end = pointer.header as usize;
        for entry in &node.entries {
            if let Part::Disk(place) = &entry.part {
                let start = (place.at - pointer.at) as usize;
                if bytes[end..start].iter().any(|byte| *byte != 0) {
                    return Err(Error::damaged("node", pointer.at, "there is data between its parts"));
                }
                end = start + place.bytes as usize;
            }
        }
        match bytes[end..].iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(Error::damaged("node", pointer.at, "there is data after its parts")),
        }
    }

    fn decode_entry(
        &self,
        reader: &mut Reader<'_>,
        pointer: &Pointer,
        number: u32,
        free: &mut usize,
    ) -> Result<Entry> {
        let key_bytes = reader.u32()? as usize;
        let (offset, bytes) = (reader.u32()?, reader.u32()?);
        reader.u32()?;
        let sum = reader.u64()?;
        let child = if pointer.level == 0 {
            Link::None
        } else {
            let child = Pointer::get(reader, &self.params, self.area)?;
            if child.level != pointer.level - 1 {
                return Err(reader.wrong("a child is not one level lower"));
            }
            Link::Disk(child)
        };
        let key = Arc::from(reader.take(key_bytes)?);
        let part = if bytes == 0 {
            Part::Empty
        } else {
            if offset as usize != *free || bytes > pointer.bytes {
                return Err(reader.wrong("a part is at the wrong position"));
            }
            *free += self.params.blocks(bytes as usize);
            let (node, birth) = (pointer.at, pointer.birth);
            Part::Disk(PartPlace { at: node + u64::from(offset), bytes, sum, node, birth, number })
        };
        if *free > pointer.bytes as usize {
            return Err(reader.wrong("its parts are longer than the node"));
        }
        Ok(Entry { key, part, child })
    }
}
