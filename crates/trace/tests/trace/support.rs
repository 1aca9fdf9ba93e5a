//! Shared helpers: operations of every kind with any values, and functions to read and write them.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use senesce_trace::{Content, DirId, Error, FileId, Op, Source, TraceInfo, TraceSummary, TraceWriter};
use sha2::{Digest as _, Sha256};

/// Any operation, valid or not.
pub fn any_op() -> impl Strategy<Value = Op> {
    op_on(any_number().boxed(), prop_oneof![0..9u32, any::<u32>()].boxed())
}

/// Any operation on files and directories of these numbers.
pub fn op_on(files: BoxedStrategy<u64>, dirs: BoxedStrategy<u32>) -> impl Strategy<Value = Op> {
    let file = || files.clone().prop_map(FileId);
    let dir = || dirs.clone().prop_map(DirId);
    let content = prop::sample::select(&Content::ALL[..]);
    prop_oneof![
        (dir(), dir()).prop_map(|(dir, parent)| Op::Mkdir { dir, parent }),
        (dir(), dir()).prop_map(|(dir, parent)| Op::Rmdir { dir, parent }),
        (file(), dir(), any_number(), content).prop_map(|(file, parent, size, content)| Op::Create {
            file,
            parent,
            size,
            content
        }),
        (file(), dir(), any_number(), any_number()).prop_map(|(file, parent, offset, len)| Op::Write {
            file,
            parent,
            offset,
            len
        }),
        (file(), dir(), any_number()).prop_map(|(file, parent, len)| Op::Append { file, parent, len }),
        (file(), dir(), any_number()).prop_map(|(file, parent, size)| Op::Truncate { file, parent, size }),
        (file(), dir(), any_number(), any_number()).prop_map(|(file, parent, offset, len)| Op::Punch {
            file,
            parent,
            offset,
            len
        }),
        (file(), dir(), file(), dir()).prop_map(|(file, parent, to_file, to_parent)| Op::Rename {
            file,
            parent,
            to_file,
            to_parent
        }),
        (file(), dir(), file(), dir()).prop_map(|(file, parent, to_file, to_parent)| Op::Link {
            file,
            parent,
            to_file,
            to_parent
        }),
        (file(), dir(), file(), dir()).prop_map(|(file, parent, to_file, to_parent)| Op::Clone {
            file,
            parent,
            to_file,
            to_parent
        }),
        (file(), dir()).prop_map(|(file, parent)| Op::Delete { file, parent }),
        (file(), dir()).prop_map(|(file, parent)| Op::Fsync { file, parent }),
        any_number().prop_map(|number| Op::Snapshot { number }),
        any_number().prop_map(|number| Op::DeleteSnapshot { number }),
        any_number().prop_map(|number| Op::Checkpoint { number }),
    ]
}

/// A number, often small enough to repeat.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0..9u64, any::<u64>()]
}

/// One operation of each kind, with values at the limits of their ranges.
pub fn each_kind() -> Vec<Op> {
    let (file, parent) = (FileId(u64::MAX), DirId(u32::MAX));
    let (to_file, to_parent) = (FileId(1), DirId(2));
    vec![
        Op::Mkdir { dir: to_parent, parent },
        Op::Rmdir { dir: to_parent, parent },
        Op::Create { file, parent, size: 4096, content: Content::Hole },
        Op::Write { file, parent, offset: u64::MAX, len: 3 },
        Op::Append { file, parent, len: 4 },
        Op::Truncate { file, parent, size: 0 },
        Op::Punch { file, parent, offset: 5, len: 6 },
        Op::Rename { file, parent, to_file, to_parent },
        Op::Link { file, parent, to_file, to_parent },
        Op::Delete { file, parent },
        Op::Fsync { file, parent },
        Op::Checkpoint { number: 7 },
        Op::Clone { file, parent, to_file, to_parent },
        Op::Snapshot { number: 8 },
        Op::DeleteSnapshot { number: 8 },
    ]
}

pub fn info() -> TraceInfo {
    TraceInfo {
        tool: "senesce 0.1.0".into(),
        seed: Some(u64::MAX),
        source: "planned".into(),
        parameters: r#"{"fill":0.8}"#.into(),
        block_size: 4096,
    }
}

/// Writes `ops` as the trace file `path`.
pub fn write(path: &Path, ops: &[Op]) -> TraceSummary {
    let mut writer = TraceWriter::create(path, &info()).unwrap();
    writer.write(ops).unwrap();
    writer.finish().unwrap()
}

/// Seals an otherwise complete trace file: SHA-256 of the whole file, after the first four bytes.
pub fn seal(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[4..36].fill(0);
    let seal = Sha256::digest(&bytes);
    bytes[4..36].copy_from_slice(&seal);
    fs::write(path, bytes).unwrap();
}

/// All operations of `source`.
pub fn drain(mut source: impl Source) -> Result<Vec<Op>, Error> {
    let (mut ops, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(ops);
        }
        assert!(batch.len() <= senesce_trace::BATCH);
        ops.append(&mut batch);
    }
}
