//! Aged file systems that several cells measure, also cells of other figures: aged once, and never changed by a measurement.

use disk::Scratch;
use run::{Error, ProfileResult};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The aged file systems so far, by what they depend on. They are removed with the last clone.
#[derive(Clone, Default)]
pub struct AgedImages(Arc<Mutex<HashMap<String, Arc<Aged>>>>);

/// An aged file system in an image.
pub(super) struct Aged {
    /// The directory of the image and its manifest.
    pub images: Scratch,
    /// The name of the aging in it.
    pub name: String,
    pub reached: ProfileResult,
}

impl AgedImages {
    /// The file system that depends on `key` alone. Calls `age` if there is none.
    pub(super) fn get(
        &self,
        key: String,
        age: impl FnOnce() -> Result<Aged, Error>,
    ) -> Result<Arc<Aged>, Error> {
        if let Some(aged) = self.all().get(&key) {
            return Ok(aged.clone());
        }
        let aged = Arc::new(age()?);
        self.all().insert(key, aged.clone());
        Ok(aged)
    }

    /// Removes those that are not being measured.
    pub(super) fn clear(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Aged>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AgedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.all().keys()).finish()
    }
}
