//! Records the block locations of each file of a small tree, for the picture of Conway et al. 2017, Figure 3.

use crate::Result;
use crate::mapped::each_mapped;
use crate::pieces::pieces;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The block locations of one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileBlocks {
    /// Its path below the root; invalid UTF-8 is replaced.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// All runs of blocks: (offset in the file, offset on disk, length), in bytes.
    pub extents: Vec<(u64, u64, u64)>,
}

/// Maps the first `limit` files below `root`, in scan order, including those without blocks. Writes back delayed data first. Keeps
/// every extent, unlike the sample in [`crate::StaticLayout`], so it is for trees of few files.
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
