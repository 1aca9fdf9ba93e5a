//! Which blocks of a small tree lie where, whole and by name: the picture of Conway et al. 2017, Figure 3.

use crate::Result;
use crate::mapped::each_mapped;
use crate::pieces::pieces;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Where the blocks of one file lie.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileBlocks {
    /// Its path below the root; what is no UTF-8 in it is replaced.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// Runs of (place in the file, place on disk, length), in bytes; none left out.
    pub extents: Vec<(u64, u64, u64)>,
}

/// Maps the first `limit` files below `root`, in scan order, those without blocks too. Delayed data is written back
/// first. Unlike the sample that [`crate::StaticLayout`] holds it keeps every extent: it is for trees of few files.
pub fn block_picture(root: &Path, limit: usize) -> Result<Vec<FileBlocks>> {
    let mut files = Vec::new();
    each_mapped(root, |entry, size_bytes, extents| {
        if files.len() < limit {
            let name = entry.path.to_string_lossy().into_owned();
            let run = |piece: &snapshot::Extent| (piece.logical, piece.physical, piece.len);
            files.push(FileBlocks { name, size_bytes, extents: pieces(extents).iter().map(run).collect() });
        }
    })?;
    Ok(files)
}
