//! Merges the extents of a file into runs of blocks.

use fiemap::FileExtent;
use snapshot::Extent;

/// Merges extents that are adjacent both in the file and on disk, and skips those without blocks.
pub(crate) fn pieces(extents: &[FileExtent]) -> Vec<Extent> {
    let mut pieces = Vec::new();
    append_pieces(&mut pieces, extents);
    pieces
}

/// Appends the runs of one file to a list that contains the runs of others.
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
