//! The state of a modelled disk's flash in its store: the file `flash`, and one file `snapshots/NAME.flash` for each snapshot. A disk without
//! a translation layer has none.
//!
//! The state is saved when the disk is detached, and by every snapshot, rollback and preconditioning. If the server is killed, or the
//! machine crashes, the disk goes on with the state that was saved last: it holds no data, only the place of data.

use super::map::put;
use super::settings::DiskSettings;
use super::store::{Store, model_of};
use crate::error::{Error, IoContext};
use crate::model::{FlashState, FlashStatus, Ftl, Model, SharedFtl, lock};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Name of the file, and extension of the files of snapshots.
const FLASH: &str = "flash";

/// The file of the current state of the store in `dir`.
pub(super) fn current(dir: &Path) -> PathBuf {
    dir.join(FLASH)
}

/// The file of the state that belongs to the snapshot whose map is at `map`.
pub(super) fn of_snapshot(map: &Path) -> PathBuf {
    map.with_extension(FLASH)
}

/// Reads a state of the flash of a disk; `None` if its model has no translation layer.
pub(super) fn read(path: &Path, model: &Model, size_bytes: u64) -> Result<Option<SharedFtl>, Error> {
    if !model.has_ftl() {
        return Ok(None);
    }
    let bytes = input::read(path).context("reading the state of the flash", path)?;
    match model.parse_ftl(&bytes, size_bytes) {
        Some(Err(why)) => {
            let dir = path.parent().unwrap_or(path).to_owned();
            let why = format!(
                "{} is damaged: {why}; give its flash a new state with `senesce disk precondition`",
                path.display()
            );
            Err(Error::Store { dir, why })
        }
        parsed => Ok(parsed.and_then(Result::ok).map(|ftl| Arc::new(Mutex::new(ftl)))),
    }
}

/// Writes a state atomically.
pub(super) fn write(path: &Path, flash: Option<&SharedFtl>) -> Result<(), Error> {
    let Some(flash) = flash else { return Ok(()) };
    let bytes = lock(flash).to_bytes();
    put(path, &bytes, File::sync_all).context("writing the state of the flash", path)
}

/// What the flash of the disk in `dir` has been through, as last saved; `None` if its model has no translation layer.
pub fn saved_flash(dir: &Path) -> Result<Option<Ftl>, Error> {
    let settings = DiskSettings::read(dir)?;
    let flash = read(&current(dir), &model_of(dir)?, settings.size_bytes)?;
    Ok(flash.map(|flash| lock(&flash).clone()))
}

impl Store {
    /// Gives the flash of the disk in `dir` a new state, whatever it was before. The contents of the disk stay.
    ///
    /// # Errors
    /// If the disk is in use, or its model has no translation layer.
    pub fn precondition(dir: &Path, state: FlashState) -> Result<FlashStatus, Error> {
        let model = model_of(dir)?;
        if !model.has_ftl() {
            let why = format!(
                "its model {} has no flash translation layer; create a disk of one that has, such as ssd-crucial-m4",
                model.name()
            );
            return Err(Error::Store { dir: dir.to_owned(), why });
        }
        let mut store = Store::open_with_fresh_flash(dir)?;
        let status = store.precondition_flash(state).expect("its model has a translation layer");
        store.close()?;
        Ok(status)
    }

    /// The same for an open store; `None` if its model has no translation layer.
    pub(super) fn precondition_flash(&self, state: FlashState) -> Option<FlashStatus> {
        let mut flash = lock(self.flash.as_ref()?);
        flash.precondition(state, self.used_ranges());
        Some(flash.status())
    }

    /// The flash of the disk; `None` if its model has no translation layer.
    pub fn flash(&self) -> Option<&SharedFtl> {
        self.flash.as_ref()
    }

    /// Saves the current state of the flash.
    pub fn save_flash(&self) -> Result<(), Error> {
        write(&current(&self.dir), self.flash.as_ref())
    }

    /// Replaces the state of the flash, which the device shares.
    pub(super) fn replace_flash(&self, new: Option<SharedFtl>) {
        if let Some((flash, new)) = self.flash.as_ref().zip(new) {
            let new = lock(&new).clone();
            *lock(flash) = new;
        }
    }
}
