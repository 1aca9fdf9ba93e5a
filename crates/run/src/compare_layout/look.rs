//! Inspection of a file system without writing to it.

use super::subject::Subject;
use crate::Error;
use crate::library::Image;
use disk::{Extent, Scratch, Session};
use fs::{DirTarget, Location, Target, VolumeConfig};
use probe::{Census, FreeSpace, NewFile, StaticLayout};
use results::Watch;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// The observations of a file system.
#[derive(Clone, Debug, Serialize)]
pub struct Look {
    /// The path or name shown to users.
    pub name: String,
    /// Its kind.
    pub fs: String,
    /// Bytes available to files, unless the subject is a directory of a larger file system.
    pub capacity_bytes: u64,
    /// The used share of the capacity.
    pub fullness: f64,
    /// The contents of the tree.
    pub census: Census,
    /// The layout of the files; `None` if the file system does not report it.
    pub layout: Option<StaticLayout>,
    /// The free extents; `None` if the file system does not report them.
    pub free: Option<FreeSpace>,
    /// The result for a new file on a copy.
    pub new_file: Option<NewFile>,
    /// The skipped measurements, with the reasons.
    pub not_measured: Vec<String>,
}

/// An inspected file system, and the data for a copy that receives the new file.
pub struct Inspected {
    pub look: Look,
    pub copy_source: Option<CopySource>,
}

/// The data for a writable copy of a file system.
pub struct CopySource {
    /// Opens the file system.
    pub volume: VolumeConfig,
    /// Opens the file system read-only, so that no byte of it changes.
    pub only_read: VolumeConfig,
    /// The extents that the copy omits: free space, and the contents of files.
    pub without: Vec<Extent>,
    /// Bytes that can be written to it.
    pub free_bytes: u64,
    /// The restored image, if the subject was a saved image.
    _restored: Option<Scratch>,
}

/// Inspects a file system without writing to it: images and devices are mounted read-only, without journal replay.
pub fn look(
    session: &Arc<Session>,
    subject: &Subject,
    scratch: &Path,
    watch: &mut dyn Watch,
) -> Result<Inspected, Error> {
    let (volume, restored, name) = match subject {
        Subject::Directory(dir) => {
            let name = dir.display().to_string();
            watch.phase(&format!("{name}: layout and free space"), None);
            let mut target = DirTarget::open_any(dir)?;
            let (mut look, _) = see(&mut target, &name)?;
            look.not_measured.push(
                "new file: senesce does not write to a file system in use; use `senesce probe new-file`"
                    .to_owned(),
            );
            return Ok(Inspected { look, copy_source: None });
        }
        Subject::Disk(volume) => {
            let name = volume.location.path().display().to_string();
            (volume.clone(), None, name)
        }
        Subject::Saved(file) => {
            let image = Image::open(file, None)?;
            let name = image.about.name().to_owned();
            let scratch = Scratch::make(session, scratch, "senesce-image")?;
            let path = scratch.path().join("restored.img");
            image.restore(&path, watch)?;
            let volume = image.about.aged.volume.at(Location::Image(path));
            (volume, Some(scratch), name)
        }
    };
    watch.phase(&format!("{name}: layout and free space"), None);
    let kind = fs::find(&volume.fs)?;
    let mut only_read = volume.read_only();
    only_read.mount_opts.extend(kind.no_write_mount_opts().iter().map(ToString::to_string));
    let mut target = fs::open(session, &only_read)?;
    let seen = see(target.as_mut(), &name).and_then(|(look, extents)| {
        let mut without = target.unused_extents()?;
        if let Some(without) = &mut without
            && kind.fiemap_returns_device_addresses()
        {
            without.extend(extents);
        }
        // Btrfs reports no available space on a read-only mount.
        let free_bytes = match disk::free_bytes(target.root())? {
            0 => look.free.as_ref().map_or(0, |free| free.total_bytes),
            free_bytes => free_bytes,
        };
        Ok((look, without.unwrap_or_default(), free_bytes, target.supports_fiemap()))
    });
    target.close()?;
    let (mut look, without, free_bytes, supports_fiemap) = seen?;
    if !supports_fiemap {
        look.not_measured.push(format!("new file: {} does not report file extents", look.fs));
        return Ok(Inspected { look, copy_source: None });
    }
    let copy_source = CopySource { volume, only_read, without, free_bytes, _restored: restored };
    Ok(Inspected { look, copy_source: Some(copy_source) })
}

/// The observations, and the extents of all files.
fn see(target: &mut dyn Target, name: &str) -> Result<(Look, Vec<Extent>), Error> {
    let root = target.root().to_owned();
    let census = probe::census(&root)?;
    let mut not_measured = Vec::new();
    let layout = match target.supports_fiemap() {
        true => Some(probe::static_layout(&root, target.block_bytes(), target.max_extent_bytes())?),
        false => {
            not_measured.push(format!("layout: {} does not report file extents", target.kind_name()));
            None
        }
    };
    let free = target.free_extents()?.map(|extents| probe::free_space(&extents));
    if free.is_none() {
        not_measured.push(format!("free space: {} does not report free extents", target.kind_name()));
    }
    let numbers =
        rustix::fs::statvfs(&root).map_err(|e| Error::io("reading the free space of", &root)(e.into()))?;
    let (mut layout, mut extents) = (layout, Vec::new());
    if let Some(layout) = &mut layout {
        extents = std::mem::take(&mut layout.scan_extents);
        layout.block_map.clear();
    }
    let look = Look {
        name: name.to_owned(),
        fs: target.kind_name().to_owned(),
        capacity_bytes: numbers.f_blocks * numbers.f_frsize,
        fullness: 1.0 - numbers.f_bfree as f64 / numbers.f_blocks.max(1) as f64,
        census,
        layout,
        free,
        new_file: None,
        not_measured,
    };
    Ok((look, extents))
}
