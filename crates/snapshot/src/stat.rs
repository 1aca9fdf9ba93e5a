//! Statistics of a snapshot.

use crate::layout::Layout;
use crate::{Kind, Snapshot};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// Statistics of a snapshot. Files with several names count once.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stat {
    /// Regular files.
    pub files: u64,
    /// Directories, the root included.
    pub dirs: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Devices, pipes and sockets.
    pub specials: u64,
    /// Hard links: names of files beyond their first.
    pub further_names: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Total allocated space of the files, in bytes.
    pub allocated_bytes: u64,
    /// The used share of the file system, if known.
    pub fullness: Option<f64>,
    /// Files with blocks at known addresses.
    pub files_with_extents: u64,
    /// Runs of blocks without a gap in the file or on disk.
    pub extents: u64,
    /// Blocks.
    pub blocks: u64,
    /// The size of a block.
    pub block_bytes: u64,
    /// The share of the blocks 2…n of the files that directly follow their predecessor.
    pub layout_score: Option<f64>,
    /// Figures by file size.
    pub by_size: Vec<Size>,
    /// Files by the time since their last modification.
    pub by_age: Vec<Age>,
    /// Files and directories by the number of directories above them; the root is at 0.
    pub by_depth: Vec<Depth>,
}

/// Files larger than half of `upper_bytes`, up to and including `upper_bytes`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Size {
    /// A power of two, or 0 for empty files.
    pub upper_bytes: u64,
    /// Files.
    pub files: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Extents of the files.
    pub extents: u64,
    /// Layout score of the files.
    pub layout_score: Option<f64>,
}

/// Files modified between half of `upper_s` (inclusive) and `upper_s` seconds before the end of the snapshot;
/// the first class also has files modified in the last second or with a time in the future.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Age {
    /// Seconds, a power of two.
    pub upper_s: u64,
    /// Files.
    pub files: u64,
    /// Total size of the files.
    pub bytes: u64,
}

/// Files and directories at a depth.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Depth {
    /// Number of directories above.
    pub depth: u32,
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub dirs: u64,
}

impl Stat {
    /// Computes the statistics of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Stat {
        let info = snapshot.info();
        let block_bytes = if info.block_bytes > 0 { info.block_bytes } else { 4096 };
        let mut all = Layout::default();
        let mut stat = Stat {
            files: 0,
            dirs: 0,
            symlinks: 0,
            specials: 0,
            further_names: 0,
            bytes: 0,
            allocated_bytes: 0,
            fullness: (info.capacity_bytes > 0).then(|| info.used_bytes as f64 / info.capacity_bytes as f64),
            files_with_extents: 0,
            extents: 0,
            blocks: 0,
            block_bytes,
            layout_score: None,
            by_size: Vec::new(),
            by_age: Vec::new(),
            by_depth: Vec::new(),
        };
        let mut sizes: BTreeMap<u64, (u64, Layout)> = BTreeMap::new();
        let mut ages: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut depths: Vec<u32> = Vec::with_capacity(snapshot.entries().len());
        let mut linked = HashSet::new();
        for (entry, place) in snapshot.entries().iter().zip(0..) {
            let depth = if place == crate::ROOT { 0 } else { depths[entry.parent as usize] + 1 };
            depths.push(depth);
            if entry.links > 1 && entry.kind != Kind::Dir && !linked.insert(entry.inode) {
                stat.further_names += 1;
                continue;
            }
            let at = depth as usize;
            while stat.by_depth.len() <= at {
                stat.by_depth.push(Depth { depth: stat.by_depth.len() as u32, ..Depth::default() });
            }
            match entry.kind {
                Kind::Symlink => stat.symlinks += 1,
                Kind::Special => stat.specials += 1,
                Kind::Dir => {
                    stat.dirs += 1;
                    stat.by_depth[at].dirs += 1;
                }
                Kind::File => {
                    stat.files += 1;
                    stat.by_depth[at].files += 1;
                    stat.bytes = stat.bytes.saturating_add(entry.size);
                    stat.allocated_bytes = stat.allocated_bytes.saturating_add(entry.allocated);
                    let layout = Layout::of_file(snapshot.extents(place), block_bytes, u64::MAX);
                    stat.files_with_extents += u64::from(layout.extents > 0);
                    all.add(layout);
                    let upper = if entry.size == 0 { 0 } else { power_from(entry.size) };
                    let (bytes, sum) = sizes.entry(upper).or_default();
                    *bytes = bytes.saturating_add(entry.size);
                    sum.add(layout);
                    let age_s = info.ended_ns.saturating_sub(entry.modified_ns).max(0) as u64 / 1_000_000_000;
                    let (files, bytes) = ages.entry(power_from(age_s + 1)).or_default();
                    *files += 1;
                    *bytes = bytes.saturating_add(entry.size);
                }
            }
        }
        (stat.extents, stat.blocks, stat.layout_score) = (all.extents, all.blocks, all.layout_score());
        let size = |(upper_bytes, (bytes, layout)): (u64, (u64, Layout))| Size {
            upper_bytes,
            files: layout.files,
            bytes,
            extents: layout.extents,
            layout_score: layout.layout_score(),
        };
        stat.by_size = sizes.into_iter().map(size).collect();
        stat.by_age =
            ages.into_iter().map(|(upper_s, (files, bytes))| Age { upper_s, files, bytes }).collect();
        stat
    }
}

/// The least power of two that is at least `n`.
fn power_from(n: u64) -> u64 {
    n.checked_next_power_of_two().unwrap_or(u64::MAX)
}
