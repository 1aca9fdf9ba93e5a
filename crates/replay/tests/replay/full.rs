//! Replays without space, without support for an operation, or after the loss of the device, on real file systems in images.

use crate::common::image::Image;
use crate::common::{creates, dir, replay, tree};
use rustix::ioctl::{Setter, ioctl, opcode};
use senesce_replay::{Data, Flow, OnFull, Options, StopReason, VerifyReport, fill, verify};
use trace::{Content, DirId, FileId, Op, ROOT};

const MIB: u64 = 1 << 20;
const DIR: DirId = DirId(1);

/// Nothing frees space in the background here, except the sync before each retry.
const SPACE_WAIT_MS: u64 = 100;
/// A file system whose files have block maps, which cannot be preallocated.
const BLOCK_MAPS: [&str; 3] = ["-q", "-O", "^extents,^64bit,^metadata_csum"];

fn options(threads: usize, data: Data) -> Options {
    Options { threads, data, space_wait_ms: SPACE_WAIT_MS, ..Options::default() }
}

/// The number of operations of a type that failed with an error.
fn count(replay: &senesce_replay::Replay, kind: &str, error: &str) -> u64 {
    replay.failures().iter().filter(|e| e.kind == kind && e.error == error).map(|e| e.count).sum()
}

#[test]
fn file_that_does_not_fit_is_skipped_with_later_operations() {
    for (threads, data) in [(1, Data::Fallocate), (2, Data::Fallocate), (2, Data::Write), (1, Data::Auto)] {
        let Some(image) = Image::new("ext4", 32, &["-q"]) else { return };
        let mut ops = vec![Op::Mkdir { dir: DIR, parent: ROOT }];
        ops.extend(creates(0, 100, DIR, MIB));
        ops.extend((0..100).map(|file| Op::Truncate { file: FileId(file), parent: DIR, size: MIB / 2 }));
        ops.extend((0..100).map(|file| Op::Rename {
            file: FileId(file),
            parent: DIR,
            to_file: FileId(1000 + file),
            to_parent: ROOT,
        }));
        ops.extend((0..100).map(|file| Op::Delete { file: FileId(1000 + file), parent: ROOT }));
        ops.push(Op::Rmdir { dir: DIR, parent: ROOT });
        let (outcome, whole) = replay(&image.root(), &options(threads, data), &ops);
        assert_eq!((outcome.operations, outcome.stop_reason), (ops.len() as u64, StopReason::EndOfSource));
        assert_eq!(tree(&image.root()).len(), 0, "{:?}", whole.failures());

        let (_, first) = replay(&image.root(), &options(threads, data), &ops[..201]);
        let lost = count(&first, "create", "ENOSPC");
        assert!((50..90).contains(&lost), "{:?}", first.failures());
        assert_eq!(count(&first, "truncate", "skipped: file was never made"), lost);
        assert_eq!(first.failures().len(), 2, "{:?}", first.failures());
        let sizes = || {
            std::fs::read_dir(image.root().join("d1")).unwrap().map(|e| e.unwrap().metadata().unwrap().len())
        };
        assert!(sizes().all(|size| size == MIB / 2), "no file is left in part");
        assert_eq!(sizes().count() as u64, 100 - lost);
        assert_eq!(verify(&image.root(), 0).unwrap().mismatches, 0);
    }
}

#[test]
fn run_stops_on_full_file_system() {
    for threads in [1, 2] {
        let Some(image) = Image::new("ext4", 32, &["-q"]) else { return };
        let ops: Vec<Op> = creates(0, 5000, ROOT, 64 << 10).collect();
        let options = Options { on_full: OnFull::Stop, ..options(threads, Data::Auto) };
        let (outcome, mut first) = replay(&image.root(), &options, &ops);
        assert_eq!(outcome.stop_reason, StopReason::Full);
        let failed = count(&first, "create", "ENOSPC");
        assert!(failed >= 1 && (threads > 1 || failed == 1), "{:?}", first.failures());
        assert_eq!(tree(&image.root()).len() as u64, outcome.operations - failed);
        assert!(outcome.operations < 3000, "{outcome:?}");

        // With free space again, the same replay continues.
        (0..100).for_each(|file| drop(std::fs::remove_file(image.root().join(format!("f{file:x}")))));
        let more: Vec<Op> = creates(9000, 20, ROOT, 64 << 10).collect();
        let again = first.run(&mut more.into_iter(), Some(20), &mut |_| Flow::Continue).unwrap();
        assert_eq!((again.operations, again.stop_reason), (20, StopReason::OperationLimit));
    }
}

#[test]
fn auto_writes_without_preallocation() {
    let Some(image) = Image::new("ext4", 32, &BLOCK_MAPS) else { return };
    for (first, grouped_limit_bytes) in [(0, 0), (10, 64 << 10)] {
        let ops: Vec<Op> = creates(first, 10, ROOT, 10_001).collect();
        let (_, auto) = replay(&image.root(), &Options { grouped_limit_bytes, ..Options::default() }, &ops);
        assert_eq!(auto.failures(), []);
        assert_eq!(verify(&image.root(), 0).unwrap(), all_verified(first + 10, (first + 10) * 10_001));
    }
    let ops: Vec<Op> = creates(20, 10, ROOT, 10_000).collect();
    let (_, asked) = replay(&image.root(), &Options { data: Data::Fallocate, ..Options::default() }, &ops);
    assert_eq!(count(&asked, "create", "EOPNOTSUPP"), 10);
    assert_eq!(tree(&image.root()).len(), 20, "files that cannot be preallocated are not created");
}

/// A failing direct write leaves zeros if the kernel turns it into a buffered one.
#[test]
fn auto_writes_where_direct_writes_are_buffered() {
    for (mkfs, mount) in [(&BLOCK_MAPS[..], "loop"), (&["-q", "-b", "1024"], "loop,data=journal")] {
        let Some(image) = Image::mounted("ext4", 32, mkfs, mount) else { return };
        // More than a block, than a page, and than the twelve direct blocks of an inode.
        let sizes = [1, 1023, 1024, 4096, 4097, 8193, 10_001, 12_289, 65_536];
        let ops: Vec<Op> = (0..).zip(sizes).flat_map(|(file, size)| creates(file, 1, ROOT, size)).collect();
        let grouped = Options { inline_limit_bytes: 0, grouped_limit_bytes: 64 << 10, ..Options::default() };
        let (_, auto) = replay(&image.root(), &grouped, &ops);
        assert_eq!(auto.failures(), []);
        let filled = fill(&image.root(), 0, 1, &mut |_| Flow::Continue).unwrap();
        assert_eq!((filled.files, filled.errors), (sizes.len() as u64, 0));
        let verified = verify(&image.root(), 0).unwrap();
        assert_eq!(verified, all_verified(sizes.len() as u64, sizes.iter().sum()), "{mkfs:?}, {mount}");
    }
}

/// The result for files whose bytes were all written and compared.
fn all_verified(files: u64, bytes: u64) -> VerifyReport {
    VerifyReport { files, bytes, ..VerifyReport::default() }
}

#[test]
fn ranges_not_compared_are_counted() {
    let Some(image) = Image::new("ext4", 32, &["-q", "-b", "1024"]) else { return };
    let mut ops: Vec<Op> = creates(1, 1, ROOT, 10_000).collect();
    ops.push(Op::Create { file: FileId(2), parent: ROOT, size: 5000, content: Content::Preallocated });
    ops.push(Op::Create { file: FileId(3), parent: ROOT, size: 3000, content: Content::Hole });
    ops.push(Op::Truncate { file: FileId(1), parent: ROOT, size: 20_000 });
    ops.push(Op::Punch { file: FileId(1), parent: ROOT, offset: 2048, len: 2048 });
    let (_, replay) = replay(&image.root(), &Options { data: Data::Write, ..Options::default() }, &ops);
    assert_eq!(replay.failures(), []);
    let verified = verify(&image.root(), 0).unwrap();
    // The last block of the first file is written completely.
    let (bytes, unwritten, holes) = (10 * 1024 - 2048, 5000, 2048 + 20_000 - 10 * 1024 + 3000);
    let counts = (verified.files, verified.bytes, verified.unwritten, verified.holes);
    assert_eq!(counts, (3, bytes, unwritten, holes), "{verified:?}");
}

#[test]
fn lost_device_is_counted_without_panic() {
    for fs in ["ext4", "xfs"] {
        let Some(image) = Image::new(fs, 320, &["-q"]) else { continue };
        let first: Vec<Op> = creates(0, 10, ROOT, 10_000).collect();
        let (_, mut replay) = replay(&image.root(), &Options { threads: 2, ..Options::default() }, &first);
        shut_down(&image);
        let mut ops: Vec<Op> = creates(100, 10, ROOT, 10_000).collect();
        ops.extend((0..10).map(|file| Op::Delete { file: FileId(file), parent: ROOT }));
        let outcome = replay.run(&mut ops.into_iter(), None, &mut |_| Flow::Continue).unwrap();
        assert_eq!((outcome.operations, outcome.stop_reason), (20, StopReason::EndOfSource));
        assert_eq!(count(&replay, "create", "EIO"), 10, "{fs}: {:?}", replay.failures());
        assert_eq!(count(&replay, "delete", "EIO"), 10, "{fs}: {:?}", replay.failures());
    }
}

/// Shuts the file system down, as if its device were lost.
fn shut_down(image: &Image) {
    const SHUTDOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);
    const DROP_THE_LOG: u32 = 2;
    let root = std::fs::File::open(image.root()).unwrap();
    // SAFETY: the call reads one 32-bit number.
    unsafe { ioctl(&root, Setter::<SHUTDOWN, u32>::new(DROP_THE_LOG)) }.unwrap();
}

#[test]
fn existing_file_is_kept() {
    let root = dir();
    std::fs::write(root.path().join("f1"), "mine").unwrap();
    let (_, replay) = replay(root.path(), &Options::default(), &creates(1, 1, ROOT, 10).collect::<Vec<_>>());
    assert_eq!(count(&replay, "create", "EEXIST"), 1);
    assert_eq!(std::fs::read(root.path().join("f1")).unwrap(), b"mine");
}
