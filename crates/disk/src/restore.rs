//! Restores a disk from a saved image: either the ranges written according to a request log (as published for aged images, Kadekodi,
//! Nagarajan and Gibson, CMU-PDL-17-106), or all blocks that differ.

use crate::cache::drop_device_cache;
use crate::checksum::Digesting;
use crate::error::{Error, IoContext};
use crate::image::read_data;
use crate::{Request, RequestKind, SECTOR_BYTES};
use digest::Digest;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Bytes copied at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Saves the contents of a device as a new sparse image and returns its checksum. On failure no image is left.
pub fn save_image(device: &Path, image: &Path) -> Result<Digest, Error> {
    let saved = save(device, image);
    if saved.is_err() {
        let _ = std::fs::remove_file(image);
    }
    saved
}

fn save(device: &Path, image: &Path) -> Result<Digest, Error> {
    drop_device_cache(device)?;
    let mut from = input::open_disk(device).context("opening the device", device)?;
    let size = from.seek(SeekFrom::End(0)).context("reading the size of", device)?;
    let to = File::create(image).context("creating the image", image)?;
    to.set_len(size).context("sizing the image", image)?;
    let mut digesting = Digesting::default();
    let copied = read_data(&from, size, |at, data| {
        digesting.add(at, data)?;
        if data.iter().all(|byte| *byte == 0) { Ok(()) } else { to.write_all_at(data, at) }
    });
    copied.and_then(|()| to.sync_all()).context("saving the contents of", device)?;
    Ok(digesting.finish(size))
}

/// The byte ranges of a disk changed by requests: sorted, and not adjacent to each other.
pub fn written_ranges(requests: &[Request]) -> Vec<Range<u64>> {
    let changes = |request: &&Request| matches!(request.kind, RequestKind::Write | RequestKind::Discard);
    let range = |request: &Request| request.sector * SECTOR_BYTES..request.end_sector() * SECTOR_BYTES;
    let mut ranges: Vec<Range<u64>> = requests.iter().filter(changes).map(range).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    ranges
}

/// Copies these ranges of the image to the device, on which nothing may be mounted. Returns the number of bytes written.
pub fn restore_ranges(image: &Path, device: &Path, ranges: &[Range<u64>]) -> Result<u64, Error> {
    let pair = ImageAndDevice::open(image, device)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut restored = 0;
    for range in ranges {
        let end = range.end.min(pair.size);
        let mut at = range.start;
        while at < end {
            let piece = &mut piece[..PIECE_BYTES.min((end - at) as usize)];
            pair.image.read_exact_at(piece, at).context("reading the image", image)?;
            pair.device.write_all_at(piece, at).context("restoring", device)?;
            at += piece.len() as u64;
            restored += piece.len() as u64;
        }
    }
    pair.finish(device)?;
    Ok(restored)
}

/// Copies the blocks of the image that differ to the device, on which nothing may be mounted. Returns the number of bytes written.
pub fn restore_all(image: &Path, device: &Path) -> Result<u64, Error> {
    let pair = ImageAndDevice::open(image, device)?;
    let (mut old, mut now) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let (mut at, mut restored) = (0, 0);
    while at < pair.size {
        let len = PIECE_BYTES.min((pair.size - at) as usize);
        pair.image.read_exact_at(&mut old[..len], at).context("reading the image", image)?;
        pair.device.read_exact_at(&mut now[..len], at).context("reading", device)?;
        for (block, (old, now)) in old[..len].chunks(4096).zip(now[..len].chunks(4096)).enumerate() {
            if old != now {
                pair.device.write_all_at(old, at + 4096 * block as u64).context("restoring", device)?;
                restored += old.len() as u64;
            }
        }
        at += len as u64;
    }
    pair.finish(device)?;
    Ok(restored)
}

struct ImageAndDevice {
    image: File,
    device: File,
    size: u64,
}

impl ImageAndDevice {
    fn open(image: &Path, device: &Path) -> Result<ImageAndDevice, Error> {
        // The kernel's cache of the device may be older than data written past it.
        drop_cache(device)?;
        let mut from = input::open(image).context("opening the image", image)?;
        let mut to = File::options().read(true).write(true).open(device).context("opening", device)?;
        let size = from.seek(SeekFrom::End(0)).context("reading the size of", image)?;
        let found = to.seek(SeekFrom::End(0)).context("reading the size of", device)?;
        if size != found {
            let why = format!("it has {found} bytes, but its image {} has {size}", image.display());
            return Err(Error::Device { device: device.to_owned(), why });
        }
        Ok(ImageAndDevice { image: from, device: to, size })
    }

    fn finish(&self, device: &Path) -> Result<(), Error> {
        self.device.sync_all().context("writing back", device)?;
        drop_cache(device)
    }
}

/// Drops the kernel's cache of a device. A regular file, as used by tests, needs no drop, because all readers share its cache.
fn drop_cache(device: &Path) -> Result<(), Error> {
    let is_file = std::fs::metadata(device).context("checking", device)?.is_file();
    if is_file { Ok(()) } else { drop_device_cache(device) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(sector: u64, sectors: u32) -> Request {
        Request { kind: RequestKind::Write, ..Request::read(sector, sectors) }
    }

    #[test]
    fn written_ranges_are_merged_and_exclude_reads() {
        let discard = Request { kind: RequestKind::Discard, ..Request::read(100, 8) };
        let log = [write(8, 8), Request::read(50, 8), write(0, 8), write(12, 2), discard, write(17, 1)];
        assert_eq!(written_ranges(&log), [0..8192, 8704..9216, 51_200..55_296]);
        assert_eq!(written_ranges(&[]), []);
    }

    proptest! {
        /// Either the log of all writes or a full comparison restores the disk.
        #[test]
        fn disk_is_restored(
            writes in prop::collection::vec((0_u64..5000, 1_u32..300, any::<u8>()), 0..12), logged: bool,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let [image, disk] = ["image", "disk"].map(|name| dir.path().join(name));
            let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
            std::fs::write(&image, &bytes).unwrap();
            std::fs::write(&disk, &bytes).unwrap();
            let file = File::options().write(true).open(&disk).unwrap();
            let mut log = Vec::new();
            for (sector, sectors, byte) in writes {
                file.write_all_at(&vec![byte; sectors as usize * 512], sector * 512).unwrap();
                log.push(write(sector, sectors));
            }
            let ranges = written_ranges(&log);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            let restored = match logged {
                true => restore_ranges(&image, &disk, &ranges).unwrap(),
                false => restore_all(&image, &disk).unwrap(),
            };
            prop_assert!(!logged || restored == ranges.iter().map(|range| range.end - range.start).sum::<u64>());
            prop_assert!(std::fs::read(&disk).unwrap() == bytes);
        }
    }

    #[test]
    fn image_of_another_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let [image, disk] = ["image", "disk"].map(|name| dir.path().join(name));
        std::fs::write(&image, [1; 4096]).unwrap();
        std::fs::write(&disk, [0; 8192]).unwrap();
        let error = restore_all(&image, &disk).unwrap_err().to_string();
        assert!(error.contains("it has 8192 bytes"), "{error}");
        assert_eq!(std::fs::read(&disk).unwrap(), [0; 8192]);
    }
}
