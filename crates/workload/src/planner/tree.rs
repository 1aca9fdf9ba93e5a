//! The directory tree of the profile's depth histogram.

use crate::random::Random;
use profile::DepthHistogram;
use trace::{DirId, Op, ROOT};

/// Directories by depth; only the root has depth 0.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    at: Vec<Vec<DirId>>,
    next: u32,
}

impl Tree {
    /// The tree before the first operation.
    pub fn new() -> Tree {
        Tree { at: vec![vec![ROOT]], next: 1 }
    }

    /// Adds the missing directories of a profile; returns the operations that create them, parents first.
    ///
    /// `subdirectories[d]` is the number of directories whose parent lies at depth d in the whole observed
    /// file system; if the profile gives the number of files of that file system, it is scaled to `files`. A
    /// level above files has at least one directory. Each directory's parent is random among those one level
    /// up.
    pub fn grow(
        &mut self,
        depth: &DepthHistogram,
        observed: Option<u64>,
        files: u64,
        rng: &mut Random,
    ) -> Vec<Op> {
        let scale = observed.map_or(1.0, |observed| files as f64 / observed.max(1) as f64);
        let mut wanted = vec![0u64];
        let deepest = depth.depth.iter().zip(&depth.weight).filter(|(_, w)| **w > 0.0).map(|(d, _)| *d).max();
        for (&d, &subdirectories) in depth.depth.iter().zip(&depth.subdirectories) {
            let below = d as usize + 1;
            if wanted.len() <= below {
                wanted.resize(below + 1, 0);
            }
            wanted[below] = (subdirectories as f64 * scale).round() as u64;
        }
        // No level above a level with files is empty; below the deepest files a directory needs a parent.
        let needed = deepest.unwrap_or(0) as usize;
        if wanted.len() <= needed {
            wanted.resize(needed + 1, 0);
        }
        wanted[1..=needed].iter_mut().for_each(|n| *n = (*n).max(1));

        let mut made = Vec::new();
        for (d, &count) in wanted.iter().enumerate().skip(1) {
            if self.at.len() == d {
                if count == 0 {
                    break;
                }
                self.at.push(Vec::new());
            }
            while (self.at[d].len() as u64) < count {
                let parent = self.at[d - 1][rng.below(self.at[d - 1].len())];
                let dir = DirId(self.next);
                self.next += 1;
                self.at[d].push(dir);
                made.push(Op::Mkdir { dir, parent });
            }
        }
        made
    }

    /// Removes directories that were not created after all, the last ones that [`Tree::grow`] added.
    pub fn forget(&mut self, unmade: &[Op]) {
        for op in unmade {
            if let Op::Mkdir { dir, .. } = op {
                self.next = self.next.min(dir.0);
            }
        }
        for dirs in &mut self.at {
            dirs.retain(|d| d.0 < self.next);
        }
    }

    /// The number of directories below the root.
    pub fn directories(&self) -> u64 {
        u64::from(self.next - 1)
    }

    /// A random directory at `depth`; there must be one.
    pub fn pick(&self, depth: usize, rng: &mut Random) -> DirId {
        let at = &self.at[depth];
        at[rng.below(at.len())]
    }

    /// The depth of each directory, by number.
    pub fn depths(&self) -> Vec<u16> {
        let mut depths = vec![0; self.next as usize];
        for (d, dirs) in self.at.iter().enumerate() {
            for dir in dirs {
                depths[dir.0 as usize] = d as u16;
            }
        }
        depths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_by_histogram() {
        let depth = DepthHistogram {
            depth: vec![0, 1, 3],
            weight: vec![1.0, 0.0, 2.0],
            subdirectories: vec![3, 5, 0],
        };
        let mut tree = Tree::new();
        let made = tree.grow(&depth, None, 100, &mut Random::new(1, 0));
        assert_eq!(made.len(), 3 + 5 + 1);
        assert_eq!(tree.directories(), 9);
        let depths = tree.depths();
        for op in made {
            let Op::Mkdir { dir, parent } = op else { panic!() };
            assert!(parent.0 < dir.0);
            assert_eq!(depths[dir.0 as usize], depths[parent.0 as usize] + 1);
        }
        assert!(tree.grow(&depth, None, 100, &mut Random::new(1, 0)).is_empty());
        assert_eq!(tree.grow(&depth, Some(50), 100, &mut Random::new(1, 0)).len(), 3 + 5);
    }
}
