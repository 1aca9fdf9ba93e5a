//! What git's checkout does to a working tree, operation by operation, in its order (`check_updates` in git's
//! unpack-trees.c, `checkout_entry` in entry.c).
//!
//! First all that the new commit lacks is removed, in the order of the index, which is that of the paths' bytes; a
//! directory that has become empty goes behind the removal that follows its last one. Then what is new or different is
//! made, in the same order: an older file of that name is unlinked and the new one created, also if only its mode is
//! different; git never writes into a file that is there. A rename is a removal and a creation. A submodule is an
//! empty directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use trace::{BlobId, Content, DirId, FileId, FileLabel, Op, ROOT, is_name};

use super::labels::LiveLabels;
use super::repository::{Reader, TreeEntry};
use crate::Error;

/// Directories inside each other, of which Linux takes no more in a path.
const DEEPEST: usize = 2048;

/// A working tree and the operations that bring it from commit to commit.
pub(super) struct WorkTree {
    root: Dir,
    numbers: Numbers,
    labels: Arc<LiveLabels>,
}

/// The next numbers.
struct Numbers {
    file: u64,
    dir: u32,
}

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

/// The operations of one checkout.
#[derive(Default)]
struct Ops {
    list: Vec<Op>,
    /// Directories that are empty now and go behind the next removal.
    empty: Vec<Op>,
}

impl WorkTree {
    /// An empty tree.
    pub fn new(labels: Arc<LiveLabels>) -> Self {
        let root = Dir { id: ROOT, tree: None, entries: BTreeMap::new() };
        Self { root, numbers: Numbers { file: 0, dir: 1 }, labels }
    }

    /// Brings the working tree to `tree`, and says how.
    pub fn checkout(&mut self, tree: ObjectId, reader: &mut Reader) -> Result<Vec<Op>, Error> {
        let mut checkout = Checkout {
            reader,
            numbers: &mut self.numbers,
            labels: &self.labels,
            ops: Ops::default(),
            depth: 0,
        };
        checkout.remove(&mut self.root, Some(tree))?;
        checkout.ops.end_removals();
        checkout.update(&mut self.root, tree)?;
        Ok(checkout.ops.list)
    }
}

impl Numbers {
    fn file(&mut self) -> FileId {
        self.file += 1;
        FileId(self.file - 1)
    }

    fn dir(&mut self) -> DirId {
        self.dir += 1;
        DirId(self.dir - 1)
    }
}

impl Ops {
    /// Adds the removal of something that the new commit lacks.
    fn removal(&mut self, op: Op) {
        self.list.push(op);
        self.end_removals();
    }

    fn end_removals(&mut self) {
        self.list.append(&mut self.empty);
    }
}

/// One checkout.
struct Checkout<'c> {
    reader: &'c mut Reader,
    numbers: &'c mut Numbers,
    labels: &'c LiveLabels,
    ops: Ops,
    depth: usize,
}

impl Checkout<'_> {
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
                        self.ops.empty.push(Op::Rmdir { dir: below.id, parent: dir.id });
                        self.labels.remove_dir(below.id);
                        gone.push(key.clone());
                    }
                }
                _ if new.contains_key(key) => {}
                entry => {
                    let op = self.unlink(entry, dir.id);
                    self.ops.removal(op);
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
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.reader.error("its directories lie deeper than a path can be long".into()));
        }
        for (key, new) in self.entries(tree)? {
            match (new.kind, dir.entries.get_mut(&key)) {
                (EntryKind::Tree, Some(Entry::Dir(below))) => self.update(below, new.id)?,
                (EntryKind::Tree, _) => {
                    if let Some(below) = self.make_dir(&new, dir.id)? {
                        dir.entries.insert(key, Entry::Dir(below));
                    }
                }
                (EntryKind::Commit, Some(Entry::Submodule(_))) => {}
                (kind, Some(Entry::File { blob, kind: is, .. })) if kind == *is && new.id == *blob => {}
                (_, old) => {
                    let op = old.map(|old| self.unlink(old, dir.id));
                    self.ops.list.extend(op);
                    let made = self.make(&new, dir.id)?;
                    dir.entries.insert(key, made);
                }
            }
        }
        dir.tree = Some(tree);
        self.depth -= 1;
        Ok(())
    }

    /// Makes a directory with all that is in it; none if there is nothing in it.
    fn make_dir(&mut self, new: &TreeEntry, parent: DirId) -> Result<Option<Dir>, Error> {
        let before = self.ops.list.len();
        let id = self.numbers.dir();
        self.ops.list.push(Op::Mkdir { dir: id, parent });
        self.labels.insert_dir(id, &new.name);
        let mut dir = Dir { id, tree: None, entries: BTreeMap::new() };
        self.update(&mut dir, new.id)?;
        if dir.entries.is_empty() {
            self.ops.list.truncate(before);
            self.labels.remove_dir(id);
            return Ok(None);
        }
        Ok(Some(dir))
    }

    /// Makes a file, a link or the directory of a submodule.
    fn make(&mut self, new: &TreeEntry, parent: DirId) -> Result<Entry, Error> {
        let content = match new.kind {
            EntryKind::Commit => {
                let dir = self.numbers.dir();
                self.labels.insert_dir(dir, &new.name);
                self.ops.list.push(Op::Mkdir { dir, parent });
                return Ok(Entry::Submodule(dir));
            }
            EntryKind::Link => Content::Symlink,
            // The replay gives it the layout that writing gives, and writes if it has the contents.
            _ => Content::Auto,
        };
        let (file, size) = (self.numbers.file(), self.reader.size(new.id)?);
        let blob = BlobId(new.id.as_slice().try_into().expect("the repository has names of 20 bytes"));
        let executable = new.kind == EntryKind::BlobExecutable;
        self.labels.insert_file(file, FileLabel { name: new.name.clone(), executable, blob: Some(blob) });
        self.ops.list.push(Op::Create { file, parent, size, content });
        Ok(Entry::File { id: file, blob: new.id, kind: new.kind })
    }

    fn unlink(&mut self, entry: &Entry, parent: DirId) -> Op {
        match *entry {
            Entry::File { id: file, .. } => {
                self.labels.remove_file(file);
                Op::Delete { file, parent }
            }
            Entry::Submodule(dir) | Entry::Dir(Dir { id: dir, .. }) => {
                self.labels.remove_dir(dir);
                Op::Rmdir { dir, parent }
            }
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
                    .error(format!("the tree {tree} names {name}, which git does not check out")));
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
