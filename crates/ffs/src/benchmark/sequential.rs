//! Sequential throughput (Smith and Seltzer 1997, section 4): 32 MB in files of one size, 25 per directory, are created and then read
//! cold, in units of 4 MB.

use super::{read_bytes_per_s, speed};
use crate::Error;
use crate::allocator::Allocator;
use crate::cost::Cost;
use crate::layout::Layout;
use crate::measure::LayoutScore;
use crate::volume::Volume;
use disk::model::Model;
use rayon::prelude::*;
use serde::Serialize;
use trace::{Content, DirId, FileId, Op, ROOT};

/// File sizes in bytes: 16 KB to 16 MB, and 104 KB, which is one block more than an inode's direct blocks.
pub const FILE_SIZES: [u64; 15] = {
    const KB: u64 = 1024;
    [
        16 * KB,
        24 * KB,
        32 * KB,
        48 * KB,
        64 * KB,
        96 * KB,
        104 * KB,
        128 * KB,
        256 * KB,
        512 * KB,
        1024 * KB,
        2048 * KB,
        4096 * KB,
        8192 * KB,
        16384 * KB,
    ]
};
/// Total bytes of the files of one size.
const ALL_BYTES: u64 = 32 << 20;
const FILES_A_DIRECTORY: u64 = 25;

/// Mean and standard deviation over placements.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeanStdDev {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for one sample.
    pub standard_deviation: f64,
}

impl MeanStdDev {
    fn of(samples: &[f64]) -> Option<MeanStdDev> {
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
        let standard_deviation = libm::sqrt(squares / (count - 1.0).max(1.0));
        (!samples.is_empty()).then_some(MeanStdDev { mean, standard_deviation })
    }
}

/// The throughput with files of one size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SequentialPoint {
    /// Size of a file in bytes.
    pub file_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Create throughput; none if it takes no time.
    pub create_bytes_per_s: Option<MeanStdDev>,
    /// Read throughput.
    pub read_bytes_per_s: Option<MeanStdDev>,
    /// Layout score of all files.
    pub layout_score: Option<f64>,
}

/// Runs the benchmark for each size on copies of the file system, `placements` times: each time one more directory is created first, so that
/// the others are in other groups. Fails if the files of a size do not fit.
pub fn sequential<A: Allocator>(
    volume: &Volume<A>,
    model: &Model,
    sizes: &[u64],
    placements: u32,
) -> Result<Vec<SequentialPoint>, Error> {
    // A copy for each thread: allocators remember where they last looked, so that threads can't share one.
    let point = |volume: &mut Volume<A>, &file_bytes: &u64| point(volume, model, file_bytes, placements);
    let points: Vec<_> = sizes.par_iter().map_with(volume.clone(), point).collect();
    points.into_iter().collect()
}

fn point<A: Allocator>(
    volume: &Volume<A>,
    model: &Model,
    file_bytes: u64,
    placements: u32,
) -> Result<SequentialPoint, Error> {
    let files = ALL_BYTES / file_bytes;
    let (mut created, mut read, mut score) = (Vec::new(), Vec::new(), LayoutScore::default());
    for placement in 0..placements {
        let Prepared { image, files } = make(volume, file_bytes, files, placement)?;
        let mut cost = Cost::new(image.allocator(), model);
        files.iter().for_each(|(file, directory)| cost.create(file, directory));
        cost.flush();
        let layouts: Vec<Layout> = files.into_iter().map(|(file, _)| file).collect();
        created.extend(speed(&layouts, cost.finish()));
        read.extend(read_bytes_per_s(&image, model, &layouts));
        for file in &layouts {
            score.add(LayoutScore::of(&file.extents, image.allocator().block_units()));
        }
    }
    Ok(SequentialPoint {
        file_bytes,
        files,
        create_bytes_per_s: MeanStdDev::of(&created),
        read_bytes_per_s: MeanStdDev::of(&read),
        layout_score: score.value(),
    })
}

/// A copy with the benchmark files, and the layouts of each file and its directory.
struct Prepared<A> {
    image: Volume<A>,
    files: Vec<(Layout, Layout)>,
}

/// Creates the files on a copy.
fn make<A: Allocator>(
    volume: &Volume<A>,
    file_bytes: u64,
    files: u64,
    placement: u32,
) -> Result<Prepared<A>, Error> {
    let mut image = volume.clone();
    // Numbers from the opposite end of the range that traces use.
    let directory = |number: u64| DirId(u32::MAX - number as u32);
    let first = u64::from(placement);
    for number in 0..first + files.div_ceil(FILES_A_DIRECTORY) {
        image.apply(&Op::Mkdir { dir: directory(number), parent: ROOT })?;
    }
    let place = |file: u64| (FileId(u64::MAX - file), directory(first + file / FILES_A_DIRECTORY));
    for file in 0..files {
        let (file, parent) = place(file);
        image.apply(&Op::Create { file, parent, size: file_bytes, content: Content::Written })?;
    }
    for file in 0..files {
        let (file, parent) = place(file);
        image.apply(&Op::Fsync { file, parent })?;
    }
    if image.counts().no_space > volume.counts().no_space {
        return Err(Error::BenchmarkSpace { all_bytes: ALL_BYTES, file_bytes });
    }
    let found = |file: u64| {
        let (file, parent) = place(file);
        Some((image.layout_of(file)?, image.layout_of_directory(parent)?))
    };
    let files = (0..files).map_while(found).collect();
    Ok(Prepared { image, files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimulatedFs;

    #[test]
    fn sizes_include_all_published_ones() {
        assert!(FILE_SIZES.is_sorted());
        assert!((14..=24).all(|power| FILE_SIZES.contains(&(1 << power))), "16 KB to 16 MB");
        assert!(FILE_SIZES.contains(&(104 << 10)));
    }

    #[test]
    fn benchmark_without_space_is_an_error() {
        let mut small = SimulatedFs::Fast.create("baseline", 48 << 20).unwrap();
        let model = Model::find("hdd-1994").unwrap();
        small.sequential(&model, &[64 << 10], 2).unwrap();
        let file = FileId(1);
        small.apply(&Op::Create { file, parent: ROOT, size: 16 << 20, content: Content::Written }).unwrap();
        let refusal = small.sequential(&model, &[64 << 10], 2).unwrap_err().to_string();
        assert!(refusal.contains("files of 65536 bytes do not fit"), "{refusal}");
    }
}
