//! What git's checkout does to a working tree, operation by operation, in its order (`check_updates` in git's
//! unpack-trees.c, `checkout_entry` in entry.c).
//!
//! First all that the new commit lacks is removed, in the order of the index, which is that of the paths' bytes; a
//! directory that has become empty goes behind the removal that follows its last one. Then what is new or different is
//! made, in the same order: an older file of that name is unlinked and the new one created, also if only its mode is
//! different; git never writes into a file that is there. A rename is a removal and a creation. A submodule is an
//! empty directory.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use trace::{BlobId, Content, DirId, FileId, FileLabel, ROOT, is_name};

use super::maker::Maker;
use super::path::Path;
use super::repository::{Reader, TreeEntry};
use crate::Error;

/// A working tree, brought from commit to commit.
pub(super) struct WorkTree(Dir);

/// A directory that exists.
struct Dir {
    id: DirId,
    /// The tree that it has, if it is known to have one.
    tree: Option<ObjectId>,
    /// By name, with a slash behind those of directories, which gives the order of the index.
    entries: BTreeMap<Vec<u8>, Entry>,
}

/// What exists under a name.
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

    /// The size of the index that git has for this working tree (version 2, with the extension that keeps trees).
    pub fn index_bytes(&self) -> u64 {
        const HEADER: u64 = 12;
        const EXTENSION_HEADER: u64 = 8;
        const HASH: u64 = 20;
        HEADER + self.0.index(0, 0).bytes + EXTENSION_HEADER + HASH
    }
}

/// What a directory takes in the index.
struct InIndex {
    files: u64,
    bytes: u64,
}

impl Dir {
    /// `path_bytes` is the length of its path with the slash behind it, `name_bytes` that of its name.
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
                    // 62 bytes and the path, filled up with 1 to 8 zeros to a multiple of 8.
                    (all.files, all.bytes) = (all.files + 1, all.bytes + (62 + path_bytes + 8) / 8 * 8);
                }
            }
        }
        // Name, zero, how many files and directories, newline, and the name of the tree.
        all.bytes += name_bytes + 1 + format!("{} {dirs}\n", all.files).len() as u64 + 20;
        all
    }
}

/// One checkout.
struct Checkout<'c> {
    reader: &'c mut Reader,
    maker: &'c mut Maker,
    /// Directories, and those that they were in, that have become empty and go behind the next removal.
    empty: Vec<(DirId, DirId)>,
    /// The directory that is being made.
    path: Path,
}

impl Checkout<'_> {
    fn end_removals(&mut self) {
        for (dir, parent) in self.empty.drain(..) {
            self.maker.rmdir(dir, parent);
        }
    }

    /// Removes all of `dir` that `tree` does not have under the same name, or all if there is no tree.
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

    /// Makes all of `tree` that `dir` does not have, or has differently.
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

    /// Makes a directory with all that is in it; none if there is nothing in it.
    fn make_dir(&mut self, new: &TreeEntry, parent: DirId) -> Result<Option<Dir>, Error> {
        self.path.enter(&new.name, self.reader)?;
        let id = self.maker.mkdir(parent, &new.name);
        let mut dir = Dir { id, tree: None, entries: BTreeMap::new() };
        self.update(&mut dir, new.id)?;
        self.path.leave();
        if dir.entries.is_empty() {
            // Nothing was made in it, so that its making is the last operation.
            self.maker.take_back_mkdir(id);
            return Ok(None);
        }
        Ok(Some(dir))
    }

    /// Makes a file, a link or the directory of a submodule.
    fn make(&mut self, new: &TreeEntry, parent: DirId) -> Result<Entry, Error> {
        self.path.check(new, self.reader)?;
        let content = match new.kind {
            EntryKind::Commit => return Ok(Entry::Submodule(self.maker.mkdir(parent, &new.name))),
            EntryKind::Link => Content::Symlink,
            // The replay gives it the layout that writing gives, and writes if it has the contents.
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

    /// What a tree has, by the keys of [`Dir::entries`], in their order. Names that no file may have, and those that
    /// git refuses to check out because they are its own, are an error.
    fn entries(&mut self, tree: ObjectId) -> Result<Vec<(Vec<u8>, TreeEntry)>, Error> {
        let entries = self.reader.tree(tree)?;
        let mut keyed = Vec::with_capacity(entries.len());
        for entry in entries {
            if !is_name(&entry.name) || entry.name.eq_ignore_ascii_case(b".git") {
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
