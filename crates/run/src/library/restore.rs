//! Restores a saved image to a work directory, as if it had been aged there, or to a file.

use super::{Image, Key};
use crate::Error;
use crate::manifest::Manifest;
use crate::work::Work;
use fs::{Location, VolumeConfig};
use results::{NewRun, Watch};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The destination of a restored image.
#[derive(Clone, Debug)]
pub enum RestoreTo {
    /// A work directory, with a manifest, so that all commands accept the image by its name.
    Work(PathBuf),
    /// A file.
    File(PathBuf),
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct RestoredImage {
    /// Its name.
    pub name: String,
    /// The image.
    pub image: PathBuf,
    /// Its size.
    pub size_bytes: u64,
    /// Bytes allocated on disk.
    pub allocated_bytes: u64,
}

/// Restores the saved image in `file`; with a key, only if it is signed with it.
pub fn restore(
    file: &Path,
    to: &RestoreTo,
    key: Option<&Key>,
    command: &str,
    watch: &mut dyn Watch,
) -> Result<RestoredImage, Error> {
    let image = Image::open(file, key)?;
    match to {
        RestoreTo::File(path) => write(&image, path, watch),
        RestoreTo::Work(dir) => {
            let name = image.about.name();
            let work = Work::take(dir)?;
            let manifest = Manifest::path(dir, name);
            if manifest.exists() {
                let dir = dir.display();
                return Err(Error::Refused(format!(
                    "{dir} already contains an aged file system named {name}; choose another --work, or --to \
                     FILE"
                )));
            }
            let dir = std::path::absolute(dir).map_err(Error::io("finding", dir))?;
            let restored = write(&image, &dir.join(format!("{name}.img")), watch)?;
            describe(&image, &restored, &dir, &work, command)?;
            work.keep();
            Ok(restored)
        }
    }
}

fn write(image: &Image, path: &Path, watch: &mut dyn Watch) -> Result<RestoredImage, Error> {
    use std::os::unix::fs::MetadataExt as _;
    image.restore(path, watch)?;
    let about = std::fs::metadata(path).map_err(Error::io("checking", path))?;
    Ok(RestoredImage {
        name: image.about.name().to_owned(),
        image: path.to_owned(),
        size_bytes: about.len(),
        allocated_bytes: about.blocks() * 512,
    })
}

/// Writes the manifest of the restored image, and records a separate run in the store.
fn describe(
    image: &Image,
    restored: &RestoredImage,
    dir: &Path,
    work: &Work,
    command: &str,
) -> Result<(), Error> {
    let store = work.store()?;
    let aged = &image.about.aged;
    let run = store.begin(&NewRun {
        kind: "restore",
        name: &restored.name,
        command,
        seed: aged.seed(),
        parameters: serde_json::json!({ "saved": image.archive.manifest() }),
    })?;
    let volume = VolumeConfig { location: Location::Image(restored.image.clone()), ..aged.volume.clone() };
    let manifest = Manifest { volume, run: run.0, ..aged.clone() };
    store.record_document(run, "", "manifest", &manifest)?;
    manifest.save(dir)?;
    Ok(store.end(run, "done", None)?)
}
