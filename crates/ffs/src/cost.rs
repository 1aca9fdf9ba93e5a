//! The cost of reading and writing files on a modelled disk: their blocks become requests, which the model prices.

use crate::allocator::Allocator;
use crate::geometry::{DIRECT, PER_INDIRECT};
use crate::layout::Layout;
use disk::model::{Model, Pricing};
use disk::{Request, RequestKind, SECTOR_BYTES};
use std::collections::HashSet;

/// Bytes per read or write call of a benchmark.
const UNIT_BYTES: u64 = 4 << 20;
/// Bytes of a block that holds inodes.
const INODE_BLOCK_BYTES: u64 = 8192;

/// A modelled disk with sequential reads and writes of files. Blocks of inodes and indirect blocks stay cached once read; file data does
/// not.
pub(crate) struct Cost<'a, A> {
    allocator: &'a A,
    pricing: Pricing,
    inode_blocks: HashSet<u64>,
}

impl<'a, A: Allocator> Cost<'a, A> {
    pub fn new(allocator: &'a A, model: &Model) -> Cost<'a, A> {
        let pricing = Pricing::new(model, allocator.size_bytes());
        Cost { allocator, pricing, inode_blocks: HashSet::new() }
    }

    /// Reads a file: its inode, its data in order, and each indirect block before the blocks it names.
    pub fn read(&mut self, file: &Layout) {
        let inode = self.allocator.inode_byte(file.inode);
        if self.inode_blocks.insert(inode) {
            self.request(RequestKind::Read, inode, INODE_BLOCK_BYTES);
        }
        self.transfer(RequestKind::Read, file);
    }

    /// Overwrites the data of a file in place.
    pub fn overwrite(&mut self, file: &Layout) {
        for run in self.runs(file) {
            self.transfers(RequestKind::Write, run);
        }
    }

    /// Writes a new file: its data and indirect blocks. If metadata is written through, first writes its inode and the end of its directory, and
    /// waits for both.
    pub fn create(&mut self, file: &Layout, directory: &Layout) {
        if self.allocator.writes_metadata_through() {
            let inode = self.allocator.inode_byte(file.inode);
            self.request(RequestKind::Write, inode, INODE_BLOCK_BYTES);
            if let Some(last) = directory.extents.last() {
                let unit_bytes = self.allocator.unit_bytes();
                self.request(RequestKind::Write, u64::from(last.end() - 1) * unit_bytes, unit_bytes);
            }
            self.flush();
        }
        self.transfer(RequestKind::Write, file);
    }

    /// Waits until all writes are on the disk.
    pub fn flush(&mut self) {
        self.request(RequestKind::Flush, 0, 0);
    }

    /// Total seconds.
    pub fn finish(self) -> f64 {
        self.pricing.finish().total_s()
    }

    fn transfer(&mut self, kind: RequestKind, file: &Layout) {
        let (units, unit_bytes) = (self.allocator.block_units(), self.allocator.unit_bytes());
        let block_bytes = u64::from(units) * unit_bytes;
        let mut indirect = file.indirect.iter().enumerate().peekable();
        for run in self.runs(file) {
            let block = (run.0 / block_bytes) as u32;
            // `runs` ends a run where the next indirect block is needed.
            while let Some((_, &at)) = indirect.next_if(|&(number, _)| first_named(number) <= block) {
                self.request(kind, u64::from(at) * unit_bytes, block_bytes);
            }
            self.transfers(kind, run);
        }
    }

    /// The runs of a file: first byte in the file and on disk, and length; split where an indirect block is needed.
    fn runs(&self, file: &Layout) -> Vec<(u64, u64, u64)> {
        let (units, unit_bytes) = (self.allocator.block_units(), self.allocator.unit_bytes());
        let cuts: Vec<u32> = (0..file.indirect.len()).map(|number| first_named(number) * units).collect();
        let mut runs = Vec::with_capacity(file.extents.len());
        for extent in &file.extents {
            let mut from = extent.logical;
            while from < extent.logical_end() {
                let cut = cuts.iter().find(|&&cut| cut > from).copied().unwrap_or(u32::MAX);
                let end = extent.logical_end().min(cut);
                let start = extent.start + (from - extent.logical);
                runs.push((
                    u64::from(from) * unit_bytes,
                    u64::from(start) * unit_bytes,
                    u64::from(end - from) * unit_bytes,
                ));
                from = end;
            }
        }
        runs
    }

    fn transfers(&mut self, kind: RequestKind, (in_file, on_disk, len): (u64, u64, u64)) {
        let mut done = 0;
        while done < len {
            let unit_left = UNIT_BYTES - (in_file + done) % UNIT_BYTES;
            let bytes = (len - done).min(self.allocator.transfer_bytes()).min(unit_left);
            self.request(kind, on_disk + done, bytes);
            done += bytes;
        }
    }

    fn request(&mut self, kind: RequestKind, byte: u64, len: u64) {
        let request = Request { kind, ..Request::read(byte / SECTOR_BYTES, (len / SECTOR_BYTES) as u32) };
        self.pricing.add([&request]);
    }
}

/// The first block of a file that needs the indirect block with this number, in order of creation: the single
/// one, then the double one together with the first below it, then the others below it.
fn first_named(number: usize) -> u32 {
    match number as u32 {
        0 => DIRECT,
        1 | 2 => DIRECT + PER_INDIRECT,
        further => DIRECT + PER_INDIRECT * (further - 1),
    }
}
