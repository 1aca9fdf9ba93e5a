//! An in-memory file system that executes operations.

use std::collections::{BTreeMap, HashMap, HashSet};
use trace::{Content, DirId, FileId, Labels, Op, ROOT};

const BLOCK: u64 = super::history::BLOCK;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub is_symlink: bool,
    pub size: u64,
    /// Whether each block holds data.
    pub blocks: Vec<bool>,
}

/// A tree of files.
#[derive(Default)]
pub struct Model {
    dirs: HashMap<DirId, (DirId, String)>,
    files: HashMap<FileId, (DirId, String, usize)>,
    pub inodes: Vec<Contents>,
    taken: HashSet<(DirId, String)>,
}

impl Model {
    pub fn apply(&mut self, op: &Op, labels: &dyn Labels) {
        let file_name = |file: FileId| text(&labels.file(file).expect("every live entry has a label").name);
        match *op {
            Op::Mkdir { dir, parent } => {
                let name = text(&labels.dir(dir).expect("every live entry has a label"));
                assert!(self.taken.insert((parent, name.clone())), "{op}: {name} is taken");
                self.dirs.insert(dir, (parent, name));
            }
            Op::Rmdir { dir, .. } => {
                let place = self.dirs.remove(&dir).unwrap();
                assert!(self.taken.remove(&place));
            }
            Op::Create { file, parent, size, content } => {
                let blocks = match content {
                    Content::Symlink => Vec::new(),
                    content => vec![content != Content::Hole; size.div_ceil(BLOCK) as usize],
                };
                self.inodes.push(Contents { is_symlink: content == Content::Symlink, size, blocks });
                self.insert(file, parent, file_name(file), self.inodes.len() - 1);
            }
            Op::Link { file, to_file, to_parent, .. } => {
                let inode = self.files[&file].2;
                self.insert(to_file, to_parent, file_name(to_file), inode);
            }
            Op::Rename { file, to_file, to_parent, .. } => {
                let inode = self.remove(file);
                self.insert(to_file, to_parent, file_name(to_file), inode);
            }
            Op::Delete { file, .. } => {
                self.remove(file);
            }
            Op::Append { file, len, .. } => {
                let size = self.contents(file).size;
                self.write(file, size, len);
            }
            Op::Write { file, offset, len, .. } => self.write(file, offset, len),
            Op::Truncate { file, size, .. } => {
                let contents = self.contents(file);
                contents.size = size;
                contents.blocks.resize(size.div_ceil(BLOCK) as usize, false);
            }
            Op::Clone { .. } | Op::Snapshot { .. } | Op::DeleteSnapshot { .. } => {
                unreachable!("snapshots of files have no clones")
            }
            Op::Punch { .. } | Op::Fsync { .. } | Op::Checkpoint { .. } => {}
        }
    }

    fn insert(&mut self, file: FileId, parent: DirId, name: String, inode: usize) {
        assert!(self.taken.insert((parent, name.clone())), "{name} is taken in {parent}");
        self.files.insert(file, (parent, name, inode));
    }

    fn remove(&mut self, file: FileId) -> usize {
        let (parent, name, inode) = self.files.remove(&file).unwrap();
        self.taken.remove(&(parent, name));
        inode
    }

    fn contents(&mut self, file: FileId) -> &mut Contents {
        &mut self.inodes[self.files[&file].2]
    }

    fn write(&mut self, file: FileId, offset: u64, len: u64) {
        let contents = self.contents(file);
        contents.size = contents.size.max(offset + len);
        contents.blocks.resize(contents.size.div_ceil(BLOCK) as usize, false);
        for block in offset / BLOCK..(offset + len).div_ceil(BLOCK) {
            contents.blocks[block as usize] = true;
        }
    }

    fn path(&self, dir: DirId, name: &str) -> String {
        match dir {
            ROOT => name.to_owned(),
            dir => {
                let (parent, above) = &self.dirs[&dir];
                format!("{}/{name}", self.path(*parent, above))
            }
        }
    }

    pub fn dirs(&self) -> Vec<String> {
        let mut dirs: Vec<String> =
            self.dirs.values().map(|(parent, name)| self.path(*parent, name)).collect();
        dirs.sort();
        dirs
    }

    /// The inode of every path.
    pub fn files(&self) -> BTreeMap<String, usize> {
        self.files.values().map(|(parent, name, inode)| (self.path(*parent, name), *inode)).collect()
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8(name.to_vec()).unwrap()
}
