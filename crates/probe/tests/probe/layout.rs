//! Compares layout figures of real files on real file systems with values calculated by hand and with `filefrag`.

use crate::common::{Mounted, run};
use rustix::fs::{FallocateFlags, fallocate};
use senesce_probe::{ExtentFlags, FileExtent, StaticLayout, file_extents, new_file, static_layout};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const BLOCK: u64 = 4096;
const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];

fn on_each(test: impl Fn(&str, &Mounted)) {
    for kind in KINDS {
        if let Some(mounted) = Mounted::new(kind) {
            test(kind, &mounted);
        }
    }
}

fn layout(root: &Path) -> StaticLayout {
    static_layout(root, BLOCK, 128 << 20).unwrap()
}

/// (offset in the file, offset on disk, length) in blocks, of the extents that are not inline.
fn filefrag(path: &Path) -> Vec<(u64, u64, u64)> {
    let text = run("filefrag", &["-v", "-b4096", path.to_str().unwrap()]);
    let extents = text.lines().filter_map(|line| {
        let mut parts = line.split(':').map(str::trim);
        parts.next()?.parse::<u64>().ok()?;
        let first = |range: &str| range.split("..").next()?.trim().parse().ok();
        let extent = (first(parts.next()?)?, first(parts.next()?)?, parts.next()?.parse().ok()?);
        (!line.contains("inline")).then_some(extent)
    });
    extents.collect()
}

/// The layout score block by block, according to its definition.
fn score_of(files: &[Vec<(u64, u64, u64)>]) -> Option<f64> {
    let (mut behind, mut of) = (0, 0);
    for file in files {
        let blocks: Vec<u64> = file.iter().flat_map(|&(_, start, len)| start..start + len).collect();
        behind += blocks.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        of += blocks.len().saturating_sub(1);
    }
    (of > 0).then(|| behind as f64 / of as f64)
}

fn in_blocks(extents: &[FileExtent]) -> Vec<(u64, u64, u64)> {
    let with_blocks = extents.iter().filter(|extent| extent.flags.has_blocks());
    with_blocks.map(|e| (e.logical / BLOCK, e.physical / BLOCK, e.len.div_ceil(BLOCK))).collect()
}

#[test]
fn file_written_at_once_is_one_run() {
    on_each(|kind, mounted| {
        let root = mounted.root();
        std::fs::write(root.join("whole"), vec![7; 1 << 20]).unwrap();
        let layout = layout(&root);
        assert_eq!((layout.files, layout.files_with_blocks, layout.blocks), (1, 1, 256), "{kind}");
        assert_eq!((layout.layout_score, layout.degree_of_fragmentation), (Some(1.0), Some(1.0)), "{kind}");
        assert_eq!(layout.scan_layout_score, Some(1.0), "{kind}");
    });
}

#[test]
fn interleaved_writes_score_as_filefrag() {
    // ext4 preallocates blocks for small files per processor: on another processor a file would continue elsewhere.
    let mut one = rustix::thread::CpuSet::new();
    one.set(rustix::thread::sched_getcpu());
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    on_each(|kind, mounted| {
        let root = mounted.root();
        let paths = [root.join("a"), root.join("b")];
        let files = paths.each_ref().map(|path| File::create(path).unwrap());
        for block in 0..16 {
            for file in &files {
                file.write_all_at(&[3; BLOCK as usize], block * BLOCK).unwrap();
                file.sync_all().unwrap();
            }
        }
        let layout = layout(&root);
        let maps = paths.each_ref().map(|path| filefrag(path));
        assert_eq!(layout.layout_score, score_of(&maps), "{kind}");
        assert_eq!(layout.scan_layout_score, score_of(&[maps.concat()]), "{kind}");
        assert_eq!((layout.layout_score, layout.degree_of_fragmentation), (Some(0.0), Some(16.0)), "{kind}");
    });
}

#[test]
fn interleaved_allocations_are_fragmented() {
    on_each(|kind, mounted| {
        // Of the 15 blocks with a predecessor in a file, the 8 that are second in a pair directly follow it.
        let root = mounted.root();
        let files = ["a", "b"].map(|name| File::create(root.join(name)).unwrap());
        for pair in 0..8 {
            for file in &files {
                fallocate(file, FallocateFlags::empty(), pair * 2 * BLOCK, 2 * BLOCK).unwrap();
                file.sync_all().unwrap();
            }
        }
        let layout = layout(&root);
        assert_eq!(layout.blocks, 32, "{kind}");
        assert_eq!(layout.layout_score, score_of(&["a", "b"].map(|n| filefrag(&root.join(n)))), "{kind}");
        let expected = (Some(8.0 / 15.0), Some(8.0));
        assert_eq!((layout.layout_score, layout.degree_of_fragmentation), expected, "{kind}");
    });
}

#[test]
fn holes_do_not_lower_the_score() {
    on_each(|kind, mounted| {
        let root = mounted.root();
        let mut file = File::create(root.join("sparse")).unwrap();
        // With its full size from the start, so that no file system preallocates blocks behind each write.
        file.set_len(512 * BLOCK).unwrap();
        for start in [0, 64, 256] {
            file.seek(SeekFrom::Start(start * BLOCK)).unwrap();
            file.write_all(&[5; 4 * BLOCK as usize]).unwrap();
        }
        let layout = layout(&root);
        assert_eq!((layout.blocks, layout.extents), (12, 3), "{kind}");
        assert_eq!(layout.degree_of_fragmentation, Some(1.0), "{kind}");
        assert_eq!(layout.layout_score, score_of(&[filefrag(&root.join("sparse"))]), "{kind}");
    });
}

#[test]
fn small_files_have_no_score_and_inline_ones_no_blocks() {
    on_each(|kind, mounted| {
        let root = mounted.root();
        std::fs::write(root.join("block"), [1; BLOCK as usize]).unwrap();
        std::fs::write(root.join("tiny"), "tiny").unwrap();
        std::fs::hard_link(root.join("block"), root.join("same")).unwrap();
        let layout = layout(&root);
        let with_blocks = if kind == "btrfs" { 1 } else { 2 };
        assert_eq!((layout.files, layout.files_with_blocks), (2, with_blocks), "{kind}");
        assert_eq!(layout.layout_score, None, "{kind}");
    });
}

#[test]
fn extents_match_filefrag() {
    on_each(|kind, mounted| {
        let path = mounted.root().join("holes");
        let file = File::create(&path).unwrap();
        file.set_len(2100 * BLOCK).unwrap();
        // More extents than one system call returns here, and unwritten space.
        for block in 0..700 {
            file.write_all_at(&[9; BLOCK as usize], block * 3 * BLOCK).unwrap();
        }
        fallocate(&file, FallocateFlags::empty(), 2100 * BLOCK, 64 * BLOCK).unwrap();
        let extents = file_extents(&file).unwrap();
        assert_eq!(in_blocks(&extents), filefrag(&path), "{kind}");
        assert!(extents.len() > 700, "{kind}");
        let last = extents.last().unwrap();
        assert!(last.flags.any(ExtentFlags::LAST) && last.flags.any(ExtentFlags::UNWRITTEN), "{kind}");
        let layout = layout(path.parent().unwrap());
        assert_eq!((layout.blocks, layout.degree_of_fragmentation), (764, Some(1.0)), "{kind}");
    });
}

#[test]
fn new_file_has_few_fragments_and_is_removed() {
    on_each(|kind, mounted| {
        let root = mounted.root();
        let fresh = new_file(&root, 8 << 20).unwrap();
        assert_eq!((fresh.bytes, std::fs::read_dir(&root).unwrap().count()), (8 << 20, 0), "{kind}");
        assert!(fresh.fragments <= 2 && fresh.write_s > 0.0, "{kind}: {fresh:?}");
    });
}

#[test]
fn file_system_without_extent_maps_is_refused() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::write(dir.path().join("file"), "data").unwrap();
    let error = static_layout(dir.path(), BLOCK, 128 << 20).unwrap_err().to_string();
    assert!(error.contains("FIEMAP") && error.contains("file"), "{error}");
}
