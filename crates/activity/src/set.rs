//! Many profiles, to choose from.

use crate::{ActivityError, ActivityProfile, file, model};
use std::path::Path;

/// Profiles, and where they are from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActivitySet {
    /// The profiles, each of one directory on one day.
    pub profiles: Vec<ActivityProfile>,
    /// Where they are from, in words: what was watched and when, which log was read, which model made them.
    pub source: String,
}

impl ActivitySet {
    /// The set that needs no recording: profiles made after a model of published figures, always the same.
    pub fn builtin() -> ActivitySet {
        model::profiles(model::SEED)
    }

    /// Reads the set at `path`; `builtin` is the built-in one.
    ///
    /// # Errors
    /// If it cannot be read, or is not whole.
    pub fn load(path: &Path) -> Result<ActivitySet, ActivityError> {
        if path == Path::new("builtin") { Ok(ActivitySet::builtin()) } else { file::read(path) }
    }

    /// Whether a set can be saved as `path`, to be asked before the work that makes it.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_path(path: &Path) -> Result<(), ActivityError> {
        file::begin(path).map(drop)
    }

    /// Writes it as `path`, on disk when this returns: the whole, or what was there before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ActivityError> {
        file::write(self, path)
    }
}
