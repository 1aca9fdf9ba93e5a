//! Reads saved images: only the manifest, or everything.

use crate::error::Error;
use crate::format::{self, Entry, HEADER_BYTES, TRAILER_BYTES, Trailer};
use crate::frame::{self, FRAME_BYTES};
use crate::manifest::Manifest;
use crate::runs::runs;
use crate::write::{ProgressFn, batch_frames};
use crate::{AtomicFile, BLOCK_BYTES, Result};
use digest::Digest;
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// A saved image with a verified manifest and index.
#[derive(Debug)]
pub struct ArchivedImage {
    path: PathBuf,
    file: File,
    file_bytes: u64,
    manifest: Manifest,
    text: Vec<u8>,
    /// The frames, each with its offset in the file.
    frames: Vec<(u64, Entry)>,
}

/// The difference between two saved images.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BlockDiff {
    /// Number of blocks that differ.
    pub blocks: u64,
    /// Number of these blocks that are zero in the first image.
    pub only_second: u64,
    /// Number of these blocks that are zero in the second image.
    pub only_first: u64,
}

impl ArchivedImage {
    /// Opens the saved image at `path`. Frames are read later, on demand.
    pub fn open(path: &Path) -> Result<ArchivedImage> {
        let foreign = |why: String| Error::Foreign { path: path.to_owned(), why };
        let damaged = |why: &str| Error::Damaged { path: path.to_owned(), why: why.to_owned() };
        let file = input::open(path).map_err(Error::io("opening", path))?;
        let about = file.metadata().map_err(Error::io("checking", path))?;
        if !about.is_file() {
            return Err(foreign("it is not a file".to_owned()));
        }
        let read =
            |at: u64, bytes: &mut [u8]| file.read_exact_at(bytes, at).map_err(Error::io("reading", path));
        let file_bytes = about.len();
        if file_bytes < (HEADER_BYTES + TRAILER_BYTES) as u64 {
            return Err(foreign("it is too short for a saved image".to_owned()));
        }
        let mut header = [0; HEADER_BYTES];
        read(0, &mut header)?;
        format::check_header(&header).map_err(foreign)?;
        let (mut trailer, trailer_at) = ([0; TRAILER_BYTES], file_bytes - TRAILER_BYTES as u64);
        read(trailer_at, &mut trailer)?;
        let trailer = Trailer::decode(&trailer).map_err(damaged)?;

        let manifest_at = trailer_at.checked_sub(trailer.manifest_bytes);
        let index_at = manifest_at.and_then(|at| at.checked_sub(trailer.index_bytes));
        let (Some(manifest_at), Some(index_at)) = (manifest_at, index_at) else {
            return Err(damaged("its trailer is invalid"));
        };
        let mut text = vec![0; trailer.manifest_bytes as usize];
        read(manifest_at, &mut text)?;
        if Digest::of(&text) != trailer.manifest {
            return Err(damaged("the checksum of its manifest does not match"));
        }
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| foreign(format!("its manifest is invalid: {e}")))?;
        check_sizes(&manifest, trailer.index_bytes).map_err(damaged)?;
        let mut index = vec![0; trailer.index_bytes as usize];
        read(index_at, &mut index)?;
        if Digest::of(&index) != manifest.contents.index_sha256 {
            return Err(damaged("the checksum of its index does not match"));
        }
        let entries = Entry::decode_all(&index);
        let frames = locate_frames(&manifest, &entries, index_at).map_err(damaged)?;
        Ok(ArchivedImage { path: path.to_owned(), file, file_bytes, manifest, text, frames })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The encoded manifest, which is the signed text.
    pub fn manifest_text(&self) -> &[u8] {
        &self.text
    }

    /// Verifies every byte of the file.
    pub fn verify(&self, progress: &mut ProgressFn) -> Result<()> {
        self.each(progress, |_, _| Ok(()))
    }

    /// Restores the image to the sparse file `out`, verifying each frame before it is written. The caller finishes the file.
    pub fn restore(&self, out: &mut AtomicFile, progress: &mut ProgressFn) -> Result<()> {
        let path = out.path().to_owned();
        let to = out.file();
        let writing = || Error::io("restoring to", &path);
        to.set_len(self.manifest.contents.size_bytes).map_err(writing())?;
        let to = &*to;
        self.each(progress, |start, bytes| {
            runs(bytes)
                .try_for_each(|run| to.write_all_at(&bytes[run.clone()], start + run.start as u64))
                .map_err(writing())
        })
    }

    /// Counts the blocks that differ. Frames with equal digests are not read.
    pub fn diff(&self, other: &ArchivedImage, progress: &mut ProgressFn) -> Result<BlockDiff> {
        let (a, b) = (&self.manifest.contents, &other.manifest.contents);
        if (a.size_bytes, a.frame_bytes) != (b.size_bytes, b.frame_bytes) {
            let why = format!(
                "it has {} bytes and {} has {}, so blocks cannot be compared",
                b.size_bytes,
                self.path.display(),
                a.size_bytes
            );
            return Err(Error::Foreign { path: other.path.clone(), why });
        }
        let pairs = pairs(&self.frames, &other.frames);
        let (mut diff, total) = (BlockDiff::default(), pairs.len() as u64 * a.frame_bytes);
        for (n, (number, here, there)) in pairs.iter().enumerate() {
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
            let len = self.frame_len(*number);
            let of = |image: &ArchivedImage, frame: Option<&(u64, Entry)>| match frame {
                Some(frame) => image.frame(frame),
                None => Ok(vec![0; len]),
            };
            let (here, there) = (of(self, *here)?, of(other, *there)?);
            diff.add(&here, &there);
            progress(n as u64 * a.frame_bytes, total);
        }
        Ok(diff)
    }

    /// Calls `each` with the image offset and the bytes of every frame, verified; in parallel.
    fn each(&self, progress: &mut ProgressFn, each: impl Fn(u64, &[u8]) -> Result<()> + Sync) -> Result<()> {
        let frame_bytes = self.manifest.contents.frame_bytes;
        let mut done = 0;
        for batch in self.frames.chunks(batch_frames()) {
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
            batch.par_iter().try_for_each(|frame| each(frame.1.number * frame_bytes, &self.frame(frame)?))?;
            done += batch.len() as u64;
            progress(done * frame_bytes, self.frames.len() as u64 * frame_bytes);
        }
        Ok(())
    }

    /// Reads and verifies a frame.
    fn frame(&self, (at, entry): &(u64, Entry)) -> Result<Vec<u8>> {
        let place = entry.number * self.manifest.contents.frame_bytes;
        let damaged = |why: &str| Error::Damaged {
            path: self.path.clone(),
            why: format!("data for byte {place} of the image, at byte {at} of the file: {why}"),
        };
        let mut stored = vec![0; entry.stored_bytes as usize];
        self.file.read_exact_at(&mut stored, *at).map_err(Error::io("reading", &self.path))?;
        if Digest::of(&stored) != entry.stored {
            return Err(damaged("checksum mismatch"));
        }
        let bytes = frame::decode(&stored, self.frame_len(entry.number)).map_err(damaged)?;
        if frame::content_digest(entry.number, &bytes) != entry.content {
            return Err(damaged("regenerated data differs from the saved data"));
        }
        Ok(bytes)
    }

    fn frame_len(&self, number: u64) -> usize {
        let contents = &self.manifest.contents;
        contents.frame_bytes.min(contents.size_bytes - number * contents.frame_bytes) as usize
    }
}

impl BlockDiff {
    fn add(&mut self, a: &[u8], b: &[u8]) {
        let zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        for (a, b) in a.chunks(BLOCK_BYTES).zip(b.chunks(BLOCK_BYTES)).filter(|(a, b)| a != b) {
            self.blocks += 1;
            self.only_second += u64::from(zero(a));
            self.only_first += u64::from(zero(b));
        }
    }
}

/// A frame with its offset in the file.
type Placed = (u64, Entry);

/// The frames that are in only one of the lists, or differ: number, and the frames.
fn pairs<'f>(a: &'f [Placed], b: &'f [Placed]) -> Vec<(u64, Option<&'f Placed>, Option<&'f Placed>)> {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let numbers = [left.peek(), right.peek()].into_iter().flatten().map(|(_, entry)| entry.number);
        let Some(number) = numbers.min() else { return pairs };
        let here = left.next_if(|(_, entry)| entry.number == number);
        let there = right.next_if(|(_, entry)| entry.number == number);
        if here.map(|(_, entry)| entry.content) != there.map(|(_, entry)| entry.content) {
            pairs.push((number, here, there));
        }
    }
}

/// Refuses a manifest whose sizes are inconsistent, before memory is allocated for them.
fn check_sizes(manifest: &Manifest, index_bytes: u64) -> Result<(), &'static str> {
    let contents = &manifest.contents;
    let is_block = contents.frame_bytes > 0 && contents.frame_bytes.is_multiple_of(BLOCK_BYTES as u64);
    if manifest.format != format::VERSION
        || !is_block
        || contents.frame_bytes > FRAME_BYTES
        || contents.frames.checked_mul(format::ENTRY_BYTES as u64) != Some(index_bytes)
        || contents.frames > contents.size_bytes.div_ceil(contents.frame_bytes)
    {
        return Err("its manifest does not match its index");
    }
    Ok(())
}

/// The offset of each frame in the file. Frames must be contiguous from the header to the index, in order, and inside the image.
fn locate_frames(manifest: &Manifest, entries: &[Entry], index_at: u64) -> Result<Vec<Placed>, &'static str> {
    let contents = &manifest.contents;
    if format::content_digest(contents.size_bytes, entries) != contents.content_sha256 {
        return Err("the image checksums of its manifest and index differ");
    }
    let mut at = HEADER_BYTES as u64;
    let mut least = 0;
    let mut frames = Vec::with_capacity(entries.len());
    for entry in entries {
        let start = entry.number.checked_mul(contents.frame_bytes);
        if entry.number < least || start.is_none_or(|start| start >= contents.size_bytes) {
            return Err("its index is out of order");
        }
        if entry.stored_bytes > frame::stored_max(contents.frame_bytes as usize) as u64 {
            return Err("a frame exceeds the maximum stored size");
        }
        frames.push((at, *entry));
        least = entry.number + 1;
        at = at
            .checked_add(entry.stored_bytes)
            .filter(|at| *at <= index_at)
            .ok_or("its index points past its end")?;
    }
    if at != index_at { Err("its index is incomplete") } else { Ok(frames) }
}
