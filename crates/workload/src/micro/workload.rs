//! The micro agers as workloads. Each round is a separate trace, replayed on a fresh file system.

use super::{Interfile, Intrafile, LAST_ROUND, MAX_FILES, Shape};
use crate::interface::last_of;
use crate::traced::{apply, options};
use crate::{Driver, Error, Site, Start, Workload};
use digest::Digest;
use replay::Replay;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::Op;

#[typetag::serde(name = "intrafile")]
impl Workload for Intrafile {
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
        self.round(last_of(rounds)).map(drop)
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let intrafile = *self;
        Ok(Box::new(Rounds::new(start.seed, move |round| intrafile.round(round))))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(LAST_ROUND)
    }

    fn inodes(&self) -> Result<Option<u64>, Error> {
        Ok(Some(self.files))
    }
}

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
    pub listing: Option<PathBuf>,
    /// A live tree.
    pub tree: Option<PathBuf>,
    /// A git repository; uses its newest commit.
    pub repository: Option<PathBuf>,
}

impl TreeOf {
    /// The shape, if a source is given.
    fn shape(&self) -> Result<Option<Shape>, Error> {
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

    fn rounds(&self, seed: u64) -> Result<Rounds, Error> {
        let (shape, interfile) = (self.shape()?, Interfile { file_bytes: self.file_bytes, seed });
        Ok(Rounds::new(seed, move |round| interfile.round(&shape, round)))
    }

    fn inodes(&self) -> Result<u64, Error> {
        let shape = self.shape()?;
        Ok((shape.files().len() + shape.dirs().len()) as u64)
    }

    /// A digest of the shape, the only part of a tree that is used.
    fn fingerprint(&self) -> Result<String, Error> {
        let shape = self.shape()?;
        let mut sha = Sha256::new();
        for parents in [shape.dirs(), shape.files()] {
            sha.update((parents.len() as u64).to_le_bytes());
            parents.iter().for_each(|parent| sha.update(parent.0.to_le_bytes()));
        }
        Ok(Digest::from(sha).to_string())
    }

    fn with_repository(&self, repository: &Path) -> Tree {
        let of = TreeOf { repository: Some(repository.to_owned()), ..TreeOf::default() };
        Tree { of, ..self.clone() }
    }
}

#[typetag::serde(name = "interfile")]
impl Workload for Tree {
    fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error> {
        self.rounds(seed)?.check(last_of(rounds))
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        Ok(Box::new(self.rounds(start.seed)?))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(LAST_ROUND)
    }

    fn fingerprint(&self, _last_round: u64) -> Result<Option<String>, Error> {
        self.fingerprint().map(Some)
    }

    fn inodes(&self) -> Result<Option<u64>, Error> {
        self.inodes().map(Some)
    }

    fn with_repository(&self, repository: &Path) -> Option<Arc<dyn Workload>> {
        Some(Arc::new(self.with_repository(repository)))
    }
}

/// The random seed of sample trees.
const SHAPE_SEED: u64 = 2017;

/// A tree created fully out of order, with files of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSizes {
    /// The tree; its file size is ignored.
    pub tree: Tree,
    /// The size of a file in round 1; in round r it is r times that.
    pub unit_bytes: u64,
    /// Maximum number of bytes per round, which limits the number of large files. 0 means no limit.
    pub most_bytes: u64,
}

impl Default for FileSizes {
    /// Rounds are sizes in bytes.
    fn default() -> FileSizes {
        FileSizes { tree: Tree::default(), unit_bytes: 1, most_bytes: 0 }
    }
}

impl FileSizes {
    fn rounds(&self, seed: u64) -> Result<Rounds, Error> {
        let (shape, unit_bytes, most_bytes) = (self.tree.shape()?, self.unit_bytes, self.most_bytes);
        Ok(Rounds::new(seed, move |round| {
            let file_bytes = round * unit_bytes;
            let most = match most_bytes {
                0 => usize::MAX,
                most => (most / file_bytes.max(1)).max(1) as usize,
            };
            Interfile { file_bytes, seed }.round(&shape.first(most), LAST_ROUND)
        }))
    }
}

#[typetag::serde(name = "filesize")]
impl Workload for FileSizes {
    fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error> {
        self.rounds(seed)?.check(last_of(rounds))
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        Ok(Box::new(self.rounds(start.seed)?))
    }

    fn fingerprint(&self, _last_round: u64) -> Result<Option<String>, Error> {
        self.tree.fingerprint().map(Some)
    }

    fn inodes(&self) -> Result<Option<u64>, Error> {
        self.tree.inodes().map(Some)
    }

    fn with_repository(&self, repository: &Path) -> Option<Arc<dyn Workload>> {
        Some(Arc::new(FileSizes { tree: self.tree.with_repository(repository), ..self.clone() }))
    }
}

/// The operations of a round.
type Make = Box<dyn Fn(u64) -> Result<Vec<Op>, Error>>;

/// Rounds as traces, each for a fresh file system.
struct Rounds {
    seed: u64,
    make: Make,
}

impl Rounds {
    fn new(seed: u64, make: impl Fn(u64) -> Result<Vec<Op>, Error> + 'static) -> Rounds {
        Rounds { seed, make: Box::new(make) }
    }

    /// Whether the round is possible.
    fn check(&self, round: u64) -> Result<(), Error> {
        (self.make)(round).map(drop)
    }
}

impl Driver for Rounds {
    fn is_fresh(&self) -> bool {
        true
    }

    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        let ops = (self.make)(round)?;
        let mut replay = Replay::posix(site.target.root(), &options(self.seed))?;
        apply(&mut replay, &mut ops.into_iter(), round, site.observer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_depends_on_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let listing = dir.path().join("list");
        let found = |text: &str| {
            std::fs::write(&listing, text).unwrap();
            let of = TreeOf { listing: Some(listing.clone()), ..TreeOf::default() };
            Tree { of, ..Tree::default() }.fingerprint().unwrap()
        };
        let first = found("a/x\na/y\n");
        assert_eq!(found("a/x\na/y\n"), first);
        assert_ne!(found("a/x\nb/y\n"), first);
        let sample = |files| Tree { files, ..Tree::default() }.fingerprint().unwrap();
        assert_ne!(sample(100), sample(200));
    }
}
