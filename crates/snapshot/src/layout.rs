//! Contiguity of blocks: the layout score of Smith and Seltzer (1997) and the degree of fragmentation,
//! computed from extents alone.

use crate::Extent;

/// A sequence of blocks, with the number of blocks that directly follow their predecessor on disk.
#[derive(Clone, Copy, Default)]
pub struct Chain {
    /// Blocks so far.
    pub blocks: u64,
    contiguous: u64,
    end: Option<u64>,
}

impl Chain {
    /// Appends a run of bytes on disk: each of its blocks except the first follows its predecessor.
    pub fn add_run(&mut self, start_bytes: u64, len_bytes: u64, block_bytes: u64) {
        let blocks = len_bytes.div_ceil(block_bytes).max(1);
        self.blocks += blocks;
        self.contiguous += blocks - 1 + u64::from(self.end == Some(start_bytes));
        self.end = Some(start_bytes.saturating_add(len_bytes));
    }

    /// The number of blocks that follow their predecessor, and of blocks with a predecessor.
    pub fn counts(&self) -> (u64, u64) {
        (self.contiguous, self.blocks.saturating_sub(1))
    }

    /// The share of the blocks with a predecessor that directly follow it.
    pub fn score(&self) -> Option<f64> {
        let (contiguous, of) = self.counts();
        (of > 0).then(|| contiguous as f64 / of as f64)
    }
}

/// Sums of layout figures: of a file, a size class or a tree.
#[derive(Clone, Copy, Default)]
pub struct Layout {
    /// Files.
    pub files: u64,
    /// Extents; one longer than the file system's maximum counts as several.
    pub extents: u64,
    /// The least number of extents the file system could have used.
    pub least_extents: u64,
    /// Blocks.
    pub blocks: u64,
    /// Blocks that directly follow the previous block of their file on disk.
    pub contiguous: u64,
    /// Blocks with a previous block in their file.
    pub successors: u64,
}

impl Layout {
    /// The figures of one file, whose extents are runs without a gap.
    pub fn of_file(extents: &[Extent], block_bytes: u64, max_extent_bytes: u64) -> Layout {
        let mut chain = Chain::default();
        let mut layout = Layout { files: 1, ..Layout::default() };
        let mut data_run = 0u64;
        for (index, extent) in extents.iter().enumerate() {
            chain.add_run(extent.physical, extent.len, block_bytes);
            layout.extents += extent.len.div_ceil(max_extent_bytes);
            data_run = data_run.saturating_add(extent.len);
            if extents.get(index + 1).is_none_or(|next| next.logical != extent.logical_end()) {
                layout.least_extents += data_run.div_ceil(max_extent_bytes);
                data_run = 0;
            }
        }
        layout.blocks = chain.blocks;
        (layout.contiguous, layout.successors) = chain.counts();
        layout
    }

    /// Adds other figures.
    pub fn add(&mut self, other: Layout) {
        self.files += other.files;
        self.extents += other.extents;
        self.least_extents += other.least_extents;
        self.blocks += other.blocks;
        self.contiguous += other.contiguous;
        self.successors += other.successors;
    }

    /// The share of the blocks 2…n of the files that directly follow their predecessor; `None` if no file has
    /// two.
    pub fn layout_score(&self) -> Option<f64> {
        (self.successors > 0).then(|| self.contiguous as f64 / self.successors as f64)
    }

    /// Extents over the least number the file system could have used; `None` without extents.
    pub fn degree_of_fragmentation(&self) -> Option<f64> {
        (self.least_extents > 0).then(|| self.extents as f64 / self.least_extents as f64)
    }
}
