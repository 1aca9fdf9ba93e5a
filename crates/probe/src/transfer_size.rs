//! Measures how the bandwidth of a disk depends on the read size, which is the cost of scattered data (DESIGN §3; Conway
//! et al. 2017, Figure 1, random reads of each size).

use crate::{Error, Result};
use disk::modelled::ModelledDisk;
use disk::{Request, SECTOR_BYTES};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Direct I/O needs addresses, sizes and offsets in multiples of the disk's block size; no disk has larger blocks.
const ALIGN_BYTES: u64 = 4096;

/// The parameters of the measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferPlan {
    /// The read sizes, multiples of 4 KiB; sizes larger than the disk are skipped.
    pub sizes_bytes: Vec<u64>,
    /// The seed of the offsets.
    pub seed: u64,
    /// Maximum reads per size; no offset is read twice at one size.
    pub reads: u64,
    /// Time after which no further read of a size starts.
    pub time: Duration,
}

impl TransferPlan {
    /// 4 KiB to 64 MiB in powers of two, each at most 1,000 times and for 2 s.
    pub fn standard(seed: u64) -> TransferPlan {
        let sizes_bytes = (12..=26).map(|power| 1 << power).collect();
        TransferPlan { sizes_bytes, seed, reads: 1000, time: Duration::from_secs(2) }
    }
}

/// The bandwidth of a disk at each read size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TransferSize {
    /// Size of the disk: the seek distance grows with it.
    pub disk_bytes: u64,
    /// For an image, the bytes outside holes: reading a hole reaches no disk.
    pub allocated_bytes: Option<u64>,
    /// The seed of the offsets.
    pub seed: u64,
    /// One point per size, in the order of the plan.
    pub points: Vec<TransferPoint>,
    /// The best bandwidth of all sizes.
    pub best_bytes_per_s: Option<f64>,
    /// The smallest read size that reaches 50 % of the best bandwidth: the natural transfer size.
    pub natural_50_bytes: Option<u64>,
    /// The smallest read size that reaches 90 %.
    pub natural_90_bytes: Option<u64>,
}

/// The bandwidth at one read size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TransferPoint {
    /// Size of each read.
    pub read_bytes: u64,
    /// Number of reads.
    pub reads: u64,
    /// Total seconds of the reads, which are sequential.
    pub elapsed_s: f64,
    /// Bytes per second; `None` if the clock did not advance.
    pub bytes_per_s: Option<f64>,
}

/// Returns the current time, after the read that just completed, if any: wall time, the clock of a modelled disk, or a
/// model that receives each read.
pub type Clock<'a> = dyn FnMut(Option<&Request>) -> Duration + 'a;

/// Measures a modelled disk, which is attached, with its own clock.
pub fn transfer_size_of_modelled(
    disk: &ModelledDisk,
    plan: &TransferPlan,
    seen: &mut dyn FnMut(&TransferPoint),
) -> Result<TransferSize> {
    let mut lost = None;
    let mut clock = |_: Option<&Request>| {
        let now = disk.clock_ns().map_err(|error| lost = Some(error));
        Duration::from_nanos(now.unwrap_or(0))
    };
    let measured = transfer_size(disk.file(), plan, &mut clock, seen);
    lost.map_or(Ok(()), Err)?;
    measured
}

/// Measures the disk at `path`, a block device or an image, with direct I/O, and never writes. `clock`
/// returns the current time. `seen` receives each point as soon as it is measured.
pub fn transfer_size(
    path: &Path,
    plan: &TransferPlan,
    clock: &mut Clock,
    seen: &mut dyn FnMut(&TransferPoint),
) -> Result<TransferSize> {
    let what = || format!("measuring the bandwidth of {}", path.display());
    if let Some(size) = plan.sizes_bytes.iter().find(|size| **size == 0 || !size.is_multiple_of(ALIGN_BYTES))
    {
        return Err(Error::cannot(
            what(),
            format!("{size} bytes is not a valid read size; use multiples of 4 KiB"),
        ));
    }
    let (disk, disk_bytes, allocated_bytes) = open(path)?;
    let sizes: Vec<u64> = plan.sizes_bytes.iter().copied().filter(|size| *size <= disk_bytes).collect();
    let Some(largest) = sizes.iter().max() else {
        return Err(Error::cannot(what(), "it is smaller than all read sizes; use smaller sizes"));
    };
    // The buffer part for reads starts at the first address that direct I/O accepts.
    let mut buffer = vec![0; (largest + ALIGN_BYTES) as usize];
    let first = buffer.as_ptr().align_offset(ALIGN_BYTES as usize);
    let mut points = Vec::with_capacity(sizes.len());
    for read_bytes in sizes {
        let into = &mut buffer[first..][..read_bytes as usize];
        let start = clock(None);
        let mut elapsed = Duration::ZERO;
        let mut reads = 0;
        for place in places(plan.seed, read_bytes, disk_bytes / read_bytes, plan.reads) {
            if disk::interrupted() {
                return Err(Error::cannot(what(), "interrupted"));
            }
            let first_byte = place * read_bytes;
            disk.read_exact_at(into, first_byte).map_err(Error::io("reading", path))?;
            reads += 1;
            let read = Request::read(first_byte / SECTOR_BYTES, (read_bytes / SECTOR_BYTES) as u32);
            elapsed = clock(Some(&read)).saturating_sub(start);
            if elapsed >= plan.time {
                break;
            }
        }
        let elapsed_s = elapsed.as_secs_f64();
        let bytes_per_s = (elapsed_s > 0.0).then(|| (reads * read_bytes) as f64 / elapsed_s);
        let point = TransferPoint { read_bytes, reads, elapsed_s, bytes_per_s };
        seen(&point);
        points.push(point);
    }
    Ok(TransferSize {
        disk_bytes,
        allocated_bytes,
        seed: plan.seed,
        best_bytes_per_s: best(&points),
        natural_50_bytes: natural_bytes(&points, 0.5),
        natural_90_bytes: natural_bytes(&points, 0.9),
        points,
    })
}

/// The best bandwidth of all points.
fn best(points: &[TransferPoint]) -> Option<f64> {
    points.iter().filter_map(|point| point.bytes_per_s).max_by(f64::total_cmp)
}

/// The smallest read size that reaches `share` of the best bandwidth.
fn natural_bytes(points: &[TransferPoint], share: f64) -> Option<u64> {
    let enough = share * best(points)?;
    let reaching = points.iter().filter(|point| point.bytes_per_s.is_some_and(|rate| rate >= enough));
    reaching.map(|point| point.read_bytes).min()
}

/// Opens a disk for direct reads; returns its size and, for a file, the bytes outside holes.
fn open(path: &Path) -> Result<(File, u64, Option<u64>)> {
    let what = || format!("reading {} with direct I/O", path.display());
    let metadata = std::fs::metadata(path).map_err(Error::io("checking", path))?;
    let file_type = FileType::from_raw_mode(metadata.mode());
    if !matches!(file_type, FileType::RegularFile | FileType::BlockDevice) {
        return Err(Error::cannot(what(), "it is not a block device or image; name one"));
    }
    let mut options = File::options();
    let opened = options.read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path);
    let mut disk = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::INVAL) => {
            let why =
                "its file system does not support direct I/O, and cached reads would measure memory; use \
                 another file system";
            Error::cannot(what(), why)
        }
        _ => Error::io("opening", path)(error),
    })?;
    let disk_bytes = disk.seek(SeekFrom::End(0)).map_err(Error::io("reading the size of", path))?;
    let allocated_bytes =
        (file_type == FileType::RegularFile).then(|| disk_bytes.min(metadata.blocks() * 512));
    Ok((disk, disk_bytes, allocated_bytes))
}

/// At most `reads` distinct numbers below `slots`, in a random order determined by the seed. Each read size has
/// its own order, so that no size repeats the offsets of the previous one.
fn places(seed: u64, read_bytes: u64, slots: u64, reads: u64) -> impl Iterator<Item = u64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(read_bytes);
    let mut used = HashSet::new();
    // The bias of the multiplication (Lemire 2019) is at most `slots` in 2⁶⁴.
    let mut draw = move || ((u128::from(random.next_u64()) * u128::from(slots)) >> 64) as u64;
    (0..reads.min(slots)).map(move |_| {
        loop {
            let place = draw();
            if used.insert(place) {
                return place;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(read_bytes: u64, bytes_per_s: f64) -> TransferPoint {
        TransferPoint { read_bytes, reads: 1, elapsed_s: 1.0, bytes_per_s: Some(bytes_per_s) }
    }

    #[test]
    fn natural_size_is_smallest_that_reaches_the_share() {
        let points = [point(4096, 1.0), point(8192, 49.0), point(16384, 50.0), point(32768, 89.9)];
        let more = [point(65536, 90.0), point(131_072, 100.0), point(262_144, 99.0)];
        let points = [&points[..], &more].concat();
        assert_eq!((natural_bytes(&points, 0.5), natural_bytes(&points, 0.9)), (Some(16384), Some(65536)));
        let timeless = TransferPoint { elapsed_s: 0.0, bytes_per_s: None, ..point(4096, 0.0) };
        assert_eq!(natural_bytes(&[timeless], 0.5), None);
        assert_eq!(natural_bytes(&[timeless, point(8192, 3.0)], 0.9), Some(8192));
    }

    /// An image without holes.
    fn image(bytes: usize) -> tempfile::NamedTempFile {
        let mut image = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::io::Write::write_all(&mut image, &vec![7; bytes]).unwrap();
        image
    }

    /// A clock that advances by 1 ms per call; it is called once before the reads of a size and once after each.
    fn one_ms_per_read() -> impl FnMut(Option<&Request>) -> Duration {
        let mut asked = 0;
        move |_| {
            asked += 1;
            Duration::from_millis(asked)
        }
    }

    #[test]
    fn bandwidth_is_bytes_over_clock_time() {
        let image = image((1 << 20) + 4096);
        let before = std::fs::metadata(image.path()).unwrap().modified().unwrap();
        let mut plan = TransferPlan { reads: 20, ..TransferPlan::standard(1) };
        let mut seen = Vec::new();
        let mut see = |point: &TransferPoint| seen.push(*point);
        let measured = transfer_size(image.path(), &plan, &mut one_ms_per_read(), &mut see).unwrap();
        assert_eq!(seen, measured.points);
        // From 4 KiB to 1 MiB, which fits once; 128 KiB fits 8 times.
        let reads: Vec<_> = measured.points.iter().map(|p| (p.read_bytes >> 10, p.reads)).collect();
        let expected =
            [(4, 20), (8, 20), (16, 20), (32, 20), (64, 16), (128, 8), (256, 4), (512, 2), (1024, 1)];
        assert_eq!(reads, expected);
        assert!(measured.points.iter().all(|p| p.bytes_per_s == Some(p.read_bytes as f64 * 1000.0)));
        assert_eq!((measured.natural_50_bytes, measured.natural_90_bytes), (Some(512 << 10), Some(1 << 20)));
        assert_eq!(
            (measured.disk_bytes, measured.allocated_bytes),
            ((1 << 20) + 4096, Some((1 << 20) + 4096))
        );
        assert_eq!(std::fs::metadata(image.path()).unwrap().modified().unwrap(), before);

        plan.time = Duration::from_millis(3);
        let short = transfer_size(image.path(), &plan, &mut one_ms_per_read(), &mut |_| ()).unwrap();
        assert!(short.points.iter().all(|p| p.reads <= 3) && short.points[0].reads == 3);
        let still = transfer_size(image.path(), &plan, &mut |_| Duration::ZERO, &mut |_| ()).unwrap();
        assert_eq!((still.best_bytes_per_s, still.natural_50_bytes), (None, None));
    }

    #[test]
    fn invalid_disk_or_size_is_reported() {
        let image = image(8192);
        let refusal = |path: &Path, sizes: &[u64]| {
            let plan = TransferPlan { sizes_bytes: sizes.to_vec(), ..TransferPlan::standard(1) };
            transfer_size(path, &plan, &mut |_| Duration::ZERO, &mut |_| ()).unwrap_err().to_string()
        };
        assert!(refusal(image.path(), &[4096, 5000]).contains("5000 bytes is not a valid read size"));
        assert!(refusal(image.path(), &[16384]).contains("smaller than all read sizes"));
        assert!(refusal(Path::new("/dev"), &[4096]).contains("not a block device or image"));
        assert!(refusal(Path::new("/dev/null"), &[4096]).contains("not a block device or image"));
        assert!(refusal(Path::new("/nonexistent/disk"), &[4096]).contains("/nonexistent/disk"));
    }

    #[test]
    fn offsets_of_a_seed_are_stable() {
        let places = |read_bytes| places(42, read_bytes, 1000, 5).collect::<Vec<_>>();
        assert_eq!((places(4096), places(8192)), (vec![291, 298, 3, 236, 942], vec![375, 536, 211, 784, 14]));
    }

    proptest! {
        #[test]
        fn offsets_are_distinct(seed: u64, slots in 1u64..2000, reads in 0u64..2000) {
            let places: Vec<u64> = places(seed, 4096, slots, reads).collect();
            prop_assert_eq!(places.len() as u64, reads.min(slots));
            prop_assert!(places.iter().all(|place| *place < slots));
            prop_assert_eq!(places.iter().collect::<HashSet<_>>().len(), places.len());
        }
    }
}
