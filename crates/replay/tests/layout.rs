//! Where files come to lie: `auto` must not show in the layout, on real file systems in images.

mod common;

use std::fs::{self, File};
use std::path::Path;

use common::churn::churn;
use common::fiemap::extents;
use common::image::Image;
use common::replay;
use senesce_replay::{Data, Options};
use trace::Op;

/// Makes 192 MiB of files of mostly 1 to 64 KiB, then deletes and creates in turn.
fn trace() -> Vec<Op> {
    let size = |number: u64, below: &mut dyn FnMut(u64) -> u64| match number % 50 {
        0 => 300_000,
        _ => 1024 + below(63 << 10),
    };
    churn(40, 24_000, usize::MAX, 192 << 20, size)
}

/// Extents a file, counting those that lie behind each other as one.
fn extents_per_file(root: &Path) -> f64 {
    let (mut files, mut pieces) = (0, 0);
    for dir in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let mut end = 0;
            extents(File::open(file).unwrap(), |extent| {
                pieces += u64::from(extent.physical != end);
                end = extent.physical + extent.length;
                Ok(())
            })
            .unwrap();
            files += 1;
        }
    }
    pieces as f64 / f64::from(files)
}

/// On a file system of that size, `auto` gives about as many extents a file as writing does.
fn auto_lays_out_as_written(fs: &str, mebibytes: u64, inline_limit_bytes: u64, grouped_limit_bytes: u64) {
    let aged = |data| {
        let options: &[&str] = if fs == "ext4" { &["-q", "-b", "4096", "-N", "20000"] } else { &["-q"] };
        let image = Image::new(fs, mebibytes, options)?;
        let options = Options { data, inline_limit_bytes, grouped_limit_bytes, ..Options::default() };
        let (_, replay) = replay(&image.root(), &options, &trace());
        assert_eq!(replay.errors(), [], "{fs}");
        Ok::<f64, String>(extents_per_file(&image.root()))
    };
    let both = aged(Data::Write).and_then(|written| Ok((written, aged(Data::Auto)?)));
    match both {
        Ok((written, auto)) => {
            println!("{fs}: {written:.2} extents a file if written, {auto:.2} with auto");
            assert!((0.75..1.33).contains(&(auto / written)), "{fs}: {auto} for {written}");
        }
        Err(why) => eprintln!("skipped: {why}"),
    }
}

#[test]
fn auto_gives_files_the_layout_of_written_ones_on_ext4() {
    auto_lays_out_as_written("ext4", 320, 0, 64 << 10);
}

#[test]
fn auto_gives_files_the_layout_of_written_ones_on_xfs() {
    auto_lays_out_as_written("xfs", 320, 0, 0);
}

/// Btrfs keeps half of a small image for metadata. Nearly full, it breaks preallocated files more than written ones.
#[test]
fn auto_gives_files_the_layout_of_written_ones_on_btrfs() {
    auto_lays_out_as_written("btrfs", 640, 2048, 0);
}
