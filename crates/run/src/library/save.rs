//! Saves an aged file system.

use super::about::About;
use super::directory::Library;
use super::scores::Scores;
use crate::Error;
use crate::manifest::Manifest;
use archive::{ArchiveContents, AtomicFile, UsedBlocks};
use disk::Session;
use fs::{Location, Target};
use input::bytes;
use results::Watch;
use serde::Serialize;
use std::path::PathBuf;

/// Parameters for saving.
#[derive(Clone, Debug)]
pub struct SaveSpec {
    /// The work directory.
    pub work: PathBuf,
    /// The name of the aged file system.
    pub name: String,
    /// The new file; by default in the library, under its name.
    pub to: Option<PathBuf>,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct SavedImage {
    /// Its name.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The contents.
    pub contents: ArchiveContents,
}

/// Saves an aged file system, which is mounted read-only meanwhile.
pub fn save(spec: &SaveSpec, watch: &mut dyn Watch) -> Result<SavedImage, Error> {
    let manifest = Manifest::load_aged(&spec.work, &spec.name)?;
    if let Location::Dir(dir) = &manifest.volume.location {
        return Err(Error::Refused(format!(
            "{} was aged in the directory {}, which cannot be saved; age a file system on an image instead",
            spec.name,
            dir.display()
        )));
    }
    let file = match &spec.to {
        Some(path) => path.clone(),
        None => {
            let library = Library::of_user()?;
            library.create()?;
            library.image_path(&spec.name)
        }
    };
    let mut out = AtomicFile::begin(&file)?;
    let session = Session::begin()?;
    let mut target = fs::open(&session, &manifest.volume.read_only())?;
    let saved = write(manifest, target.as_mut(), &mut out, watch);
    let closed = target.close();
    let contents = saved?;
    closed?;
    out.finish()?;
    let file_bytes = std::fs::metadata(&file).map_err(Error::io("checking", &file))?.len();
    Ok(SavedImage { name: spec.name.clone(), file, file_bytes, contents })
}

fn write(
    aged: Manifest,
    target: &mut dyn Target,
    out: &mut AtomicFile,
    watch: &mut dyn Watch,
) -> Result<ArchiveContents, Error> {
    watch.phase(&format!("{}: layout and free space", aged.name), None);
    let scores = Scores::of(target)?;
    let unused = target.unused_extents()?;
    if unused.is_none() {
        watch.say(&format!(
            "{} does not report unused blocks: all blocks that are not zero are saved",
            aged.volume.fs
        ));
    }
    let (device, _) = target.device().expect("the target is not a directory");
    // For an image, its file, which shows its holes.
    let source = match &aged.volume.location {
        Location::Image(path) => path.clone(),
        _ => device,
    };
    let about = About { unused_unknown: unused.is_none(), scores, aged };
    let blocks = UsedBlocks::of(&source, &unused.unwrap_or_default())?;
    let phase = format!("{}: saving {}", about.name(), bytes(blocks.size_bytes()));
    let manifest =
        archive::write(&blocks, out, results::TOOL, about.to_value(), &mut super::progress(watch, &phase))?;
    Ok(manifest.contents)
}
