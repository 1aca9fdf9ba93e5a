//! The benchmarks of Smith and Seltzer 1997 in the laboratory, with times from a disk model.

mod hot_files;
mod sequential;

pub use hot_files::{HOT_DAYS, HotFiles, hot_files};
pub use sequential::{FILE_SIZES, MeanStdDev, SequentialPoint, sequential};

use crate::allocator::Allocator;
use crate::cost::Cost;
use crate::layout::Layout;
use crate::volume::Volume;
use disk::model::Model;

/// Seconds per GiB to read all files cold, directory by directory and by file number within each; none without data.
pub fn scan_s_per_gib<A: Allocator>(volume: &Volume<A>, model: &Model) -> Option<f64> {
    let files = in_order(volume, |_| true);
    read_bytes_per_s(volume, model, &files).map(|speed| (1u64 << 30) as f64 / speed)
}

/// The layouts of the wanted files, directory by directory and by file number within each.
fn in_order<A: Allocator>(volume: &Volume<A>, wanted: impl Fn(u16) -> bool) -> Vec<Layout> {
    let mut files = Vec::new();
    volume.each_file(|file| {
        if wanted(file.day) {
            files.push(((file.directory, file.file), file.layout.clone()));
        }
    });
    files.sort_unstable_by_key(|&(key, _)| key);
    files.into_iter().map(|(_, layout)| layout).collect()
}

/// Bytes per second of reading the files one after another; none if they have no data or take no time.
fn read_bytes_per_s<A: Allocator>(volume: &Volume<A>, model: &Model, files: &[Layout]) -> Option<f64> {
    let mut cost = Cost::new(volume.allocator(), model);
    files.iter().for_each(|file| cost.read(file));
    speed(files, cost.finish())
}

fn speed(files: &[Layout], seconds: f64) -> Option<f64> {
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}
