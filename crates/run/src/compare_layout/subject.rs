//! The subjects of a comparison: anything that holds a file system.

use crate::Error;
use crate::library::Library;
use crate::manifest::Manifest;
use fs::{Location, VolumeConfig};
use results::STORE_FILE;
use std::path::{Path, PathBuf};

/// The location of a file system to inspect.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A directory of a mounted file system: read as it is.
    Directory(PathBuf),
    /// An image, a device or a modelled disk: mounted read-only.
    Disk(VolumeConfig),
    /// A saved image: restored first.
    Saved(PathBuf),
}

impl Subject {
    /// Resolves a word: a path of an image, a device, a modelled disk or a directory; a work directory with one aged file system, or one
    /// with a name appended, as in `senesce-work/a`; a saved image, by its path or its name in the library.
    pub fn find(word: &str) -> Result<Subject, Error> {
        let path = Path::new(word);
        if path.is_dir() && path.join(STORE_FILE).is_file() {
            return Subject::aged(&only(path)?);
        }
        if path.exists() && path.extension().is_none_or(|extension| extension != crate::library::EXTENSION) {
            return Ok(crate::volume::existing_volume(path)?
                .map_or_else(|| Subject::Directory(path.to_owned()), Subject::Disk));
        }
        if let (Some(work), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
            && let Some(manifest) = Manifest::load(work, name)?
        {
            return Subject::aged(&manifest);
        }
        let saved = Library::of_user()?.resolve(word);
        if saved.is_file() {
            return Ok(Subject::Saved(saved));
        }
        Err(Error::Refused(format!(
            "{word} is not an image, device, directory or work directory, and the saved image {} does not \
             exist",
            saved.display()
        )))
    }

    fn aged(manifest: &Manifest) -> Result<Subject, Error> {
        Ok(match &manifest.volume.location {
            Location::Dir(dir) => Subject::Directory(dir.join("tree")),
            _ => Subject::Disk(manifest.volume.clone()),
        })
    }
}

/// The only aged file system of a work directory.
fn only(work: &Path) -> Result<Manifest, Error> {
    let entries = std::fs::read_dir(work).map_err(Error::io("reading", work))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_name()?.to_str()?.strip_suffix(".json")?.to_owned()))
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    let shown = work.display();
    match names.as_slice() {
        [name] => Manifest::load(work, name)?
            .ok_or_else(|| Error::Refused(format!("{shown} contains no aged file system"))),
        [] => Err(Error::Refused(format!("{shown} contains no aged file system"))),
        names => Err(Error::Refused(format!(
            "{shown} contains several aged file systems; name one, as in {shown}/{} (available: {})",
            names[0],
            names.join(", ")
        ))),
    }
}
