//! Interfile fragmentation (Conway et al. 2017, §5): a tree that is created out of order; also with one
//! size for every file (§6, Figure 6).

use super::{LAST_ROUND, Shape, check_round};
use crate::Error;
use crate::random::Random;
use serde::{Deserialize, Serialize};
use trace::{Content, DirId, FileId, Op, ROOT};

/// A tree of equal-sized files, created in sorted order except for a share of the files. Round r draws two
/// random orders of the files and swaps the first r percent of the one with those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interfile {
    /// The size of every file.
    pub file_bytes: u64,
    /// The seed of the order.
    pub seed: u64,
}

impl Default for Interfile {
    /// The published parameters: files of 4 KiB.
    fn default() -> Interfile {
        Interfile { file_bytes: 4 << 10, seed: 42 }
    }
}

impl Interfile {
    /// The operations of a round. A directory is created just before its first file.
    pub fn round(&self, shape: &Shape, round: u64) -> Result<Vec<Op>, Error> {
        check_round(round)?;
        if self.file_bytes == 0 {
            return Err(Error::Conditions("files of 0 bytes have no layout; give them a size".to_owned()));
        }
        let mut made = vec![false; shape.dirs().len()];
        let mut ops = Vec::with_capacity(shape.files().len() + made.len() + 1);
        for file in self.order(shape.files().len(), round) {
            let parent = shape.files()[file];
            make_dirs(shape, parent, &mut made, &mut ops);
            let (file, size) = (FileId(file as u64), self.file_bytes);
            ops.push(Op::Create { file, parent, size, content: Content::Auto });
        }
        ops.push(Op::Checkpoint { number: round });
        Ok(ops)
    }

    /// The numbers of the files in creation order.
    fn order(&self, files: usize, round: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..files).collect();
        let shuffled = |stream| {
            let mut places: Vec<usize> = (0..files).collect();
            Random::new(self.seed, stream).shuffle(&mut places);
            places
        };
        let swaps = files * round as usize / LAST_ROUND as usize;
        for (one, other) in shuffled(0).into_iter().zip(shuffled(1)).take(swaps) {
            order.swap(one, other);
        }
        order
    }
}

/// Creates a directory unless it exists, its missing parents first.
fn make_dirs(shape: &Shape, dir: DirId, made: &mut [bool], ops: &mut Vec<Op>) {
    let mut missing = Vec::new();
    let mut dir = dir;
    while dir != ROOT && !made[dir.0 as usize - 1] {
        made[dir.0 as usize - 1] = true;
        missing.push(dir);
        dir = shape.dirs()[dir.0 as usize - 1];
    }
    let parent = |dir: DirId| shape.dirs()[dir.0 as usize - 1];
    ops.extend(missing.into_iter().rev().map(|dir| Op::Mkdir { dir, parent: parent(dir) }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trace::{Source as _, ValidatingSource};

    #[test]
    fn first_round_is_sorted_and_last_is_shuffled() {
        let interfile = Interfile::default();
        let out_of_order = |round| {
            let order = interfile.order(10_000, round);
            order.windows(2).filter(|pair| pair[1] != pair[0] + 1).count()
        };
        assert_eq!(out_of_order(0), 0);
        // Each swap moves two files and breaks two pairs around each; few of them overlap.
        assert!((3_000..4_000).contains(&out_of_order(10)), "{}", out_of_order(10));
        assert!(out_of_order(100) > 9_500);
    }

    #[test]
    fn order_depends_only_on_seed() {
        let order = |seed| Interfile { seed, ..Interfile::default() }.order(1000, 50);
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    proptest! {
        #[test]
        fn every_round_creates_every_file_once(files in 1u64..300, round in 0u64..=100, seed: u64) {
            let shape = Shape::sample(files, seed);
            let ops = Interfile { file_bytes: 1, seed }.round(&shape, round).unwrap();
            let mut checked = ValidatingSource::new(ops.clone().into_iter());
            let mut batch = vec![Op::Checkpoint { number: 0 }];
            while !batch.is_empty() {
                checked.next_batch(&mut batch).unwrap();
            }
            let mut made: Vec<u64> = ops.iter()
                .filter_map(|op| if let Op::Create { file, .. } = op { Some(file.0) } else { None })
                .collect();
            made.sort_unstable();
            prop_assert!(made.into_iter().eq(0..files));
        }
    }
}
