//! The fragments of a new file. The file is written to a copy that contains the metadata of the file system but not the contents of its
//! files. So the copy of a large device is small, and the device itself is only read.

use super::NewFileSize;
use super::look::{CopySource, Inspected};
use crate::Error;
use archive::{AtomicFile, UsedBlocks};
use disk::{Scratch, Session};
use fs::Location;
use input::bytes;
use results::Watch;
use std::path::Path;
use std::sync::Arc;

/// Maximum share of the free space for a new file: file systems reserve some space.
const MOST_OF_FREE: f64 = 0.9;

/// Space that a copy and its file system need besides the new file.
const ROOM_BYTES: u64 = 64 << 20;

/// Writes a new file of the same size to a copy of each.
pub fn measure(
    session: &Arc<Session>,
    inspected: &mut [Inspected],
    size: NewFileSize,
    scratch: &Path,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let Some(free) =
        inspected.iter().filter_map(|inspected| Some(inspected.copy_source.as_ref()?.free_bytes)).min()
    else {
        return Ok(());
    };
    let new_bytes = match size {
        NewFileSize::None => return Ok(()),
        NewFileSize::Published => match probe::new_file_bytes(free) {
            Some(bytes) => bytes,
            None => {
                for inspected in inspected {
                    let free = bytes(free);
                    inspected.look.not_measured.push(format!("new file: only {free} free on one side"));
                }
                return Ok(());
            }
        },
        NewFileSize::Bytes(wanted) => {
            let fits = wanted.min((free as f64 * MOST_OF_FREE) as u64);
            if fits < wanted {
                watch.say(&format!("the new file has {} instead of {}, to fit", bytes(fits), bytes(wanted)));
            }
            fits
        }
    };
    for Inspected { look, copy_source } in inspected {
        let Some(copy_source) = copy_source else { continue };
        watch.phase(&format!("{}: new file on a copy", look.name), None);
        match on_copy(session, copy_source, new_bytes, scratch)? {
            Ok(new) => look.new_file = Some(new),
            Err(why) => look.not_measured.push(format!("new file: {why}")),
        }
    }
    Ok(())
}

/// The new file on a copy, or why there is no space for a copy.
fn on_copy(
    session: &Arc<Session>,
    copy_source: &CopySource,
    new_bytes: u64,
    scratch: &Path,
) -> Result<Result<probe::NewFile, String>, Error> {
    let dir = Scratch::make(session, scratch, "senesce-copy")?;
    let path = dir.path().join("copy.img");
    if let Err(why) = copy(session, copy_source, new_bytes, &path)? {
        return Ok(Err(why));
    }
    let copy = fs::open(session, &copy_source.volume.at(Location::Image(path)))?;
    copy.sync()?;
    let new = probe::new_file(copy.root(), new_bytes);
    copy.close()?;
    drop(dir);
    match new {
        // Not all free space is available for data.
        Err(probe::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::StorageFull => {
            Ok(Err(format!(
                "not enough space for a new file of {}; give a smaller size with --new-file",
                bytes(new_bytes)
            )))
        }
        new => Ok(Ok(new?)),
    }
}

/// Makes the copy, or returns why there is no space for it.
fn copy(
    session: &Arc<Session>,
    copy_source: &CopySource,
    new_bytes: u64,
    to: &Path,
) -> Result<Result<(), String>, Error> {
    // The data of a modelled disk is readable only while the disk is served.
    let served = match &copy_source.volume.location {
        Location::Modelled { .. } => Some(fs::open(session, &copy_source.only_read)?),
        _ => None,
    };
    let device = served.as_ref().and_then(|target| target.device());
    let source = device.map_or_else(|| copy_source.volume.location.path().to_owned(), |(device, _)| device);
    let copied = copy_of(&UsedBlocks::of(&source, &copy_source.without)?, new_bytes, to);
    if let Some(served) = served {
        served.close()?;
    }
    copied
}

fn copy_of(blocks: &UsedBlocks, new_bytes: u64, to: &Path) -> Result<Result<(), String>, Error> {
    let dir = to.parent().unwrap_or(Path::new("/"));
    let (need, free) = (blocks.used_bytes() + new_bytes + ROOM_BYTES, disk::free_bytes(dir)?);
    if need > free {
        return Ok(Err(format!(
            "a copy needs {} in {}, where {} are free; choose another directory with --scratch",
            bytes(need),
            dir.display(),
            bytes(free)
        )));
    }
    let mut copy = AtomicFile::begin(to)?;
    blocks.copy(&mut copy)?;
    copy.finish()?;
    Ok(Ok(()))
}
