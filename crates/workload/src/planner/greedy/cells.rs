//! Live files by age bin, size bin and depth, with constant-time access to any combination.

use crate::planner::LiveFile;
use crate::random::Random;

/// The live files in their cells, and the counts by age, size and depth.
pub(super) struct Cells {
    sizes: usize,
    depths: usize,
    cell: Vec<Vec<LiveFile>>,
    by_age: Vec<u64>,
    by_size: Vec<u64>,
    by_depth: Vec<u64>,
}

/// The targets of the three histograms: shares of the number of files that there are to be.
pub(super) struct Shares<'a> {
    pub files: u64,
    pub age: &'a [f64],
    pub size: &'a [f64],
    pub depth: &'a [f64],
}

impl Cells {
    pub fn new(ages: usize, sizes: usize, depths: usize) -> Cells {
        Cells {
            sizes,
            depths,
            cell: vec![Vec::new(); ages * sizes * depths],
            by_age: vec![0; ages],
            by_size: vec![0; sizes],
            by_depth: vec![0; depths],
        }
    }

    pub fn files(&self) -> u64 {
        self.by_age.iter().sum()
    }

    /// Files of a size bin.
    pub fn of_size(&self, bin: usize) -> u64 {
        self.by_size[bin]
    }

    pub fn iter(&self) -> impl Iterator<Item = &LiveFile> {
        self.cell.iter().flatten()
    }

    pub fn insert(&mut self, age: usize, size: usize, depth: usize, file: LiveFile) {
        let cell = self.index(age, size, depth);
        self.cell[cell].push(file);
        self.by_age[age] += 1;
        self.by_size[size] += 1;
        self.by_depth[depth] += 1;
    }

    /// Moves every file to the age bin that `age_of` returns.
    pub fn set_ages(&mut self, age_of: impl Fn(&LiveFile) -> usize) {
        let empty = Cells::new(self.by_age.len(), self.sizes, self.depths);
        let old = std::mem::replace(self, empty);
        for (i, files) in old.cell.into_iter().enumerate() {
            let (size, depth) = (i / old.depths % old.sizes, i % old.depths);
            for file in files {
                self.insert(age_of(&file), size, depth, file);
            }
        }
    }

    /// The size bin with the largest deficit if there are to be `files`, among those that `fits` allows.
    pub fn size_lacking_most(
        &self,
        share: &[f64],
        files: u64,
        fits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        most_over(&self.by_size, share, files, -1.0, |i| share[i] > 0.0 && fits(i))
    }

    /// The depth with the largest deficit if there are to be `files`.
    pub fn depth_lacking_most(&self, share: &[f64], files: u64) -> usize {
        most_over(&self.by_depth, share, files, -1.0, |i| share[i] > 0.0)
            .expect("a checked histogram has weight")
    }

    /// Removes a random file of the cell with the largest excess: by age, in it by size, of those that fit, in that by depth.
    pub fn remove_most_over(
        &mut self,
        shares: &Shares,
        fits: impl Fn(usize) -> bool,
        rng: &mut Random,
    ) -> Option<LiveFile> {
        let age = self.age_most_over(shares, &fits)?;
        let first = self.index(age, 0, 0);
        let of_age = &self.cell[first..first + self.sizes * self.depths];
        let holds = |size: usize| fits(size) && self.has(age, size);
        let size = most_over(&self.by_size, shares.size, shares.files, 1.0, holds)?;
        let of_size = &of_age[size * self.depths..][..self.depths];
        let depth = most_over(&self.by_depth, shares.depth, shares.files, 1.0, |i| !of_size[i].is_empty())?;
        let cell = self.index(age, size, depth);
        let chosen = rng.below(self.cell[cell].len());
        self.by_age[age] -= 1;
        self.by_size[size] -= 1;
        self.by_depth[depth] -= 1;
        Some(self.cell[cell].swap_remove(chosen))
    }

    /// The age bin with the largest excess among those with files that fit.
    pub fn age_most_over(&self, shares: &Shares, fits: impl Fn(usize) -> bool) -> Option<usize> {
        most_over(&self.by_age, shares.age, shares.files, 1.0, |age| {
            (0..self.sizes).any(|size| fits(size) && self.has(age, size))
        })
    }

    fn has(&self, age: usize, size: usize) -> bool {
        let first = self.index(age, size, 0);
        self.cell[first..first + self.depths].iter().any(|cell| !cell.is_empty())
    }

    fn index(&self, age: usize, size: usize, depth: usize) -> usize {
        (age * self.sizes + size) * self.depths + depth
    }
}

/// The allowed bin that is furthest above its share of `files`, or below it if `sign` is -1.
fn most_over(
    count: &[u64],
    share: &[f64],
    files: u64,
    sign: f64,
    allowed: impl Fn(usize) -> bool,
) -> Option<usize> {
    let over = |i: usize| sign * (count[i] as f64 - share[i] * files as f64);
    (0..count.len()).filter(|&i| allowed(i)).max_by(|&a, &b| over(a).total_cmp(&over(b)))
}
