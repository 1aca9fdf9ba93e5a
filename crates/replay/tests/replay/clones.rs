//! Clones of files, on file systems that share blocks and on others.

use std::fs::File;
use std::path::Path;

use crate::common::image::Image;
use crate::common::{creates, dir, replay, traces, tree};
use fiemap::{ExtentFlags, each_extent};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use senesce_replay::{Data, Flow, Options, fill, verify};
use trace::{Content, FileId, Op, ROOT};

const SEED: u64 = 7;
const A: FileId = FileId(0xa);
const B: FileId = FileId(0xb);

/// The file systems whose files can share blocks.
const SHARING: [&str; 2] = ["xfs", "btrfs"];

fn clone(file: FileId, to_file: FileId) -> Op {
    Op::Clone { file, parent: ROOT, to_file, to_parent: ROOT }
}

fn options(threads: usize, data: Data) -> Options {
    Options { threads, seed: SEED, data, ..Options::default() }
}

/// The place on disk of each block of a file, and whether it is shared.
fn blocks(path: &Path) -> Vec<(u64, bool)> {
    let mut blocks = Vec::new();
    each_extent(File::open(path).unwrap(), |extent| {
        assert!(!extent.flags.any(ExtentFlags::UNWRITTEN), "{}: {extent:?}", path.display());
        let shared = extent.flags.any(ExtentFlags::SHARED);
        blocks.extend((0..extent.len).step_by(4096).map(|at| (extent.physical + at, shared)));
    })
    .unwrap();
    blocks
}

#[test]
fn clones_share_the_blocks_of_their_source() {
    for fs in SHARING {
        for content in [Content::Preallocated, Content::Written] {
            let Some(image) = Image::new(fs, 320, &["-q"]) else { continue };
            let root = image.root();
            let ops = [Op::Create { file: A, parent: ROOT, size: 300_000, content }, clone(A, B)];
            let (_, first) = replay(&root, &options(1, Data::Auto), &ops);
            assert_eq!(first.failures(), [], "{fs}");
            let [a, b] = ["fa", "fb"].map(|name| root.join(name));
            let shared = blocks(&a);
            assert_eq!((shared.len(), shared.iter().all(|block| block.1)), (74, true), "{fs}: {shared:?}");
            assert_eq!(blocks(&b), shared, "{fs}");
            assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap(), "{fs}");

            assert_eq!(fill(&root, SEED, 1, &mut |_| Flow::Continue).unwrap().bytes, 0, "{fs}");
            let overwrite = [Op::Write { file: A, parent: ROOT, offset: 40_960, len: 4096 }];
            replay(&root, &options(1, Data::Auto), &overwrite);
            let places =
                |blocks: Vec<(u64, bool)>| blocks.into_iter().map(|block| block.0).collect::<Vec<_>>();
            let (before, a, b) = (places(shared), places(blocks(&a)), places(blocks(&b)));
            assert_eq!(b, before, "{fs}: the clone keeps its blocks");
            let moved: Vec<usize> = (0..74).filter(|&block| a[block] != before[block]).collect();
            assert_eq!(moved, [10], "{fs}: the overwritten block has moved");
            let verified = verify(&root, SEED).unwrap();
            assert_eq!((verified.files, verified.first_mismatch), (2, None), "{fs}");
        }
    }
}

#[test]
fn clones_do_not_depend_on_threads() {
    for fs in SHARING {
        let Some(image) = Image::new(fs, 320, &["-q"]) else { continue };
        let mut runner = TestRunner::new(ProptestConfig { cases: 20, ..ProptestConfig::default() });
        let cloned = |op| match op {
            Op::Link { file, parent, to_file, to_parent } => Op::Clone { file, parent, to_file, to_parent },
            op => op,
        };
        runner
            .run(&traces(300), |ops| {
                let ops: Vec<Op> = ops.into_iter().map(cloned).collect();
                let case = tempfile::tempdir_in(image.root()).unwrap();
                let [alone, shared] = ["alone", "shared"].map(|name| case.path().join(name));
                for (root, threads) in [(&alone, 1), (&shared, 8)] {
                    std::fs::create_dir(root).unwrap();
                    let (_, replay) = replay(root, &options(threads, Data::Write), &ops);
                    prop_assert_eq!(replay.failures(), &[]);
                }
                prop_assert_eq!(tree(&alone), tree(&shared));
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{fs}: {error}"));
    }
}

#[test]
fn clone_fails_where_files_cannot_share_blocks() {
    let root = dir();
    let mut ops: Vec<Op> = creates(A.0, 1, ROOT, 10).collect();
    ops.extend([clone(A, B), Op::Append { file: B, parent: ROOT, len: 5 }, clone(B, FileId(0xc))]);
    let (_, replay) = replay(root.path(), &options(1, Data::Write), &ops);
    let failures: Vec<_> =
        replay.failures().iter().map(|failure| (failure.kind.as_str(), failure.error.as_str())).collect();
    let skipped = "skipped: file was never made";
    assert_eq!(failures, [("clone", "EOPNOTSUPP"), ("append", skipped), ("clone", skipped)]);
    assert_eq!(tree(root.path()).keys().collect::<Vec<_>>(), ["fa"]);
}
