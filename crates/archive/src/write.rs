//! Writes saved images in one pass.

use crate::error::Error;
use crate::format::{self, Entry, Trailer, VERSION};
use crate::frame::{self, Encoded, FRAME_BYTES};
use crate::manifest::{ArchiveContents, Manifest};
use crate::used_blocks::UsedBlocks;
use crate::{AtomicFile, Result};
use digest::Digest;
use rayon::prelude::*;
use std::io::{BufWriter, Write as _};

/// Called with the bytes of the image that are done and the total.
pub type ProgressFn<'w> = dyn FnMut(u64, u64) + 'w;

/// Frames in memory per thread.
const FRAMES_PER_THREAD: usize = 2;

/// Writes the selected parts of an image to `out`, with `about` in the manifest. The caller finishes the file. Memory use is bounded by the
/// number of threads.
pub fn write(
    blocks: &UsedBlocks,
    out: &mut AtomicFile,
    tool: &str,
    about: serde_json::Value,
    progress: &mut ProgressFn,
) -> Result<Manifest> {
    let path = out.path().to_owned();
    let fail = || Error::io("writing", &path);
    let mut to = BufWriter::with_capacity(1 << 20, out.file());
    to.write_all(&format::header()).map_err(fail())?;

    let size_bytes = blocks.size_bytes();
    let numbers = blocks.chunk_numbers(FRAME_BYTES);
    let (mut entries, mut byte_counts) = (Vec::new(), frame::ByteCounts::default());
    let mut done = 0;
    for batch in numbers.chunks(batch_frames()) {
        if disk::interrupted() {
            return Err(Error::Interrupted);
        }
        let encoded: Vec<_> =
            batch.par_iter().map(|number| encode(blocks, *number)).collect::<Result<_>>()?;
        for (number, Encoded { stored, content, byte_counts: of_frame }) in encoded.into_iter().flatten() {
            to.write_all(&stored).map_err(fail())?;
            let stored_bytes = stored.len() as u64;
            entries.push(Entry { number, stored_bytes, stored: Digest::of(&stored), content });
            byte_counts.literal += of_frame.literal;
            byte_counts.regenerated += of_frame.regenerated;
        }
        done += batch.len() as u64;
        progress(done * FRAME_BYTES, numbers.len() as u64 * FRAME_BYTES);
    }

    let index: Vec<u8> = entries.iter().flat_map(Entry::encode).collect();
    let manifest = Manifest {
        format: VERSION,
        tool: tool.to_owned(),
        contents: ArchiveContents {
            size_bytes,
            frame_bytes: FRAME_BYTES,
            frames: entries.len() as u64,
            literal_bytes: byte_counts.literal,
            regenerated_bytes: byte_counts.regenerated,
            unused_bytes: blocks.unused_bytes(),
            index_sha256: Digest::of(&index),
            content_sha256: format::content_digest(size_bytes, &entries),
        },
        about,
    };
    let text = serde_json::to_vec_pretty(&manifest).expect("plain data");
    let trailer = Trailer {
        index_bytes: index.len() as u64,
        manifest_bytes: text.len() as u64,
        manifest: Digest::of(&text),
    };
    for part in [&index[..], &text, &trailer.encode()] {
        to.write_all(part).map_err(fail())?;
    }
    to.flush().map_err(fail())?;
    Ok(manifest)
}

/// The number of frames processed in parallel.
pub(crate) fn batch_frames() -> usize {
    FRAMES_PER_THREAD * rayon::current_num_threads()
}

fn encode(blocks: &UsedBlocks, number: u64) -> Result<Option<(u64, Encoded)>> {
    let start = number * FRAME_BYTES;
    let mut bytes = vec![0; FRAME_BYTES.min(blocks.size_bytes() - start) as usize];
    blocks.read(start, &mut bytes)?;
    Ok(frame::encode(number, &bytes).map(|encoded| (number, encoded)))
}
