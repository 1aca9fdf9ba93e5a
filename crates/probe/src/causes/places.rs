//! Where the data of each file lies on its device.

use crate::Result;
use crate::mapped::each_mapped;
use crate::pieces::pieces;
use disk::Extent;
use fs::AddressMap;
use std::path::Path;

/// Where the data of each file of a tree lies on its device. Data that several files share belongs to one of them.
#[derive(Clone, Debug, Default)]
pub struct FilePlaces {
    /// By address, without overlap.
    pieces: Vec<Piece>,
    files: Vec<File>,
}

/// A contiguous part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    start: u64,
    len: u64,
    data: Data,
}

/// A position in the data of a file, holes not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Data {
    /// The file, by number.
    pub file: u32,
    /// The bytes of data before it.
    pub offset: u64,
}

#[derive(Clone, Copy, Debug)]
struct File {
    /// Address of the first byte of its data.
    first: u64,
    /// Bytes of data.
    len: u64,
}

impl FilePlaces {
    /// Maps every file below `root`, on a file system whose extent maps have the addresses of `addresses`. Writes back delayed data first.
    pub fn of(root: &Path, addresses: &AddressMap) -> Result<FilePlaces> {
        let mut places = FilePlaces::default();
        each_mapped(root, |_, _, extents| {
            let on_disk = pieces(extents).into_iter();
            places.add(
                on_disk.map(|piece| Extent { start_bytes: piece.physical, len_bytes: piece.len }),
                addresses,
            );
        })?;
        Ok(places.sorted())
    }

    /// Adds a file: its pieces, in the order of its bytes.
    pub(super) fn add(&mut self, on_disk: impl Iterator<Item = Extent>, addresses: &AddressMap) {
        let file = self.files.len() as u32;
        let (mut first, mut len) = (None, 0);
        for piece in on_disk {
            for (skipped, copy) in addresses.on_device(piece) {
                first.get_or_insert(copy.start_bytes);
                let data = Data { file, offset: len + skipped };
                self.pieces.push(Piece { start: copy.start_bytes, len: copy.len_bytes, data });
            }
            len += piece.len_bytes;
        }
        if let Some(first) = first {
            self.files.push(File { first, len });
        }
    }

    /// Sorts the pieces, and gives what several files share to the one that begins there first.
    pub(super) fn sorted(mut self) -> FilePlaces {
        self.pieces.sort_by_key(|piece| piece.start);
        let mut end = 0;
        self.pieces.retain_mut(|piece| {
            let taken = end.max(piece.start) - piece.start;
            if taken >= piece.len {
                return false;
            }
            piece.start += taken;
            piece.len -= taken;
            piece.data.offset += taken;
            end = piece.start + piece.len;
            true
        });
        self
    }

    /// The parts of `start..end`: where each begins and ends, and the data there, `None` for what is not data of a file.
    pub(super) fn parts(&self, start: u64, end: u64) -> Vec<(u64, u64, Option<Data>)> {
        let mut parts = Vec::new();
        let mut at = start;
        let first = self.pieces.partition_point(|piece| piece.start + piece.len <= start);
        for piece in self.pieces[first..].iter().take_while(|piece| piece.start < end) {
            if at < piece.start {
                parts.push((at, piece.start, None));
                at = piece.start;
            }
            let until = end.min(piece.start + piece.len);
            let offset = piece.data.offset + (at - piece.start);
            parts.push((at, until, Some(Data { offset, ..piece.data })));
            at = until;
        }
        if at < end || start == end {
            parts.push((at, end, None));
        }
        parts
    }

    /// The address of the first byte of a file.
    pub(super) fn first(&self, file: u32) -> u64 {
        self.files[file as usize].first
    }

    /// The bytes of data of a file.
    pub(super) fn bytes(&self, file: u32) -> u64 {
        self.files[file as usize].len
    }

    /// The addresses at which the files of a disk of `size_bytes` begin if each is in one piece: where they begin now, or as near as the files
    /// before them, or else those behind them and the end of the disk, leave room.
    pub(super) fn in_one_piece(&self, size_bytes: u64) -> Vec<u64> {
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|&file| self.files[file].first);
        let mut starts = vec![0; self.files.len()];
        let mut end = 0;
        for &file in &order {
            starts[file] = end.max(self.files[file].first);
            end = starts[file] + self.files[file].len;
        }
        let mut limit = size_bytes;
        for &file in order.iter().rev() {
            limit = limit.saturating_sub(self.files[file].len);
            starts[file] = starts[file].min(limit);
            limit = starts[file];
        }
        starts
    }
}
