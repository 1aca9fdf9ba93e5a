//! The shape of a tree: the directory of each file, in sorted order.

use crate::Error;
use crate::git::{Repository, directories};
use crate::random::Random;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use trace::{DirId, ROOT};

/// The largest number of files of a sample tree.
pub const MAX_FILES: u64 = 2_000_000;

/// The largest number of files and directories of any tree: the tree and its operations are held in memory.
const MAX_ENTRIES: u64 = 4_000_000;

/// The largest listing in bytes.
const MAX_LISTED_BYTES: u64 = 1 << 30;

/// The longest path that Linux accepts, in bytes.
const PATH_MAX: usize = 4096;

/// Directories and files of a tree, numbered in the order of their sorted paths, component by component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The parent of each directory, the first having number 1.
    dirs: Vec<DirId>,
    /// The parent of each file, the first having number 0.
    files: Vec<DirId>,
}

/// A directory under construction: its entries by name, `None` for files.
#[derive(Default)]
struct Node(BTreeMap<Vec<u8>, Option<Node>>);

impl Shape {
    /// The shape of a list of file paths.
    fn from_paths(paths: impl Iterator<Item = PathBuf>, origin: &str) -> Result<Shape, Error> {
        let refuse = |path: &Path, why: &str| {
            Err(Error::Conditions(format!("{origin} names {}, {why}", path.display())))
        };
        let mut root = Node::default();
        let mut entries = 0;
        for path in paths {
            if path.as_os_str().len() > PATH_MAX {
                return refuse(&path, "which exceeds the maximum path length");
            }
            let mut names = Vec::new();
            for component in path.components() {
                match component {
                    Component::Normal(name) => names.push(name.as_encoded_bytes().to_vec()),
                    Component::CurDir | Component::RootDir => {}
                    Component::ParentDir | Component::Prefix(_) => {
                        return refuse(
                            &path,
                            "which is outside of the tree; list files by their paths below its root",
                        );
                    }
                }
            }
            let Some(file) = names.pop() else { continue };
            let mut node = &mut root;
            for name in names {
                match node.0.entry(name).or_insert_with(|| {
                    entries += 1;
                    Some(Node::default())
                }) {
                    Some(below) => node = below,
                    None => return refuse(&path, "but a part of that path is a file"),
                }
            }
            if node.0.insert(file, None).is_some_and(|there| there.is_some()) {
                return refuse(&path, "which is a directory; list files only");
            }
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(too_many(origin));
            }
        }
        let mut shape = Shape { dirs: Vec::new(), files: Vec::new() };
        shape.number(root);
        match shape.files.is_empty() {
            true => Err(Error::Conditions(format!("{origin} names no files"))),
            false => Ok(shape),
        }
    }

    fn number(&mut self, root: Node) {
        let mut above = vec![(ROOT, root.0.into_iter())];
        while let Some((parent, entries)) = above.last_mut() {
            let parent = *parent;
            match entries.next() {
                None => drop(above.pop()),
                Some((_, None)) => self.files.push(parent),
                Some((_, Some(node))) => {
                    self.dirs.push(parent);
                    above.push((DirId(self.dirs.len() as u32), node.0.into_iter()));
                }
            }
        }
    }

    /// The shape of a listing: one path per line, or separated by zero bytes if there are any, as
    /// `find -type f` prints them.
    pub fn from_listing(listing: &Path) -> Result<Shape, Error> {
        let mut text = Vec::new();
        input::open_stream(listing)
            .and_then(|file| file.take(MAX_LISTED_BYTES + 1).read_to_end(&mut text))
            .map_err(|error| {
            Error::Conditions(format!("cannot read the listing {}: {error}", listing.display()))
        })?;
        if text.len() as u64 > MAX_LISTED_BYTES {
            return Err(too_many(&listing.display().to_string()));
        }
        Shape::parse(&text, &listing.display().to_string())
    }

    fn parse(text: &[u8], origin: &str) -> Result<Shape, Error> {
        use std::os::unix::ffi::OsStrExt as _;
        let end = if text.contains(&0) { 0 } else { b'\n' };
        let paths = text.split(|&byte| byte == end).filter(|path| !path.is_empty());
        Shape::from_paths(paths.map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path))), origin)
    }

    /// The shape of a live tree: regular files only; symbolic links are not followed.
    pub fn of_tree(root: &Path) -> Result<Shape, Error> {
        let refuse = |path: &Path, error: io::Error| {
            Error::Conditions(format!("cannot read {}: {error}", path.display()))
        };
        let mut files = Vec::new();
        let mut left = vec![root.to_owned()];
        let mut entries = 0;
        while let Some(dir) = left.pop() {
            for entry in std::fs::read_dir(&dir).map_err(|error| refuse(&dir, error))? {
                let entry = entry.map_err(|error| refuse(&dir, error))?;
                entries += 1;
                if entries > MAX_ENTRIES {
                    return Err(too_many(&root.display().to_string()));
                }
                let kind = entry.file_type().map_err(|error| refuse(&entry.path(), error))?;
                if kind.is_dir() {
                    left.push(entry.path());
                } else if kind.is_file() {
                    files.push(
                        entry.path().strip_prefix(root).expect("the path lies below the root").to_owned(),
                    );
                }
            }
        }
        Shape::from_paths(files.into_iter(), &root.display().to_string())
    }

    /// The shape of the newest commit of a git repository. Does not run git.
    pub fn of_repository(repository: &Path) -> Result<Shape, Error> {
        let files = Repository::open(repository)?.files(MAX_ENTRIES)?;
        Shape::from_paths(files.into_iter(), &repository.display().to_string())
    }

    /// A tree of `files` files, from 1 to [`MAX_FILES`], with the directories of a large source tree, U-Boot:
    /// their depths, and the numbers of their files, most of which are in a few large directories.
    pub fn sample(files: u64, seed: u64) -> Shape {
        let directories = directories(files.clamp(1, MAX_FILES) as usize, &mut Random::new(seed, 0));
        let files = directories
            .into_iter()
            .flat_map(|(dir, files)| (0..files).map(move |file| PathBuf::from(format!("{dir}file{file}"))));
        Shape::from_paths(files, "the sample").expect("no file is named like a directory")
    }

    /// The parent of each directory; directory n is at n − 1.
    pub fn dirs(&self) -> &[DirId] {
        &self.dirs
    }

    /// The parent of each file; file n is at n.
    pub fn files(&self) -> &[DirId] {
        &self.files
    }

    /// The first `files` files and their directories.
    #[must_use]
    pub fn first(&self, files: usize) -> Shape {
        let files = self.files[..files.min(self.files.len())].to_vec();
        let most = files.iter().map(|dir| dir.0 as usize).max().unwrap_or(0);
        // Directories are numbered in order of first use, so those after the last one are unused.
        Shape { dirs: self.dirs[..most].to_vec(), files }
    }
}

fn too_many(origin: &str) -> Error {
    Error::Conditions(format!("{origin} has more than {MAX_ENTRIES} files and directories; use fewer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Shape, Error> {
        Shape::parse(text.as_bytes(), "the listing")
    }

    #[test]
    fn paths_are_sorted_by_their_components() {
        // As a string `a-b` sorts before `a/b`, as a path after it.
        let shape = parse("./a/b/2\na-b/4\n./a/b/1\na/3\n5\n").unwrap();
        assert_eq!(shape.dirs(), [ROOT, DirId(1), ROOT]);
        assert_eq!(shape.files(), [0, 1, 2, 2, 3].map(DirId));
    }

    #[test]
    fn zero_separated_names_may_contain_newlines() {
        assert_eq!(parse("a\nb\0c\0").unwrap().files(), [ROOT, ROOT]);
    }

    #[test]
    fn invalid_listings_are_rejected() {
        for text in ["", "\n\n", "a\na/b\n", "a/b\na\n", "../a\n", "a/../../b\n"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn live_tree_and_listing_have_equal_shape() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["a/b/1", "a/2", "c/3", "4"] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
        assert_eq!(Shape::of_tree(dir.path()).unwrap(), parse("a/b/1\na/2\nc/3\n4").unwrap());
        assert!(Shape::of_tree(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn missing_repository_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let error = Shape::of_repository(dir.path()).unwrap_err().to_string();
        assert!(error.contains("not a git repository"), "{error}");
    }

    #[test]
    fn first_keeps_needed_directories() {
        let shape = Shape::sample(500, 1);
        let first = shape.first(100);
        assert_eq!(first.files().len(), 100);
        assert!(first.files().iter().all(|dir| dir.0 as usize <= first.dirs().len()));
        assert_eq!(shape.first(1000), shape);
    }

    #[test]
    fn sample_has_the_directories_of_a_source_tree() {
        let shape = Shape::sample(6_000, 1);
        assert_eq!(shape.files().len(), 6_000);
        let mut by_dir = vec![0; shape.dirs().len() + 1];
        shape.files().iter().for_each(|dir| by_dir[dir.0 as usize] += 1);
        by_dir.sort_unstable_by(|a, b| b.cmp(a));
        let with_files = by_dir.iter().filter(|files| **files > 0).count();
        assert!((350..500).contains(&with_files), "{with_files}");
        assert!(by_dir[0] < 400 && by_dir[..with_files / 10].iter().sum::<usize>() > 3_000, "{by_dir:?}");
    }

    proptest! {
        #[test]
        fn parser_accepts_any_listing(text in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(shape) = Shape::parse(&text, "the listing") {
                let dirs = shape.dirs().len() as u32;
                // A directory comes after its parent.
                prop_assert!(shape.dirs().iter().enumerate().all(|(at, above)| above.0 as usize <= at));
                prop_assert!(shape.files().iter().all(|dir| dir.0 <= dirs));
            }
        }
    }
}
