//! The file operations of git's checkout, in git's order (`check_updates` in git's unpack-trees.c,
//! `checkout_entry` in entry.c).
//!
//! First, git removes every path that the new commit lacks, in index order (by the bytes of the paths); the
//! rmdir of an emptied directory follows the removal after its last entry. Then git creates every new or
//! different path, in the same order: it unlinks an old file of that name and creates a new one, even if only
//! the mode differs; git never writes into an existing file. A rename is a removal and a creation. A
//! submodule is an empty directory.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use trace::{BlobId, Content, DirId, FileId, FileLabel, ROOT, is_valid_name};

use super::maker::Maker;
use super::path::Path;
use super::repository::{Reader, TreeEntry};
use crate::Error;

/// A working tree that moves from commit to commit.
pub(super) struct WorkTree(Dir);

/// An existing directory.
struct Dir {
    id: DirId,
    /// The git tree that the directory matches, if known.
    tree: Option<ObjectId>,
    /// Entries by name; a directory's name ends in a slash, which gives index order.
    entries: BTreeMap<Vec<u8>, Entry>,
}

/// The entry of a name.
enum Entry {
    Dir(Dir),
    File { id: FileId, blob: ObjectId, kind: EntryKind },
    Submodule(DirId),
}

impl WorkTree {
    /// An empty tree.
    pub fn new() -> Self {
        Self(Dir { id: ROOT, tree: None, entries: BTreeMap::new() })
    }

    /// Brings the working tree to `tree`.
    pub fn checkout(&mut self, tree: ObjectId, reader: &mut Reader, maker: &mut Maker) -> Result<(), Error> {
        let mut checkout = Checkout { reader, maker, empty: Vec::new(), path: Path::top() };
        checkout.remove(&mut self.0, Some(tree))?;
        checkout.end_removals();
        checkout.update(&mut self.0, tree)
    }

    /// The size of git's index for this working tree (version 2, with the cache-tree extension).
    pub fn index_bytes(&self) -> u64 {
        const HEADER: u64 = 12;
        const EXTENSION_HEADER: u64 = 8;
        const HASH: u64 = 20;
        HEADER + self.0.index(0, 0).bytes + EXTENSION_HEADER + HASH
    }
}

/// Index bytes of a directory.
struct InIndex {
    files: u64,
    bytes: u64,
}

impl Dir {
    /// `path_bytes` is the length of the directory's path with the trailing slash, `name_bytes` that of its
    /// name.
    fn index(&self, path_bytes: u64, name_bytes: u64) -> InIndex {
        let (mut all, mut dirs) = (InIndex { files: 0, bytes: 0 }, 0);
        for (key, entry) in &self.entries {
            let path_bytes = path_bytes + key.len() as u64;
            match entry {
                Entry::Dir(dir) => {
                    let below = dir.index(path_bytes, key.len() as u64 - 1);
                    (all.files, all.bytes, dirs) =
                        (all.files + below.files, all.bytes + below.bytes, dirs + 1);
                }
                Entry::File { .. } | Entry::Submodule(_) => {
                    // 62 bytes and the path, padded with 1 to 8 zeros to a multiple of 8.
                    (all.files, all.bytes) = (all.files + 1, all.bytes + (62 + path_bytes + 8) / 8 * 8);
                }
            }
        }
        // Name, zero, number of files and directories, newline, and object name of the tree.
        all.bytes += name_bytes + 1 + format!("{} {dirs}\n", all.files).len() as u64 + 20;
        all
    }
}

/// One checkout.
struct Checkout<'c> {
    reader: &'c mut Reader,
    maker: &'c mut Maker,
    /// Emptied directories and their parents, to be removed after the next removal.
    empty: Vec<(DirId, DirId)>,
    /// The directory being created.
    path: Path,
}

impl Checkout<'_> {
    fn end_removals(&mut self) {
        for (dir, parent) in self.empty.drain(..) {
            self.maker.rmdir(dir, parent);
        }
    }

    /// Removes every entry of `dir` that `tree` lacks under the same name, or all entries without a tree.
    fn remove(&mut self, dir: &mut Dir, tree: Option<ObjectId>) -> Result<(), Error> {
        if tree.is_some() && dir.tree == tree {
            return Ok(());
        }
        let new: BTreeMap<Vec<u8>, ObjectId> = match tree {
            Some(tree) => self.entries(tree)?.into_iter().map(|(key, entry)| (key, entry.id)).collect(),
            None => BTreeMap::new(),
        };
        let mut gone = Vec::new();
        for (key, entry) in &mut dir.entries {
            match entry {
                Entry::Dir(below) => {
                    let had = below.entries.len();
                    self.remove(below, new.get(key).copied())?;
                    if below.entries.is_empty() && had > 0 {
                        self.empty.push((below.id, dir.id));
                        gone.push(key.clone());
                    }
                }
                _ if new.contains_key(key) => {}
                entry => {
                    self.unlink(entry, dir.id);
                    self.end_removals();
                    gone.push(key.clone());
                }
            }
        }
        for key in gone {
            dir.entries.remove(&key);
        }
        Ok(())
    }

    /// Creates every entry of `tree` that `dir` lacks or has with different contents.
    fn update(&mut self, dir: &mut Dir, tree: ObjectId) -> Result<(), Error> {
        if dir.tree == Some(tree) {
            return Ok(());
        }
        for (key, new) in self.entries(tree)? {
            match (new.kind, dir.entries.get_mut(&key)) {
                (EntryKind::Tree, Some(Entry::Dir(below))) => {
                    self.path.enter(&new.name, self.reader)?;
                    self.update(below, new.id)?;
                    self.path.leave();
                }
                (EntryKind::Tree, _) => {
                    if let Some(below) = self.make_dir(&new, dir.id)? {
                        dir.entries.insert(key, Entry::Dir(below));
                    }
                }
                (EntryKind::Commit, Some(Entry::Submodule(_))) => {}
                (kind, Some(Entry::File { blob, kind: is, .. })) if kind == *is && new.id == *blob => {}
                (_, old) => {
                    if let Some(old) = old {
                        self.unlink(old, dir.id);
                    }
                    let made = self.make(&new, dir.id)?;
                    dir.entries.insert(key, made);
                }
            }
        }
        dir.tree = Some(tree);
        Ok(())
    }

    /// Creates a directory with its contents; returns `None` if it would be empty.
    fn make_dir(&mut self, new: &TreeEntry, parent: DirId) -> Result<Option<Dir>, Error> {
        self.path.enter(&new.name, self.reader)?;
        let id = self.maker.mkdir(parent, &new.name);
        let mut dir = Dir { id, tree: None, entries: BTreeMap::new() };
        self.update(&mut dir, new.id)?;
        self.path.leave();
        if dir.entries.is_empty() {
            // No entry was created in it, so its mkdir is the last operation.
            self.maker.take_back_mkdir(id);
            return Ok(None);
        }
        Ok(Some(dir))
    }

    /// Creates a file, a link or the directory of a submodule.
    fn make(&mut self, new: &TreeEntry, parent: DirId) -> Result<Entry, Error> {
        self.path.check(new, self.reader)?;
        let content = match new.kind {
            EntryKind::Commit => return Ok(Entry::Submodule(self.maker.mkdir(parent, &new.name))),
            EntryKind::Link => Content::Symlink,
            // The replay gives the file the layout of written data, and writes it if the contents are known.
            _ => Content::Auto,
        };
        let size = self.reader.size(new.id)?;
        let blob = BlobId(new.id.as_slice().try_into().expect("the repository has names of 20 bytes"));
        let executable = new.kind == EntryKind::BlobExecutable;
        let label = FileLabel { name: new.name.clone(), executable, blob: Some(blob) };
        let id = self.maker.create(parent, label, size, content);
        Ok(Entry::File { id, blob: new.id, kind: new.kind })
    }

    fn unlink(&mut self, entry: &Entry, parent: DirId) {
        match *entry {
            Entry::File { id: file, .. } => self.maker.delete(file, parent),
            Entry::Submodule(dir) | Entry::Dir(Dir { id: dir, .. }) => self.maker.rmdir(dir, parent),
        }
    }

    /// The entries of a tree by the keys of [`Dir::entries`], in their order. Names that no file may have,
    /// and names that git refuses to check out because it reserves them, are an error.
    fn entries(&mut self, tree: ObjectId) -> Result<Vec<(Vec<u8>, TreeEntry)>, Error> {
        let entries = self.reader.tree(tree)?;
        let mut keyed = Vec::with_capacity(entries.len());
        for entry in entries {
            if !is_valid_name(&entry.name) || entry.name.eq_ignore_ascii_case(b".git") {
                let name = entry.name.escape_ascii();
                return Err(self
                    .reader
                    .error(format!("tree {tree} contains {name}, which git does not check out")));
            }
            let mut key = entry.name.clone();
            if entry.kind == EntryKind::Tree {
                key.push(b'/');
            }
            keyed.push((key, entry));
        }
        keyed.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(keyed)
    }
}
