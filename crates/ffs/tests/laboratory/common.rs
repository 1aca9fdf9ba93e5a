//! Shared code of the tests.

use ffs::geometry::FRAGMENTS;
use ffs::policy::Policy;
use ffs::{Allocator, Extent, FastFs, Geometry, Volume};
use trace::{Content, DirId, FileId, Op, ROOT};

pub const KB: u64 = 1024;

/// An empty fast file system of four groups, 64 MB.
pub fn fast<P: Policy>(policy: P) -> Volume<FastFs<P>> {
    Volume::new(FastFs::new(Geometry::of(64 << 20).unwrap(), policy))
}

pub fn create(file: u64, size: u64) -> Op {
    create_in(file, ROOT.0, size)
}

pub fn create_in(file: u64, dir: u32, size: u64) -> Op {
    Op::Create { file: FileId(file), parent: DirId(dir), size, content: Content::Written }
}

pub fn append(file: u64, len: u64) -> Op {
    Op::Append { file: FileId(file), parent: ROOT, len }
}

pub fn truncate(file: u64, size: u64) -> Op {
    Op::Truncate { file: FileId(file), parent: ROOT, size }
}

pub fn delete(file: u64) -> Op {
    Op::Delete { file: FileId(file), parent: ROOT }
}

pub fn apply<A: Allocator>(volume: &mut Volume<A>, ops: &[Op]) {
    ops.iter().for_each(|op| volume.apply(op).unwrap());
}

/// The extents of a file: unit in the file, unit on disk, length.
pub fn extents_of<A: Allocator>(volume: &Volume<A>, file: u64) -> Vec<(u32, u32, u32)> {
    let layout = volume.layout_of(FileId(file)).unwrap();
    layout.extents.iter().map(|extent: &Extent| (extent.logical, extent.start, extent.len)).collect()
}

/// The number of the first fragment of a block.
pub fn block(number: u32) -> u32 {
    number * FRAGMENTS
}
