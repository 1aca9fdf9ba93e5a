//! A mutable tree that is built in any order.

use crate::{Entry, Extent, Info, Kind, ROOT, Snapshot, SnapshotBuilder};
use std::collections::BTreeMap;

/// A name in a tree.
pub type NodeId = usize;

/// A tree of names. Removed nodes stay in memory, unreachable.
pub struct Tree {
    nodes: Vec<Node>,
    /// The files; several names may refer to one.
    pub files: Vec<File>,
}

/// A file, directory or other inode.
#[derive(Clone)]
pub struct File {
    /// Its metadata; the parent in it is unused.
    pub entry: Entry,
    extents: Vec<Extent>,
}

impl File {
    /// Drops the extents, which are outdated.
    pub fn forget_extents(&mut self) {
        self.extents.clear();
    }
}

struct Node {
    file: usize,
    children: BTreeMap<Vec<u8>, NodeId>,
}

/// The node of the root.
pub const TOP: NodeId = 0;

/// An entry with no other known attributes.
pub fn entry(kind: Kind, inode: u64) -> Entry {
    Entry {
        parent: ROOT,
        kind,
        inode,
        generation: None,
        links: 1,
        size: 0,
        allocated: 0,
        changed_ns: 0,
        modified_ns: 0,
        born_ns: None,
    }
}

/// The components of a path; leading and trailing slashes and `.` are ignored.
pub fn names(path: &[u8]) -> Result<Vec<&[u8]>, String> {
    let names: Vec<&[u8]> =
        path.split(|byte| *byte == b'/').filter(|name| !matches!(name, [] | [b'.'])).collect();
    match names.iter().find(|name| !trace::is_valid_name(name)) {
        Some(name) => Err(format!("{} is not a valid file name", super::text::shown(name))),
        None => Ok(names),
    }
}

impl Tree {
    /// A tree that contains only its root.
    pub fn new(root: Entry) -> Tree {
        let file = File { entry: root, extents: Vec::new() };
        Tree { nodes: vec![Node { file: 0, children: BTreeMap::new() }], files: vec![file] }
    }

    /// The tree of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Tree {
        let mut tree = Tree::new(snapshot.entries()[0].clone());
        let mut linked = BTreeMap::new();
        for (entry, place) in snapshot.entries().iter().zip(0..).skip(1) {
            let mut file = tree.files.len();
            if entry.links > 1 && entry.kind != Kind::Dir {
                file = *linked.entry(entry.inode).or_insert(file);
            }
            if file == tree.files.len() {
                let extents = snapshot.extents(place).to_vec();
                tree.files.push(File { entry: entry.clone(), extents });
            }
            // The nodes of a new tree have the same numbers as the places of the snapshot.
            tree.nodes.push(Node { file, children: BTreeMap::new() });
            let name = snapshot.name(place).to_vec();
            tree.nodes[entry.parent as usize].children.insert(name, place as usize);
        }
        tree
    }

    /// The file of a name.
    pub fn file(&mut self, node: NodeId) -> &mut File {
        let file = self.nodes[node].file;
        &mut self.files[file]
    }

    /// The number of the file of a name.
    pub fn file_id(&self, node: NodeId) -> usize {
        self.nodes[node].file
    }

    /// The node at a path.
    pub fn find(&self, names: &[&[u8]]) -> Option<NodeId> {
        names.iter().try_fold(TOP, |node, name| self.nodes[node].children.get(*name).copied())
    }

    /// The parent directory of a path, and the last component.
    fn above<'n>(&self, names: &[&'n [u8]]) -> Result<(NodeId, &'n [u8]), String> {
        let (name, above) = names.split_last().ok_or("the root cannot be created, moved or removed")?;
        let dir = self.find(above).filter(|dir| self.files[self.nodes[*dir].file].entry.kind == Kind::Dir);
        Ok((
            dir.ok_or_else(|| {
                format!("the directory of {} does not exist", super::text::shown(&names.join(&b'/')))
            })?,
            name,
        ))
    }

    /// Adds a name with a new file; replaces an existing entry.
    pub fn put(&mut self, names: &[&[u8]], entry: Entry) -> Result<NodeId, String> {
        self.files.push(File { entry, extents: Vec::new() });
        self.put_name(names, self.files.len() - 1)
    }

    /// Adds a name for an existing file; replaces an existing entry.
    pub fn put_name(&mut self, names: &[&[u8]], file: usize) -> Result<NodeId, String> {
        let (dir, name) = self.above(names)?;
        self.nodes.push(Node { file, children: BTreeMap::new() });
        let node = self.nodes.len() - 1;
        self.nodes[dir].children.insert(name.to_vec(), node);
        Ok(node)
    }

    /// Removes a name and everything below it.
    pub fn take(&mut self, names: &[&[u8]]) -> Result<NodeId, String> {
        let (dir, name) = self.above(names)?;
        let taken = self.nodes[dir].children.remove(name);
        taken.ok_or_else(|| format!("{} does not exist", super::text::shown(&names.join(&b'/'))))
    }

    /// Reinserts a removed node; replaces an existing entry.
    pub fn give(&mut self, names: &[&[u8]], node: NodeId) -> Result<(), String> {
        let (dir, name) = self.above(names)?;
        self.nodes[dir].children.insert(name.to_vec(), node);
        Ok(())
    }

    /// The number of names of each file.
    pub fn count_names(&self) -> Vec<u32> {
        let mut counts = vec![0; self.files.len()];
        let mut nodes = vec![TOP];
        while let Some(node) = nodes.pop() {
            counts[self.nodes[node].file] += 1;
            nodes.extend(self.nodes[node].children.values());
        }
        counts
    }

    /// Converts the tree to a snapshot.
    pub fn finish(self, info: Info) -> Snapshot {
        let mut builder = SnapshotBuilder::new(info, self.files[0].entry.clone());
        let mut seen = vec![false; self.files.len()];
        let mut levels = vec![(ROOT, self.nodes[TOP].children.iter())];
        while let Some((parent, level)) = levels.last_mut() {
            let parent = *parent;
            let Some((name, node)) = level.next() else {
                levels.pop();
                continue;
            };
            let Node { file, children } = &self.nodes[*node];
            let File { entry, extents } = &self.files[*file];
            let extents = if std::mem::replace(&mut seen[*file], true) { &[] } else { &extents[..] };
            let place = builder.add(Entry { parent, ..entry.clone() }, name, extents);
            if entry.kind == Kind::Dir {
                levels.push((place, children.iter()));
            }
        }
        builder.finish()
    }
}
