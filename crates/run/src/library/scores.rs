//! The layout of a file system on its disk, as stored in the manifest of a saved image.

use crate::Error;
use crate::tree::TreeLayout;
use archive::Digest;
use fs::Target;
use probe::{Census, FreeSpace, StaticLayout};
use serde::{Deserialize, Serialize};

/// Scores that are the same for every measurement of the same file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The contents of the tree.
    pub census: Census,
    /// The layout of the files; `None` if the file system does not report it.
    pub layout: Option<StaticLayout>,
    /// SHA-256 of the extents of all files in scan order, each start and length as eight bytes, little-endian, adjacent extents merged.
    pub extents_sha256: Option<Digest>,
    /// The free space, if the file system reports it.
    pub free: Option<FreeSpace>,
    /// The layout of the tree, if the file system stores one.
    pub tree: Option<TreeLayout>,
}

impl Scores {
    /// Measures a file system. A file system that stores a tree is unmounted meanwhile.
    pub fn of(target: &mut dyn Target) -> Result<Scores, Error> {
        let census = probe::census(target.root())?;
        let (mut layout, mut extents_sha256) = (None, None);
        if target.supports_fiemap() {
            let mut of_files =
                probe::static_layout(target.root(), target.block_bytes(), target.max_extent_bytes())?;
            let extents =
                of_files.scan_extents.iter().flat_map(|extent| [extent.start_bytes, extent.len_bytes]);
            extents_sha256 = Some(Digest::of(&extents.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()));
            // The digest stands for the extents, and the block map serves only for drawing.
            of_files.scan_extents.clear();
            of_files.block_map.clear();
            layout = Some(of_files);
        }
        let free = target.free_extents()?.map(|extents| probe::free_space(&extents));
        let tree = target.tree_stat()?.map(|stat| TreeLayout::from(&stat));
        Ok(Scores { census, layout, extents_sha256, free, tree })
    }
}
