//! Aged images to share: saved in a compact file, restored, listed, verified, compared, signed, and fetched through a catalogue.

mod about;
mod catalogue;
mod diff;
mod directory;
mod download;
mod fetch;
mod restore;
mod save;
mod scores;
mod sign;
mod verify;

pub use about::About;
pub use catalogue::{Catalogue, CatalogueEntry};
pub use diff::{Differences, diff};
pub use directory::{EXTENSION, Library};
pub use fetch::{FetchedImage, fetch};
pub use restore::{RestoreTo, RestoredImage, restore};
pub use save::{SaveSpec, SavedImage, save};
pub use scores::Scores;
pub use sign::{Key, make_key, sign, sign_catalogue};
pub use verify::{DeepCheck, VerifiedImage, verify};

use crate::Error;
use archive::{ArchivedImage, AtomicFile};
use results::Watch;
use std::path::Path;

/// A saved image and its description.
pub struct Image {
    /// The file.
    pub archive: ArchivedImage,
    /// The description in its manifest.
    pub about: About,
}

impl Image {
    /// Opens the saved image at `path`; with a key, only if the manifest is signed with it.
    pub fn open(path: &Path, key: Option<&Key>) -> Result<Image, Error> {
        let archive = ArchivedImage::open(path)?;
        if let Some(key) = key {
            key.check(&archive)?;
        }
        let about = About::of(&archive)?;
        Ok(Image { archive, about })
    }

    /// Restores the image to a new file.
    pub(crate) fn restore(&self, to: &Path, watch: &mut dyn Watch) -> Result<(), Error> {
        let mut out = AtomicFile::begin(to)?;
        let name = self.about.name();
        let dir = match to.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        let contents = &self.archive.manifest().contents;
        let (needed, free) =
            (contents.literal_bytes.saturating_add(contents.regenerated_bytes), disk::free_bytes(dir)?);
        if needed > free {
            return Err(Error::Refused(format!(
                "restoring {name} needs {}, but {} has {} free; free some space or choose another directory",
                input::bytes(needed),
                dir.display(),
                input::bytes(free)
            )));
        }
        self.archive.restore(&mut out, &mut progress(watch, &format!("{name}: restoring")))?;
        Ok(out.finish()?)
    }
}

/// Shows the progress of work on an image.
fn progress<'w>(watch: &'w mut dyn Watch, phase: &str) -> impl FnMut(u64, u64) + use<'w> {
    watch.phase(phase, None);
    let (phase, mut total) = (phase.to_owned(), None);
    move |done, of| {
        if total != Some(of) {
            watch.phase(&phase, Some(of));
            total = Some(of);
        }
        watch.at(done);
    }
}
