//! Shared test code: valid traces, comparable trees, new file systems.

pub mod churn;
pub mod image;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::prelude::*;
use senesce_replay::{Flow, Options, Outcome, Replay};
use tempfile::TempDir;
use trace::{Content, DirId, FileId, Op, ROOT, ValidatingSource};

/// A directory for a replay, in memory if possible, because traces sync often.
pub fn dir() -> TempDir {
    testing::dir_in_memory()
}

/// Replays `ops` into `root` to the end.
pub fn replay(root: &Path, options: &Options, ops: &[Op]) -> (Outcome, Replay) {
    let mut replay = Replay::posix(root, options).expect("the root can be opened");
    let outcome = replay
        .run(&mut Vec::from(ops).into_iter(), None, &mut |_| Flow::Continue)
        .expect("a list has no errors");
    (outcome, replay)
}

/// A visible entry below a directory: for a file, the first name of its inode and its bytes.
#[derive(PartialEq, Debug)]
pub enum Node {
    Dir,
    File { first_name: String, bytes: Vec<u8> },
}

/// Everything below `root`, by path.
pub fn tree(root: &Path) -> BTreeMap<String, Node> {
    let mut seen = BTreeMap::new();
    let mut firsts = BTreeMap::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(dir) = left.pop() {
        let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_string();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                if name != "lost+found" {
                    seen.insert(name, Node::Dir);
                    left.push(path);
                }
            } else {
                let first_name = firsts.entry(meta.ino()).or_insert(name.clone()).clone();
                seen.insert(name, Node::File { first_name, bytes: fs::read(path).unwrap() });
            }
        }
    }
    seen
}

/// Creates `count` files of `size` bytes in directory `parent`, starting with number `first`.
pub fn creates(first: u64, count: u64, parent: DirId, size: u64) -> impl Iterator<Item = Op> {
    let content = Content::Auto;
    (first..first + count).map(move |file| Op::Create { file: FileId(file), parent, size, content })
}

/// Arbitrary valid traces of up to `most` operations.
pub fn traces(most: usize) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec((0u8..40, any::<u16>(), any::<u16>(), 0u64..20_000, 0u64..9_000), 0..most).prop_map(
        |dice| {
            let mut model = Model::default();
            let ops: Vec<Op> = dice.into_iter().filter_map(|dice| model.next(dice)).collect();
            let mut checked = ValidatingSource::new(ops.clone().into_iter());
            let mut batch = vec![Op::Checkpoint { number: 0 }];
            while !batch.is_empty() {
                trace::Source::next_batch(&mut checked, &mut batch)
                    .expect("the model makes valid traces only");
            }
            ops
        },
    )
}

/// The existing names, and numbers that may be reused.
#[derive(Default)]
struct Model {
    dirs: Vec<(DirId, DirId)>,
    files: Vec<(FileId, DirId, u64)>,
    old_dirs: Vec<DirId>,
    old_files: Vec<FileId>,
    numbers: u32,
}

impl Model {
    fn next(&mut self, (kind, a, b, x, y): (u8, u16, u16, u64, u64)) -> Option<Op> {
        self.numbers += 1;
        let parent = match self.dirs.len() {
            0 => ROOT,
            many => [ROOT, self.dirs[usize::from(b) % many].0][usize::from(!b.is_multiple_of(16))],
        };
        let content = Content::ALL[usize::from(a) % 4];
        let live = (!self.files.is_empty()).then(|| usize::from(a) % self.files.len());
        let at = |model: &Self| live.map(|live| model.files[live]);
        Some(match kind {
            0..8 => {
                let dir = self.old_dirs.pop().filter(|_| a.is_multiple_of(2)).unwrap_or(DirId(self.numbers));
                self.dirs.push((dir, parent));
                Op::Mkdir { dir, parent }
            }
            8..10 => {
                let (dir, parent) = *self.dirs.get(usize::from(a) % self.dirs.len().max(1))?;
                let within = self.dirs.iter().any(|other| other.1 == dir);
                if within || self.files.iter().any(|file| file.1 == dir) {
                    return None;
                }
                self.dirs.retain(|other| other.0 != dir);
                self.old_dirs.push(dir);
                Op::Rmdir { dir, parent }
            }
            10..21 => {
                let file = self.name(a);
                self.files.push((file, parent, self.numbers.into()));
                Op::Create { file, parent, size: x, content }
            }
            21..24 => at(self).map(|(file, parent, _)| Op::Write { file, parent, offset: x, len: y })?,
            24..27 => at(self).map(|(file, parent, _)| Op::Append { file, parent, len: y })?,
            27..28 => at(self).map(|(file, parent, _)| Op::Truncate { file, parent, size: x })?,
            28..29 => at(self).map(|(file, parent, _)| Op::Punch { file, parent, offset: x, len: y })?,
            29..32 => {
                let (file, from, inode) = at(self)?;
                let target = &self.files[usize::from(b) % self.files.len()];
                let replaces = b.is_multiple_of(2) && target.2 != inode;
                let (to_file, to_parent) =
                    if replaces { (target.0, target.1) } else { (FileId(self.numbers.into()), parent) };
                self.files.retain(|other| other.0 != file && other.0 != to_file);
                self.files.push((to_file, to_parent, inode));
                self.old_files.push(file);
                Op::Rename { file, parent: from, to_file, to_parent }
            }
            32..34 => {
                let (file, from, inode) = at(self)?;
                let to_file = self.name(a);
                self.files.push((to_file, parent, inode));
                Op::Link { file, parent: from, to_file, to_parent: parent }
            }
            34..38 => {
                let (file, parent, _) = self.files.swap_remove(live?);
                self.old_files.push(file);
                Op::Delete { file, parent }
            }
            38 => at(self).map(|(file, parent, _)| Op::Fsync { file, parent })?,
            _ => Op::Checkpoint { number: x },
        })
    }

    /// A number for a file: a new one, or that of a deleted file.
    fn name(&mut self, a: u16) -> FileId {
        self.old_files.pop().filter(|_| a.is_multiple_of(2)).unwrap_or(FileId(self.numbers.into()))
    }
}
