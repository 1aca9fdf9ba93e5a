//! Aged images to share: saved in a compact file, restored, listed, verified, compared, signed and fetched by a catalogue.

mod about;
mod catalogue;
mod check;
mod diff;
mod fetch;
mod restore;
mod save;
mod scores;
mod shelf;
mod sign;

pub use about::About;
pub use catalogue::{Catalogue, CatalogueEntry};
pub use check::{Checked, Deep, check};
pub use diff::{Differences, diff};
pub use fetch::{Fetched, fetch};
pub use restore::{RestoreTo, Restored, restore};
pub use save::{SaveSpec, SavedImage, save};
pub use scores::Scores;
pub use shelf::{ENDING, Shelf};
pub use sign::{Key, make_key, sign};

use crate::{Error, Watch};
use saved::Saved;

/// A saved image, and what its manifest says of it.
pub struct Image {
    /// The file.
    pub saved: Saved,
    /// What it is.
    pub about: About,
}

impl Image {
    /// Opens the saved image at `path`; with a key, only if its manifest has a signature by it.
    pub fn open(path: &std::path::Path, key: Option<&Key>) -> Result<Image, Error> {
        let saved = Saved::open(path)?;
        if let Some(key) = key {
            key.check(&saved)?;
        }
        let about = About::of(&saved)?;
        Ok(Image { saved, about })
    }
}

/// Shows how far work on an image of so many bytes has come.
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
