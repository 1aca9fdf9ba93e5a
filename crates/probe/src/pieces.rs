//! Extents of a file as runs of blocks.

use fiemap::FileExtent;
use snapshot::Extent;

/// Merges extents that follow each other both in the file and on disk, and leaves out those without blocks.
pub(crate) fn pieces(extents: &[FileExtent]) -> Vec<Extent> {
    let mut pieces = Vec::new();
    append_pieces(&mut pieces, extents);
    pieces
}

/// The same for one file of several whose pieces are in one list.
pub(crate) fn append_pieces(pieces: &mut Vec<Extent>, extents: &[FileExtent]) {
    let first = pieces.len();
    for extent in extents.iter().filter(|extent| extent.flags.has_blocks() && extent.len > 0) {
        match pieces[first..].last_mut() {
            Some(last) if last.logical_end() == extent.logical && last.physical_end() == extent.physical => {
                last.len += extent.len;
            }
            _ => pieces.push(Extent { logical: extent.logical, physical: extent.physical, len: extent.len }),
        }
    }
}
