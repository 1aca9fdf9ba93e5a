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

    /// Overwrites the data of a file in place, in the requests of its creation.
    pub fn overwrite(&mut self, file: &Layout) {
        let most_bytes = self.most_bytes(RequestKind::Write, file);
        for run in self.runs(file) {
            self.transfers(RequestKind::Write, run, most_bytes);
        }
    }

    /// Writes a new file: its data and indirect blocks. If metadata is written through, first writes its inode and the end of its directory, and
    /// waits for both; waits for each indirect block when it is allocated, and writes it again when it is filled, as 4.4BSD.
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
        if self.allocator.writes_metadata_through() {
            let block_bytes = self.block_bytes();
            for &indirect in &file.indirect {
                let byte = u64::from(indirect) * self.allocator.unit_bytes();
                self.request(RequestKind::Write, byte, block_bytes);
            }
        }
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
        let (unit_bytes, block_bytes) = (self.allocator.unit_bytes(), self.block_bytes());
        let most_bytes = self.most_bytes(kind, file);
        let mut indirect = file.indirect.iter().enumerate().peekable();
        for run in self.runs(file) {
            let block = (run.0 / block_bytes) as u32;
            // `runs` ends a run where the next indirect block is needed.
            while let Some((_, &at)) = indirect.next_if(|&(number, _)| first_named(number) <= block) {
                self.request(kind, u64::from(at) * unit_bytes, block_bytes);
                if kind == RequestKind::Write && self.allocator.writes_metadata_through() {
                    self.flush();
                }
            }
            self.transfers(kind, run, most_bytes);
        }
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.allocator.block_units()) * self.allocator.unit_bytes()
    }

    /// The largest request for data of a file.
    fn most_bytes(&self, kind: RequestKind, file: &Layout) -> u64 {
        if kind == RequestKind::Write && file.size < self.allocator.clustered_from_bytes() {
            self.block_bytes()
        } else {
            self.allocator.transfer_bytes()
        }
    }

    /// The runs of a file: first byte in the file and on disk, and length; split where an indirect block is needed, and before the fragments
    /// at the end, which are a request of their own even if contiguous (Smith and Seltzer 1997, §4.2).
    fn runs(&self, file: &Layout) -> Vec<(u64, u64, u64)> {
        let (units, unit_bytes) = (self.allocator.block_units(), self.allocator.unit_bytes());
        let needs_indirect = (0..file.indirect.len()).map(|number| first_named(number) * units);
        let cuts: Vec<u32> = needs_indirect.chain([file.end() / units * units]).collect();
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

    fn transfers(&mut self, kind: RequestKind, (in_file, on_disk, len): (u64, u64, u64), most_bytes: u64) {
        let mut done = 0;
        while done < len {
            let unit_left = UNIT_BYTES - (in_file + done) % UNIT_BYTES;
            let bytes = (len - done).min(most_bytes).min(unit_left);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::FastFs;
    use crate::geometry::Geometry;
    use crate::policy::SmartFrag;
    use crate::volume::Volume;
    use trace::{Content, FileId, Op, ROOT};

    /// Read and write requests for a file of `kb` KB with contiguous blocks and fragments. The inode is read with it.
    fn requests(kb: u64) -> (u64, u64) {
        let mut volume = Volume::new(FastFs::new(Geometry::of(64 << 20).unwrap(), SmartFrag));
        let file = FileId(1);
        volume.apply(&Op::Create { file, parent: ROOT, size: kb << 10, content: Content::Written }).unwrap();
        let layout = volume.layout_of(file).unwrap();
        assert!(kb > 96 || layout.extents.len() == 1, "{layout:?}");
        let mut cost = Cost::new(volume.allocator(), &Model::find("hdd-1994").unwrap());
        cost.read(&layout);
        cost.overwrite(&layout);
        let priced = cost.pricing.finish();
        (priced.reads.requests - 1, priced.writes.requests)
    }

    #[test]
    fn indirect_block_is_written_twice() {
        let mut volume = Volume::new(FastFs::new(Geometry::of(64 << 20).unwrap(), SmartFrag));
        let file = FileId(1);
        volume.apply(&Op::Create { file, parent: ROOT, size: 104 << 10, content: Content::Written }).unwrap();
        let layout = volume.layout_of(file).unwrap();
        let mut cost = Cost::new(volume.allocator(), &Model::find("hdd-1994").unwrap());
        cost.create(&layout, &volume.layout_of_directory(ROOT).unwrap());
        // The inode, the directory, 64 KB, 32 KB and 8 KB of data, and the indirect block before and behind them.
        assert_eq!(cost.pricing.finish().writes.requests, 2 + 3 + 2);
    }

    #[test]
    fn fragments_are_a_request_and_small_files_are_written_block_by_block() {
        assert_eq!(requests(24), (1, 3));
        assert_eq!(requests(28), (2, 4));
        assert_eq!(requests(60), (2, 8));
        assert_eq!(requests(64), (1, 1));
        assert_eq!(requests(76), (3, 3));
        // 96 KB, the indirect block and a block elsewhere.
        assert_eq!(requests(104), (4, 3));
    }
}
