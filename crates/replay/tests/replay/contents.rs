//! Fills aged files in place and reads them back, on real file systems in images.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::common::image::Image;
use crate::common::{creates, dir, replay};
use fiemap::each_extent;
use senesce_replay::{Data, Flow, Options, contents, fill, verify};
use trace::{Content, DirId, FileId, Op, ROOT};

const SEED: u64 = 42;
/// The smallest block size of the three; ext4 uses it on small images.
const BLOCK: u64 = 1024;

/// Small and large files with gaps in between, many of them preallocated.
fn churn() -> Vec<Op> {
    let mut ops: Vec<Op> = (1..=4).map(|dir| Op::Mkdir { dir: DirId(dir), parent: DirId(dir / 2) }).collect();
    for number in 0..600u64 {
        let (file, parent) = (FileId(number), DirId((number % 5) as u32));
        let size = [0, 100, 5000, 64 << 10, 300_001][(number % 5 + number / 100) as usize % 5];
        ops.push(Op::Create { file, parent, size, content: Content::Auto });
        if number % 3 == 1 {
            ops.push(Op::Delete { file: FileId(number - 1), parent: DirId(((number - 1) % 5) as u32) });
        }
        if number % 50 == 2 {
            ops.push(Op::Write { file, parent, offset: 10_000, len: 5_000 });
            ops.push(Op::Truncate { file, parent, size: 400_000 });
            ops.push(Op::Punch { file, parent, offset: 4_000, len: 9_000 });
        }
    }
    ops
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap().map(|entry| entry.unwrap()) {
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == "lost+found" => {}
            true => files.extend(self::files(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files
}

/// The location of every block of every file.
fn blocks(root: &Path) -> BTreeMap<(PathBuf, u64), u64> {
    let mut blocks = BTreeMap::new();
    for path in files(root) {
        each_extent(File::open(&path).unwrap(), |extent| {
            for at in (0..extent.len).step_by(BLOCK as usize) {
                blocks.insert((path.clone(), extent.logical + at), extent.physical + at);
            }
        })
        .unwrap();
    }
    blocks
}

#[test]
fn fill_moves_no_block_and_leaves_nothing_unwritten() {
    for fs in ["ext4", "xfs", "btrfs"] {
        for data in [Data::Fallocate, Data::Auto] {
            let Some(image) = Image::new(fs, 320, &["-q"]) else { continue };
            let root = image.root();
            let options =
                Options { threads: 2, data, seed: SEED, grouped_limit_bytes: 64 << 10, ..Options::default() };
            let (_, replay) = replay(&root, &options, &churn());
            assert_eq!(replay.failures(), [], "{fs}");

            let before = blocks(&root);
            let filled = fill(&root, SEED, 2, &mut |_| Flow::Continue).unwrap();
            assert_eq!((filled.files as usize, filled.errors), (files(&root).len(), 0), "{fs}");
            assert!(filled.bytes > 20 << 20, "{fs}: {filled:?}");
            assert!(before == blocks(&root), "{fs}: blocks have moved");

            let again = fill(&root, SEED, 1, &mut |_| Flow::Continue).unwrap();
            assert_eq!(again.bytes, 0, "{fs}: filled ranges are not filled again");
            let verified = verify(&root, SEED).unwrap();
            assert_eq!((verified.mismatches, verified.first_mismatch.as_deref()), (0, None), "{fs}");
            assert!(verified.bytes >= filled.bytes, "{fs}: {verified:?}");
            assert!(
                verify(&root, SEED + 1).unwrap().mismatches > 0,
                "{fs}: another seed gives other contents"
            );

            let spoilt = root.join("f19a");
            OpenOptions::new().write(true).open(&spoilt).unwrap().write_at(b"?", 4099).unwrap();
            let verified = verify(&root, SEED).unwrap();
            assert_eq!(
                (verified.mismatches, verified.first_mismatch.as_deref()),
                (1, Some("f19a at byte 4096")),
                "{fs}"
            );
        }
    }
}

#[test]
fn fill_can_be_stopped_and_continued() {
    let Some(image) = Image::new("ext4", 320, &["-q"]) else { return };
    let root = image.root();
    replay(&root, &Options::default(), &creates(0, 3000, ROOT, 50_000).collect::<Vec<_>>());
    let stopped =
        fill(&root, SEED, 2, &mut |bytes| if bytes > 0 { Flow::Stop } else { Flow::Continue }).unwrap();
    assert!((1..3000).contains(&stopped.files), "{stopped:?}");
    let rest = fill(&root, SEED, 2, &mut |_| Flow::Continue).unwrap();
    assert_eq!((stopped.bytes + rest.bytes, rest.files), (3000 * 50_000, 3000));
}

#[test]
fn written_files_have_their_contents() {
    let root = dir();
    let options = Options { data: Data::Write, seed: SEED, ..Options::default() };
    let mut ops: Vec<Op> = creates(5, 1, ROOT, 1000).collect();
    ops.push(Op::Append { file: FileId(5), parent: ROOT, len: 333_333 });
    replay(root.path(), &options, &ops);
    let mut expected = vec![0; 334_333];
    contents(SEED, FileId(5), 0, &mut expected);
    assert!(fs::read(root.path().join("f5")).unwrap() == expected);
}

#[test]
fn renamed_files_verify_and_corrupted_ones_do_not() {
    let root = dir();
    let options = Options { data: Data::Write, seed: SEED, ..Options::default() };
    let mut ops: Vec<Op> = creates(5, 1, ROOT, 1001).collect();
    let (file, to_file) = (FileId(5), FileId(6));
    ops.push(Op::Rename { file, parent: ROOT, to_file, to_parent: ROOT });
    ops.push(Op::Append { file: to_file, parent: ROOT, len: 9_999 });
    replay(root.path(), &options, &ops);
    let verified = verify(root.path(), SEED).unwrap();
    assert_eq!((verified.files, verified.bytes, verified.mismatches), (1, 11_000, 0));
    OpenOptions::new().write(true).open(root.path().join("f6")).unwrap().write_at(b"spoilt", 500).unwrap();
    assert_eq!(verify(root.path(), SEED).unwrap().first_mismatch.as_deref(), Some("f6 at byte 496"));
}

#[test]
fn foreign_files_are_ignored() {
    let root = dir();
    fs::write(root.path().join("README"), "not ours").unwrap();
    fs::create_dir(root.path().join("docs")).unwrap();
    fs::write(root.path().join("docs/f1"), "not ours").unwrap();
    assert_eq!(fill(root.path(), SEED, 1, &mut |_| Flow::Continue).unwrap().files, 0);
    assert_eq!(verify(root.path(), SEED).unwrap().files, 0);
}
