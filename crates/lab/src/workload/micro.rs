//! The micro agers as workloads. Each round is a separate trace, replayed on a fresh file system.

use super::traced::{apply, options};
use super::{Driver, Named};
use crate::Error;
use replay::Replay;
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::Path;
use trace::Op;
use workload::micro::{Interfile, LAST_ROUND, MAX_FILES, Shape};

/// A tree created out of order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tree {
    /// The size of every file.
    pub file_bytes: u64,
    /// The shape of the tree.
    pub of: TreeOf,
    /// Maximum number of files: the first ones in sorted order.
    pub files: u64,
}

/// The source of the shape of a tree: the first one given, otherwise a random tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TreeOf {
    /// A file that lists paths.
    pub listing: Named,
    /// A live tree.
    pub tree: Named,
    /// A git repository; uses its newest commit.
    pub repository: Named,
}

impl TreeOf {
    /// The shape, if a source is given.
    pub(crate) fn shape(&self) -> Result<Option<Shape>, Error> {
        let shape = match self {
            TreeOf { listing: Some(listing), .. } => Shape::from_listing(listing)?,
            TreeOf { tree: Some(tree), .. } => Shape::of_tree(tree)?,
            TreeOf { repository: Some(repository), .. } => Shape::of_repository(repository)?,
            TreeOf { listing: None, tree: None, repository: None } => return Ok(None),
        };
        Ok(Some(shape))
    }
}

impl Default for Tree {
    /// As published, except for the tree, a random one with about as many files.
    fn default() -> Tree {
        Tree { file_bytes: Interfile::default().file_bytes, of: TreeOf::default(), files: 6_000 }
    }
}

impl Tree {
    /// The tree is the same for every seed: the seed determines the order.
    fn shape(&self) -> Result<Shape, Error> {
        let shape = match self.of.shape()? {
            Some(named) => named,
            None if self.files > MAX_FILES => {
                return Err(Error::Refused(format!("{} files exceed the limit of {MAX_FILES}", self.files)));
            }
            None => Shape::sample(self.files, SHAPE_SEED),
        };
        Ok(shape.first(usize::try_from(self.files).unwrap_or(usize::MAX)))
    }

    pub(super) fn rounds(&self, seed: u64) -> Result<Rounds, Error> {
        let (shape, interfile) = (self.shape()?, Interfile { file_bytes: self.file_bytes, seed });
        Ok(Rounds::new(seed, move |round| interfile.round(&shape, round)))
    }

    pub(super) fn inodes(&self) -> Result<u64, Error> {
        let shape = self.shape()?;
        Ok((shape.files().len() + shape.dirs().len()) as u64)
    }
}

/// The random seed of sample trees.
const SHAPE_SEED: u64 = 2017;

/// A tree created fully out of order, with files of one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSizes {
    /// The tree; its file size is ignored.
    pub tree: Tree,
    /// Maximum number of bytes per round, which limits the number of large files. 0 means no limit.
    pub most_bytes: u64,
}

impl FileSizes {
    pub(super) fn rounds(&self, seed: u64) -> Result<Rounds, Error> {
        let (shape, most_bytes) = (self.tree.shape()?, self.most_bytes);
        Ok(Rounds::new(seed, move |file_bytes| {
            let most = match most_bytes {
                0 => usize::MAX,
                most => (most / file_bytes.max(1)).max(1) as usize,
            };
            Interfile { file_bytes, seed }.round(&shape.first(most), LAST_ROUND)
        }))
    }
}

/// The operations of a round.
type Make = Box<dyn Fn(u64) -> Result<Vec<Op>, workload::Error>>;

/// Rounds as traces, each for a fresh file system.
pub(crate) struct Rounds {
    seed: u64,
    make: Make,
}

impl Rounds {
    pub(super) fn new(seed: u64, make: impl Fn(u64) -> Result<Vec<Op>, workload::Error> + 'static) -> Rounds {
        Rounds { seed, make: Box::new(make) }
    }

    /// Whether the round is possible.
    pub(super) fn check(&self, round: u64) -> Result<(), Error> {
        Ok((self.make)(round).map(drop)?)
    }
}

impl Driver for Rounds {
    fn is_fresh(&self) -> bool {
        true
    }

    fn advance(&mut self, root: &Path, round: u64, watch: &mut dyn Watch) -> Result<(), Error> {
        let ops = (self.make)(round)?;
        let mut replay = Replay::posix(root, &options(self.seed))?;
        apply(&mut replay, &mut ops.into_iter(), round, watch)
    }
}
