//! What is seen of a file system that is only read.

use super::subject::Subject;
use crate::Error;
use crate::images::Image;
use crate::manifest::{Home, Made};
use disk::{Extent, Scratch, Session};
use fs::{DirTarget, Target};
use probe::{Census, FreeSpace, NewFile, StaticLayout};
use results::Watch;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is seen of a file system.
#[derive(Clone, Debug, Serialize)]
pub struct Look {
    /// What it is, for people: a path or a name.
    pub name: String,
    /// Its kind.
    pub fs: String,
    /// Bytes that files can take, if it is a file system of its own.
    pub capacity_bytes: u64,
    /// The share of them that is in use.
    pub fullness: f64,
    /// What its tree holds.
    pub census: Census,
    /// How its files lie; none where it does not tell.
    pub layout: Option<StaticLayout>,
    /// How its free space is cut up; none where it does not tell.
    pub free: Option<FreeSpace>,
    /// What a new file on a copy of it came to.
    pub new_file: Option<NewFile>,
    /// What was not measured, and why.
    pub not_measured: Vec<String>,
}

/// A file system that was looked at, and what a copy of it for a new file needs.
pub struct Seen {
    pub look: Look,
    pub rest: Option<Rest>,
}

/// What a copy of a file system needs that is to be written to.
pub struct Rest {
    /// How it is opened.
    pub made: Made,
    /// How it is opened to be read only, so that not a byte of it changes.
    pub only_read: Made,
    /// What need not be copied: what is not in use, and what files hold.
    pub without: Vec<Extent>,
    /// Bytes that can be written to it.
    pub free_bytes: u64,
    /// The restored image that it is, if it was a saved one.
    _restored: Option<Scratch>,
}

/// Looks at a file system. It is not written to: what is no directory is mounted to be read only, without its journal being replayed.
pub fn look(
    session: &Arc<Session>,
    subject: &Subject,
    scratch: &Path,
    watch: &mut dyn Watch,
) -> Result<Seen, Error> {
    let (made, restored, name) = match subject {
        Subject::Directory(dir) => {
            let name = dir.display().to_string();
            watch.phase(&format!("{name}: layout and free space"), None);
            let mut target = DirTarget::any(dir)?;
            let (mut look, _) = see(&mut target, &name)?;
            look.not_measured.push(
                "new file: senesce does not write to a file system in use; use `senesce probe new-file`"
                    .to_owned(),
            );
            return Ok(Seen { look, rest: None });
        }
        Subject::Disk(made) => {
            let name = place(&made.home).display().to_string();
            (made.clone(), None, name)
        }
        Subject::Saved(file) => {
            let image = Image::open(file, None)?;
            let name = image.about.name().to_owned();
            let scratch = Scratch::make(session, scratch, "senesce-image")?;
            let path = scratch.path().join("restored.img");
            image.restore(&path, watch)?;
            let made = Made { home: Home::Image(path), ..image.about.aged.made.clone() };
            (made, Some(scratch), name)
        }
    };
    watch.phase(&format!("{name}: layout and free space"), None);
    let kind = fs::find(&made.fs)?;
    let mut only_read = made.clone();
    only_read.mount_opts.push("ro".to_owned());
    only_read.mount_opts.extend(kind.untouched_mount_opts().iter().map(ToString::to_string));
    let mut target = crate::age::open(session, &only_read)?;
    let seen = see(target.as_mut(), &name).and_then(|(look, extents)| {
        let mut without = target.unused()?;
        if let Some(without) = &mut without
            && kind.maps_to_device()
        {
            without.extend(extents);
        }
        // Btrfs says that nothing is available where it is mounted to be read only.
        let free_bytes = match disk::free_bytes(target.root())? {
            0 => look.free.as_ref().map_or(0, |free| free.total_bytes),
            free_bytes => free_bytes,
        };
        Ok((look, without.unwrap_or_default(), free_bytes, target.maps_files()))
    });
    target.close()?;
    let (mut look, without, free_bytes, maps_files) = seen?;
    if !maps_files {
        look.not_measured.push(format!("new file: {} does not report file extents", look.fs));
        return Ok(Seen { look, rest: None });
    }
    let rest = Rest { made, only_read, without, free_bytes, _restored: restored };
    Ok(Seen { look, rest: Some(rest) })
}

/// Where a disk is.
pub fn place(home: &Home) -> PathBuf {
    match home {
        Home::Image(path) | Home::Device(path) | Home::Dir(path) | Home::Modelled { dir: path, .. } => {
            path.clone()
        }
    }
}

/// What is seen, and the extents of all files.
fn see(target: &mut dyn Target, name: &str) -> Result<(Look, Vec<Extent>), Error> {
    let root = target.root().to_owned();
    let census = probe::census(&root)?;
    let mut not_measured = Vec::new();
    let layout = match target.maps_files() {
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
