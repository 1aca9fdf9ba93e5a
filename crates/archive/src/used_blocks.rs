//! Selects the parts of an image to save: the data of its file, without holes and without space that its file system does not use.

use crate::error::Error;
use crate::runs::runs;
use crate::{AtomicFile, BLOCK_BYTES, Result};
use disk::Extent;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io::{Seek as _, SeekFrom as From};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// An image or a device, and the parts of it to save. All other parts read as zeros.
#[derive(Debug)]
pub struct UsedBlocks<'p> {
    path: &'p Path,
    file: File,
    size_bytes: u64,
    /// Ascending and not overlapping.
    parts: Vec<Range<u64>>,
    unused_bytes: u64,
}

impl<'p> UsedBlocks<'p> {
    /// Selects everything in the image or device at `path` except holes and the whole blocks in the extents `unused`.
    pub fn of(path: &'p Path, unused: &[Extent]) -> Result<UsedBlocks<'p>> {
        let mut file = input::open_disk(path).map_err(Error::io("opening", path))?;
        let size_bytes = file.seek(From::End(0)).map_err(Error::io("reading the size of", path))?;
        let data = data(&file, size_bytes).map_err(Error::io("looking for holes in", path))?;
        let unused = whole_blocks(unused, size_bytes);
        let unused_bytes = unused.iter().map(|range| range.end - range.start).sum();
        Ok(UsedBlocks { path, file, size_bytes, parts: without(&data, &unused), unused_bytes })
    }

    /// Size of the image in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes that the file system does not use.
    pub fn unused_bytes(&self) -> u64 {
        self.unused_bytes
    }

    /// The path of the image.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// Bytes of the selected parts, including zeros.
    pub fn used_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }

    /// Copies the selected parts to the sparse file `out`. The caller finishes the file.
    pub fn copy(&self, out: &mut AtomicFile) -> Result<()> {
        let path = out.path().to_owned();
        let to = out.file();
        to.set_len(self.size_bytes).map_err(Error::io("copying to", &path))?;
        let mut bytes = Vec::new();
        for number in self.chunk_numbers(COPY_BYTES) {
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
            let start = number * COPY_BYTES;
            bytes.resize(COPY_BYTES.min(self.size_bytes - start) as usize, 0);
            self.read(start, &mut bytes)?;
            for run in runs(&bytes) {
                let at = start + run.start as u64;
                to.write_all_at(&bytes[run], at).map_err(Error::io("copying to", &path))?;
            }
        }
        Ok(())
    }

    /// The numbers of the chunks of `len` bytes that overlap the selected parts, ascending.
    pub(crate) fn chunk_numbers(&self, len: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> =
            self.parts.iter().flat_map(|part| part.start / len..=(part.end - 1) / len).collect();
        numbers.dedup();
        numbers
    }

    /// Reads the bytes from offset `start` on, with zeros outside the selected parts.
    pub fn read(&self, start: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(0);
        let end = start + bytes.len() as u64;
        let first = self.parts.partition_point(|part| part.end <= start);
        for part in self.parts[first..].iter().take_while(|part| part.start < end) {
            let (from, to) = (part.start.max(start), part.end.min(end));
            let place = &mut bytes[(from - start) as usize..(to - start) as usize];
            self.file.read_exact_at(place, from).map_err(Error::io("reading", self.path))?;
        }
        Ok(())
    }
}

/// The parts of a file that are not holes; of a device, all of it.
fn data(file: &File, size_bytes: u64) -> rustix::io::Result<Vec<Range<u64>>> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < size_bytes {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL) if at == 0 => return Ok(std::iter::once(0..size_bytes).collect()),
            start => start?,
        };
        at = rustix::fs::seek(file, SeekFrom::Hole(start))?.min(size_bytes);
        if start < at {
            parts.push(start..at);
        }
    }
    Ok(parts)
}

/// The whole blocks in `extents`, which may be in any order. The result is ascending and merged.
fn whole_blocks(extents: &[Extent], size_bytes: u64) -> Vec<Range<u64>> {
    let block = BLOCK_BYTES as u64;
    let whole = |extent: &Extent| {
        let start = extent.start_bytes.checked_next_multiple_of(block)?;
        let end = extent.end_bytes().min(size_bytes) / block * block;
        (start < end).then_some(start..end)
    };
    let mut ranges: Vec<_> = extents.iter().filter_map(whole).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut apart: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// The parts of `ranges` outside `others`; both are ascending and do not overlap.
fn without(ranges: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut first = 0;
    for range in ranges {
        let mut at = range.start;
        while others.get(first).is_some_and(|other| other.end <= at) {
            first += 1;
        }
        for other in others[first..].iter().take_while(|other| other.start < range.end) {
            if at < other.start {
                left.push(at..other.start);
            }
            at = at.max(other.end);
        }
        if at < range.end {
            left.push(at..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_whole_blocks_are_unused() {
        let extent = |start_bytes, len_bytes| Extent { start_bytes, len_bytes };
        let ranges = whole_blocks(&[extent(8192, 8192), extent(1, 8191), extent(100, 200)], 12288);
        assert_eq!(ranges, [Range { start: 4096, end: 12288 }]);
        assert_eq!(whole_blocks(&[extent(u64::MAX - 5, 5)], u64::MAX), []);
    }

    /// Ascending ranges with gaps between them.
    fn apart() -> impl Strategy<Value = Vec<Range<u64>>> {
        prop::collection::vec((1u64..20, 1u64..20), 0..20).prop_map(|steps| {
            let mut at = 0;
            let range = |(gap, len)| {
                let start = at + gap;
                at = start + len;
                start..at
            };
            steps.into_iter().map(range).collect()
        })
    }

    proptest! {
        #[test]
        fn without_removes_exactly_the_other_ranges(ranges in apart(), others in apart()) {
            let left = without(&ranges, &others);
            let has = |of: &[Range<u64>], at| of.iter().any(|range| range.contains(&at));
            for at in 0..850 {
                prop_assert_eq!(has(&left, at), has(&ranges, at) && !has(&others, at), "{}", at);
            }
            prop_assert!(left.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
