//! Reads back and compares the data written by a replay or a fill.

use std::path::Path;

use fiemap::{ExtentFlags, each_extent};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, fstat, fstatfs, openat};
use rustix::io::{self, Errno, pread, retry_on_intr};
use trace::FileId;

use crate::judge::first_mismatch;
use crate::walk;
use crate::{Result, contents};

/// The result of [`verify()`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VerifyReport {
    /// Number of files examined.
    pub files: u64,
    /// Bytes read and compared.
    pub bytes: u64,
    /// Bytes in files that were not compared, because their blocks are preallocated.
    pub unwritten: u64,
    /// Bytes in files that were not compared, because they are in no extent.
    pub holes: u64,
    /// Number of files with a wrong byte, and of files and directories that could not be read.
    pub mismatches: u64,
    /// The location of the first wrong byte, or the first read error.
    pub first_mismatch: Option<String>,
}

/// Bytes read and compared at once.
const CHUNK: usize = 256 << 10;
/// An aligned block of zeros of this size is not the remainder of a partly written block.
const BLOCK: usize = 4096;
/// The file system type of Btrfs in `statfs`.
const BTRFS: u64 = 0x9123_683e;

/// Compares the written ranges of all files below `root` that a replay created with [`contents()`] of the same seed.
///
/// Holes and preallocated ranges have nothing to compare. If a file system does not distinguish them from written
/// ranges (tmpfs), or writes zeros into partly truncated or punched preallocated blocks (Btrfs), whole blocks of zeros pass. Data written under an
/// earlier name of a file, or before it was cloned, is recognized by its contents, so two files with swapped blocks
/// are not detected; and pieces of less than 15 bytes written under an
/// earlier name cannot be recognized, and count as wrong if something else follows them.
pub fn verify(root: &Path, seed: u64) -> Result<VerifyReport> {
    let (opened, mut walk) = walk::begin(root, "verify its files")?;
    let mut verified = VerifyReport::default();
    let zeros_pass = fstatfs(&opened).is_ok_and(|stat| stat.f_type as u64 == BTRFS);
    let mut reader = Reader { seed, zeros_pass, read: vec![0; CHUNK], expected: vec![0; CHUNK] };
    while let Some(directory) = walk.next() {
        let path = walk.path();
        match directory {
            Ok(directory) => {
                for file in directory.files {
                    verified.files += 1;
                    match reader.check(&directory.fd, file, &mut verified) {
                        Ok(None) => {}
                        Ok(Some(offset)) => verified.count(|| format!("{path}{file} at byte {offset}")),
                        Err(errno) => verified.count(|| format!("cannot read {path}{file}: {errno}")),
                    }
                }
            }
            Err(errno) => verified.count(|| format!("cannot read a directory in {path}: {errno}")),
        }
    }
    Ok(verified)
}

impl VerifyReport {
    fn count(&mut self, what: impl FnOnce() -> String) {
        self.mismatches += 1;
        self.first_mismatch.get_or_insert_with(what);
    }
}

struct Reader {
    seed: u64,
    zeros_pass: bool,
    read: Vec<u8>,
    expected: Vec<u8>,
}

impl Reader {
    /// Reads the written ranges of a file and returns the offset of the first wrong byte.
    fn check(&mut self, dir: &OwnedFd, file: FileId, verified: &mut VerifyReport) -> io::Result<Option<u64>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(dir, file.to_string(), flags, Mode::empty())?;
        let size = fstat(&fd)?.st_size as u64;
        let (mut written, mut unwritten, mut holes, mut reached) = (Vec::new(), 0, 0, 0);
        // FIEMAP writes back delayed data first, so ranges outside extents were never written.
        let mapped = each_extent(&fd, |extent| {
            let (start, end) = (extent.logical.min(size), extent.logical_end().min(size));
            holes += start.saturating_sub(reached);
            reached = reached.max(end);
            match extent.flags.any(ExtentFlags::UNWRITTEN) {
                false => written.push((start, end)),
                true => unwritten += end - start,
            }
        });
        let zeros_pass = self.zeros_pass || mapped == Err(Errno::OPNOTSUPP);
        match mapped {
            Err(Errno::OPNOTSUPP) => written.push((0, size)),
            mapped => {
                mapped?;
                verified.unwritten += unwritten;
                verified.holes += holes + (size - reached);
            }
        }
        for (mut start, end) in written {
            while start < end {
                let len = (end - start).min(CHUNK as u64) as usize;
                let len = read_all(&fd, start, &mut self.read[..len])?;
                if len == 0 {
                    return Ok(Some(start));
                }
                verified.bytes += len as u64;
                if let Some(wrong) = self.compare(file, start, len, zeros_pass) {
                    return Ok(Some(start + wrong as u64));
                }
                start += len as u64;
            }
        }
        Ok(None)
    }

    /// The index of the first wrong byte among the `len` bytes read at `start`.
    fn compare(&mut self, file: FileId, start: u64, len: usize, zeros_pass: bool) -> Option<usize> {
        let (read, expected) = (&self.read[..len], &mut self.expected[..len]);
        contents(self.seed, file, start, expected);
        if read == expected {
            return None;
        }
        let empty = |block: &[u8]| block.len() == BLOCK && block.iter().all(|byte| *byte == 0);
        match read.chunks(BLOCK).position(empty) {
            Some(block) if !zeros_pass => Some(block * BLOCK),
            _ => first_mismatch(self.seed, file, start, read),
        }
    }
}

fn read_all(fd: &OwnedFd, start: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match retry_on_intr(|| pread(fd, &mut buffer[done..], start + done as u64))? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}
