//! Sets of profiles.

use super::{ActivityError, ActivityProfile, file, model};
use std::path::Path;

/// Profiles and their origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActivitySet {
    /// The profiles, each of one directory on one day.
    pub profiles: Vec<ActivityProfile>,
    /// The origin, as text: the recorded directory and time, the imported log, or the model.
    pub source: String,
}

impl ActivitySet {
    /// The built-in set, modelled on published figures; always the same.
    pub fn builtin() -> ActivitySet {
        model::profiles(model::SEED)
    }

    /// Reads the set at `path`; `builtin` names the built-in set.
    ///
    /// # Errors
    /// If the set cannot be read or is incomplete.
    pub fn load(path: &Path) -> Result<ActivitySet, ActivityError> {
        if path == Path::new("builtin") { Ok(ActivitySet::builtin()) } else { file::read(path) }
    }

    /// Checks in advance whether a set can be saved as `path`.
    ///
    /// # Errors
    /// If it cannot be saved.
    pub fn check_path(path: &Path) -> Result<(), ActivityError> {
        file::begin(path).map(drop)
    }

    /// Writes the set to `path` atomically; it is on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ActivityError> {
        file::write(self, path)
    }
}
