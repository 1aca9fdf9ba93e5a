//! How a file system lies on its disk, as the manifest of a saved image has it.

use crate::Error;
use crate::tree::TreeLayout;
use fs::Target;
use probe::{Census, FreeSpace, StaticLayout};
use saved::Digest;
use serde::{Deserialize, Serialize};

/// Numbers that are the same whenever the same file system is looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// What its tree holds.
    pub census: Census,
    /// Layout of its files; none where the file system does not tell where they lie.
    pub layout: Option<StaticLayout>,
    /// SHA-256 of the extents of all files in scan order, each start and length as eight bytes, little-endian, neighbours joined.
    pub extents_sha256: Option<Digest>,
    /// Its free space, if it tells.
    pub free: Option<FreeSpace>,
    /// How its tree lies, if it is one.
    pub tree: Option<TreeLayout>,
}

impl Scores {
    /// Looks at a file system. It is unmounted meanwhile if it is a tree.
    pub fn of(target: &mut dyn Target) -> Result<Scores, Error> {
        let census = probe::census(target.root())?;
        let (mut layout, mut extents_sha256) = (None, None);
        if target.maps_files() {
            let mut of_files =
                probe::static_layout(target.root(), target.block_bytes(), target.max_extent_bytes())?;
            let extents =
                of_files.scan_extents.iter().flat_map(|extent| [extent.start_bytes, extent.len_bytes]);
            extents_sha256 = Some(Digest::of(&extents.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()));
            // What the digest stands for, and what is there to be drawn.
            of_files.scan_extents.clear();
            of_files.block_map.clear();
            layout = Some(of_files);
        }
        let free = target.free_extents()?.map(|extents| probe::free_space(&extents));
        let tree = target.tree()?.map(|stat| TreeLayout::from(&stat));
        Ok(Scores { census, layout, extents_sha256, free, tree })
    }
}
