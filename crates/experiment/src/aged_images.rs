//! Aged file systems that several cells measure, also cells of other figures: aged once, and never changed by a measurement.

use disk::Scratch;
use results::Measurement;
use run::Error;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
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
    /// What the aging reached.
    pub measured: Vec<Measurement>,
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

    /// Removes those below `dir`; one that is being measured, when that ends.
    pub(super) fn remove_below(&self, dir: &Path) {
        self.all().retain(|_, aged| !aged.images.path().starts_with(dir));
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

#[cfg(test)]
mod tests {
    use super::*;
    use disk::Session;
    use std::cell::Cell;

    #[test]
    fn file_systems_are_aged_once_and_removed_by_directory() {
        let dir = tempfile::tempdir().unwrap();
        let session = Session::begin_in(&dir.path().join("run")).unwrap();
        let (images, agings) = (AgedImages::default(), Cell::new(0));
        let get = |key: &str, below: &Path| {
            let age = || {
                agings.set(agings.get() + 1);
                let scratch = Scratch::make(&session, below, "it")?;
                Ok(Aged { images: scratch, name: key.to_owned(), measured: Vec::new() })
            };
            images.clone().get(key.to_owned(), age).unwrap()
        };
        let [memory, work] = ["memory", "work"].map(|name| dir.path().join(name));
        for dir in [&memory, &work] {
            std::fs::create_dir(dir).unwrap();
        }
        let first = get("ext4", &memory);
        get("xfs", &work);
        assert!(Arc::ptr_eq(&first, &get("ext4", &work)));
        assert_eq!(agings.get(), 2);

        images.remove_below(&memory);
        assert!(first.images.path().exists());
        let path = first.images.path().to_owned();
        drop(first);
        assert!(!path.exists());
        get("xfs", &work);
        assert_eq!(agings.get(), 2);
        let failed = images.get("btrfs".to_owned(), || Err(Error::Failed("full".to_owned())));
        assert!(failed.is_err());
        get("btrfs", &work);
        assert_eq!(agings.get(), 3);
    }
}
