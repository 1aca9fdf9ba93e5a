//! Invalid operations are rejected by their number; valid ones pass.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use proptest::prelude::*;
use senesce_trace::{Content, DirId, Error, FileId, Op, ROOT, Source, Stat, ValidatingSource};

use crate::support::{drain, op_on};

const A: FileId = FileId(10);
const B: FileId = FileId(11);
const D: DirId = DirId(1);
const E: DirId = DirId(2);

fn mkdir(dir: DirId, parent: DirId) -> Op {
    Op::Mkdir { dir, parent }
}

fn rmdir(dir: DirId, parent: DirId) -> Op {
    Op::Rmdir { dir, parent }
}

fn create(file: FileId, parent: DirId) -> Op {
    Op::Create { file, parent, size: 1, content: Content::Auto }
}

fn delete(file: FileId, parent: DirId) -> Op {
    Op::Delete { file, parent }
}

fn rename(file: FileId, parent: DirId, to_file: FileId, to_parent: DirId) -> Op {
    Op::Rename { file, parent, to_file, to_parent }
}

fn link(file: FileId, parent: DirId, to_file: FileId, to_parent: DirId) -> Op {
    Op::Link { file, parent, to_file, to_parent }
}

fn clone(file: FileId, parent: DirId, to_file: FileId, to_parent: DirId) -> Op {
    Op::Clone { file, parent, to_file, to_parent }
}

#[test]
fn valid_operations_pass() {
    let ops = vec![
        mkdir(D, ROOT),
        mkdir(E, D),
        create(A, E),
        Op::Write { file: A, parent: E, offset: 9, len: 9 },
        Op::Append { file: A, parent: E, len: 9 },
        Op::Truncate { file: A, parent: E, size: 9 },
        Op::Punch { file: A, parent: E, offset: 0, len: 9 },
        Op::Fsync { file: A, parent: E },
        Op::Checkpoint { number: 1 },
        // To another directory with its number; back with another; over another file; onto itself.
        rename(A, E, A, ROOT),
        rename(A, ROOT, B, E),
        create(A, E),
        rename(B, E, A, E),
        rename(A, E, A, E),
        // A hard link survives the original name, and both numbers can be reused.
        link(A, E, B, D),
        delete(A, E),
        Op::Fsync { file: B, parent: D },
        create(A, D),
        delete(A, D),
        // Unlike a hard link, a clone can be replaced by its original.
        clone(B, D, A, E),
        rename(B, D, A, E),
        delete(A, E),
        // The number of a deleted snapshot can be reused.
        Op::Snapshot { number: 1 },
        Op::DeleteSnapshot { number: 1 },
        Op::Snapshot { number: 1 },
        rmdir(E, D),
        mkdir(E, ROOT),
        rmdir(D, ROOT),
    ];
    let mut source = ValidatingSource::new(ops.clone().into_iter());
    assert_eq!(source.remaining(), Some(ops.len() as u64));
    assert_eq!(drain(&mut source).unwrap(), ops);
}

#[test]
fn invalid_operations_are_reported() {
    let taken = Op::Snapshot { number: 7 };
    let there = [mkdir(D, ROOT), mkdir(E, ROOT), create(A, D), link(A, D, B, D), taken];
    for (op, said) in [
        (mkdir(D, ROOT), "mkdir d1 in d0, is impossible: directory d1 already exists"),
        (mkdir(ROOT, ROOT), "mkdir d0 in d0, is impossible: directory d0 already exists"),
        (mkdir(DirId(3), DirId(4)), "mkdir d3 in d4, is impossible: directory d4 does not exist"),
        (rmdir(D, ROOT), "rmdir d1 in d0, is impossible: d1 is not empty, it has 2 entries"),
        (rmdir(E, D), "rmdir d2 in d1, is impossible: d2 is in d0"),
        (rmdir(DirId(3), ROOT), "rmdir d3 in d0, is impossible: directory d3 does not exist"),
        (rmdir(ROOT, ROOT), "rmdir d0 in d0, is impossible: d0 is the root and cannot be changed"),
        (create(A, E), "create fa in d2 size 1 Auto, is impossible: file fa already exists, in d1"),
        (
            create(FileId(1), DirId(3)),
            "create f1 in d3 size 1 Auto, is impossible: directory d3 does not exist",
        ),
        (delete(FileId(1), D), "delete f1 in d1, is impossible: file f1 does not exist"),
        (delete(A, E), "delete fa in d2, is impossible: fa is in d1"),
        (Op::Append { file: A, parent: E, len: 1 }, "append fa in d2 length 1, is impossible: fa is in d1"),
        (clone(A, D, B, E), "clone fa in d1 to fb in d2, is impossible: file fb already exists, in d1"),
        (clone(A, E, FileId(1), E), "clone fa in d2 to f1 in d2, is impossible: fa is in d1"),
        (
            clone(A, D, FileId(1), DirId(3)),
            "clone fa in d1 to f1 in d3, is impossible: directory d3 does not exist",
        ),
        (link(A, D, B, E), "link fa in d1 to fb in d2, is impossible: file fb already exists, in d1"),
        (taken, "snapshot 7, is impossible: snapshot 7 already exists"),
        (Op::DeleteSnapshot { number: 8 }, "delete_snapshot 8, is impossible: snapshot 8 does not exist"),
        (rename(A, D, B, E), "rename fa in d1 to fb in d2, is impossible: fb is in d1"),
        (
            rename(A, D, A, DirId(3)),
            "rename fa in d1 to fa in d3, is impossible: directory d3 does not exist",
        ),
        (
            rename(A, D, B, D),
            "rename fa in d1 to fb in d1, is impossible: fa and fb are hard links to one file, \
             so a rename has no effect",
        ),
    ] {
        let ops = there.into_iter().chain([op]).collect::<Vec<_>>();
        let error = drain(ValidatingSource::new(ops.into_iter())).unwrap_err().to_string();
        assert_eq!(error, format!("generating operations: operation 5, {said}"));
    }
}

proptest! {
    /// Accepted operations succeed on a real file system, and its contents match the statistics.
    #[test]
    fn accepted_operations_succeed_on_file_system(ops in prop::collection::vec(op_on((0..4u64).boxed(), (0..4u32).boxed()), 0..300)) {
        let root = tempfile::tempdir().unwrap();
        let mut disk = Disk(HashMap::from([(ROOT, root.path().to_path_buf())]));
        let mut source = ValidatingSource::new(Single(ops.clone().into_iter()));
        let (mut passed, mut batch) = (Vec::new(), Vec::new());
        for op in ops {
            if source.next_batch(&mut batch).is_ok() {
                disk.apply(&op).unwrap_or_else(|e| panic!("{op}: {e}"));
                passed.push(op);
            }
        }
        let stat = Stat::of(passed.into_iter()).unwrap();
        prop_assert_eq!((stat.live_files, stat.directories), count(root.path()));
    }
}

/// A source with batches of one operation.
struct Single(std::vec::IntoIter<Op>);

impl Source for Single {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        batch.clear();
        batch.extend(self.0.next());
        Ok(())
    }
}

/// A real file system, with the paths of its directories.
struct Disk(HashMap<DirId, PathBuf>);

impl Disk {
    fn apply(&mut self, op: &Op) -> io::Result<()> {
        let path = |file: FileId, parent| self.0[&parent].join(file.to_string());
        match *op {
            Op::Mkdir { dir, parent } => {
                let path = self.0[&parent].join(dir.to_string());
                fs::create_dir(&path)?;
                self.0.insert(dir, path);
                Ok(())
            }
            Op::Rmdir { dir, .. } => fs::remove_dir(&self.0[&dir]),
            Op::Create { file, parent, .. } => fs::File::create_new(path(file, parent)).map(|_| ()),
            Op::Write { file, parent, .. }
            | Op::Append { file, parent, .. }
            | Op::Truncate { file, parent, .. }
            | Op::Punch { file, parent, .. }
            | Op::Fsync { file, parent } => fs::metadata(path(file, parent)).map(|_| ()),
            Op::Rename { file, parent, to_file, to_parent } => {
                fs::rename(path(file, parent), path(to_file, to_parent))
            }
            Op::Link { file, parent, to_file, to_parent } => {
                fs::hard_link(path(file, parent), path(to_file, to_parent))
            }
            Op::Clone { file, parent, to_file, to_parent } => {
                fs::copy(path(file, parent), path(to_file, to_parent)).map(|_| ())
            }
            Op::Delete { file, parent } => fs::remove_file(path(file, parent)),
            Op::Snapshot { .. } | Op::DeleteSnapshot { .. } | Op::Checkpoint { .. } => Ok(()),
        }
    }
}

/// The number of files and directories below `dir`.
fn count(dir: &Path) -> (u64, u64) {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).fold((0, 0), |(files, dirs), path| {
        if path.is_dir() {
            let (more_files, more_dirs) = count(&path);
            (files + more_files, dirs + more_dirs + 1)
        } else {
            (files + 1, dirs)
        }
    })
}
