//! The directories of a tree like that of a large C project, U-Boot.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::distributions::{DIR_DEPTHS, FILES_PER_DIR, FILES_PER_DIR_MEAN, LARGEST_DIR, spread};
use crate::random::Random;

/// The directories of a tree of `files` files, ordered by their paths, which end with a slash except that of
/// the top, each with the number of its files.
pub(crate) fn directories(files: usize, random: &mut Random) -> Vec<(String, usize)> {
    let paths = paths((files as f64 / FILES_PER_DIR_MEAN) as usize, random);
    let most = ((files as f64 * LARGEST_DIR) as usize).max(1);
    let mut counts: Vec<usize> =
        spread(paths.len(), random).map(|share| FILES_PER_DIR.at(share).min(most)).collect();
    // The quantiles give a few files too many or too few.
    let mut sum: usize = counts.iter().sum();
    let mut largest: Vec<usize> = (0..counts.len()).collect();
    largest.sort_by_key(|&dir| std::cmp::Reverse(counts[dir]));
    for &dir in largest.iter().cycle() {
        match sum.cmp(&files) {
            Ordering::Equal => break,
            Ordering::Less => (counts[dir], sum) = (counts[dir] + 1, sum + 1),
            Ordering::Greater if counts[dir] > 0 => (counts[dir], sum) = (counts[dir] - 1, sum - 1),
            Ordering::Greater => {}
        }
    }
    paths.into_iter().zip(counts).collect()
}

/// The paths of about `count` directories, in order.
fn paths(count: usize, random: &mut Random) -> Vec<String> {
    // Names of a level have the same length, so that the order by path is the order of the tree.
    let mut levels = vec![vec![String::new()]];
    for share in DIR_DEPTHS {
        let above = levels.last().expect("the top is a level");
        let at_depth = ((count as f64 * share) as usize).max(1);
        let level = (0..at_depth).map(|number| {
            let mut path = above[random.below(above.len())].clone();
            write!(path, "dir{number:05}/").expect("strings can grow");
            path
        });
        let level = level.collect();
        levels.push(level);
    }
    let mut paths = levels.concat();
    paths.sort_unstable();
    paths
}
