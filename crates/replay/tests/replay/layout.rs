//! The layout of replayed files: `auto` must give the layout of written files, on real file systems in images.

use std::fs::{self, File};
use std::path::Path;

use crate::common::churn::churn;
use crate::common::image::Image;
use crate::common::replay;
use fiemap::each_extent;
use senesce_replay::{Data, Options};
use trace::Op;

/// Extents per file, with adjacent ones counted as one.
fn extents_per_file(root: &Path) -> f64 {
    let (mut files, mut pieces) = (0, 0);
    for dir in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let mut end = 0;
            each_extent(File::open(file).unwrap(), |extent| {
                pieces += u64::from(extent.physical != end);
                end = extent.physical_end();
            })
            .unwrap();
            files += 1;
        }
    }
    pieces as f64 / f64::from(files)
}

/// Extents per file on a new file system after a replay of `trace`; `None` if the file system is unavailable.
fn aged(fs: &str, mebibytes: u64, options: &Options, trace: &[Op]) -> Option<f64> {
    let mkfs: &[&str] = if fs == "ext4" { &["-q", "-b", "4096", "-N", "20000"] } else { &["-q"] };
    let image = Image::new(fs, mebibytes, mkfs)?;
    let (_, replay) = replay(&image.root(), options, trace);
    assert_eq!(replay.failures(), [], "{fs}");
    Some(extents_per_file(&image.root()))
}

/// On a fresh file system nothing fragments a file, whichever way it gets its blocks.
#[test]
fn fresh_file_system_gives_one_extent_per_file() {
    let trace = churn(4, 400, usize::MAX, u64::MAX, |_, below| 4096 + below(60 << 10));
    for (fs, inline_limit_bytes, grouped_limit_bytes) in
        [("ext4", 0, 64 << 10), ("xfs", 0, 0), ("btrfs", 2048, 0)]
    {
        for data in [Data::Write, Data::Auto, Data::Fallocate] {
            let options = Options { data, inline_limit_bytes, grouped_limit_bytes, ..Options::default() };
            let Some(extents) = aged(fs, 320, &options, &trace) else { continue };
            // A few files cross the end of a group that ext4 preallocated for many small files.
            assert!((1.0..1.1).contains(&extents), "{fs}, {data:?}: {extents}");
        }
    }
}

mod soak {
    use super::*;

    /// Creates 192 MiB of files of mostly 1 to 64 KiB, then alternates deletions and creations.
    fn trace() -> Vec<Op> {
        let size = |number: u64, below: &mut dyn FnMut(u64) -> u64| match number % 50 {
            0 => 300_000,
            _ => 1024 + below(63 << 10),
        };
        churn(40, 24_000, usize::MAX, 192 << 20, size)
    }

    /// On a file system of this size, `auto` gives about as many extents per file as writing does.
    fn auto_lays_out_as_written(fs: &str, mebibytes: u64, inline_limit_bytes: u64, grouped_limit_bytes: u64) {
        let aged = |data| {
            let options = Options { data, inline_limit_bytes, grouped_limit_bytes, ..Options::default() };
            aged(fs, mebibytes, &options, &trace())
        };
        let (Some(written), Some(auto)) = (aged(Data::Write), aged(Data::Auto)) else { return };
        println!("{fs}: {written:.2} extents a file if written, {auto:.2} with auto");
        assert!((0.75..1.33).contains(&(auto / written)), "{fs}: {auto} for {written}");
    }

    #[test]
    #[ignore = "soak: statistical, and long"]
    fn auto_gives_files_the_layout_of_written_ones_on_ext4() {
        auto_lays_out_as_written("ext4", 320, 0, 64 << 10);
    }

    #[test]
    #[ignore = "soak: statistical, and long"]
    fn auto_gives_files_the_layout_of_written_ones_on_xfs() {
        auto_lays_out_as_written("xfs", 320, 0, 0);
    }

    /// Btrfs reserves half of a small image for metadata. When it is nearly full, it fragments preallocated files more than written ones.
    #[test]
    #[ignore = "soak: statistical, and long"]
    fn auto_gives_files_the_layout_of_written_ones_on_btrfs() {
        auto_lays_out_as_written("btrfs", 640, 2048, 0);
    }
}
