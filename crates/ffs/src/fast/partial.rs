//! The partly used blocks of a group, and their free fragments.
//!
//! They are few, so a sorted list of three bytes each is smaller than a bit per fragment.

use crate::geometry::FRAGMENTS;

/// For each mask of free fragments, the lengths of its runs as bits: bit n is set for a run of n.
const RUN_LENGTHS: [u16; 256] = {
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut run, mut bit) = (0, 0);
        while bit <= 8 {
            if bit < 8 && mask >> bit & 1 == 1 {
                run += 1;
            } else {
                table[mask] |= (run > 0) as u16 * (1 << run);
                run = 0;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};

/// For each mask of free fragments, the number of runs of each length: 16 bits for each length from 1 to 7, the shortest lowest. The bits
/// below hold the number of ones. The entry of a completely free block is 0.
pub(super) const RUN_COUNTS: [u128; 256] = {
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 255 {
        let mut left = mask as u32;
        while left != 0 {
            let len = (left >> left.trailing_zeros()).trailing_ones();
            left &= left + (1 << left.trailing_zeros());
            table[mask] += (1 << (16 * len)) + len as u128;
        }
        mask += 1;
    }
    table
};

/// Each run of ones in a mask: first bit and length.
pub(super) fn runs(mask: u8) -> impl Iterator<Item = (u32, u32)> {
    let mut left = u32::from(mask);
    std::iter::from_fn(move || {
        let first = (left != 0).then(|| left.trailing_zeros())?;
        let len = (left >> first).trailing_ones();
        left &= !(((1 << len) - 1) << first);
        Some((first, len))
    })
}

/// The blocks of one group with at least one free and one used fragment, sorted.
#[derive(Clone, Default)]
pub(super) struct Partial(Vec<[u8; 3]>);

impl Partial {
    fn block(entry: &[u8; 3]) -> u32 {
        u32::from(u16::from_le_bytes([entry[0], entry[1]]))
    }

    fn find(&self, block: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&block, Self::block)
    }

    /// The free fragments of a block; 0 if it is not in the list.
    pub fn mask(&self, block: u32) -> u8 {
        self.find(block).map_or(0, |at| self.0[at][2])
    }

    /// Changes the free fragments of a block; with none or all free, the block leaves the list. Returns the masks before and
    /// after.
    pub fn change(&mut self, block: u32, change: impl FnOnce(u8) -> u8) -> (u8, u8) {
        self.change_found(self.find(block), block, change)
    }

    /// The same for the block at an index of the list.
    pub fn change_at(&mut self, at: usize, change: impl FnOnce(u8) -> u8) -> (u8, u8) {
        self.change_found(Ok(at), 0, change)
    }

    #[inline]
    fn change_found(
        &mut self,
        found: Result<usize, usize>,
        block: u32,
        change: impl FnOnce(u8) -> u8,
    ) -> (u8, u8) {
        let old = found.map_or(0, |at| self.0[at][2]);
        let new = change(old);
        match (found, new) {
            (Ok(at), 0 | 0xff) => drop(self.0.remove(at)),
            (Ok(at), _) => self.0[at][2] = new,
            (Err(_), 0 | 0xff) => {}
            (Err(at), _) => {
                if self.0.len() == self.0.capacity() {
                    self.0.reserve_exact(16);
                }
                let [low, high] = (block as u16).to_le_bytes();
                self.0.insert(at, [low, high, new]);
            }
        }
        (old, new)
    }

    /// The first block from `from` on, cyclically, with a run of exactly `len` free fragments: its index in the list, its number, and the start of
    /// the run in it.
    pub fn find_run(&self, from: u32, len: u32) -> Option<(usize, u32, u32)> {
        let begin = self.find(from).unwrap_or_else(|at| at);
        let (before, behind) = self.0.split_at(begin);
        let has = |entry: &[u8; 3]| RUN_LENGTHS[usize::from(entry[2])] >> len & 1 == 1;
        let found = behind.iter().position(has).map(|at| begin + at);
        let at = found.or_else(|| before.iter().position(has))?;
        let entry = &self.0[at];
        let (first, _) = runs(entry[2]).find(|&(_, run)| run == len).expect("the table contains such a run");
        Some((at, Self::block(entry), first))
    }

    /// Every block and its mask.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        self.0.iter().map(|entry| (Self::block(entry), entry[2]))
    }

    pub fn heap_bytes(&self) -> usize {
        self.0.capacity() * 3
    }
}

/// The mask of `len` fragments from `first` on.
pub(super) fn mask_of(first: u32, len: u32) -> u8 {
    debug_assert!(first + len <= FRAGMENTS);
    ((((1u32 << len) - 1) << first) & 0xff) as u8
}
