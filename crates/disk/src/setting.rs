//! Settings of the kernel, which are files.

use crate::error::{Error, IoContext};
use std::path::PathBuf;

/// A setting as it was; dropping it restores that. It may be gone by then, with its device.
#[derive(Debug)]
pub(crate) struct Setting {
    path: PathBuf,
    before: String,
}

impl Setting {
    /// Remembers what is set.
    pub fn keep(path: PathBuf, doing: &'static str) -> Result<Setting, Error> {
        let before = std::fs::read_to_string(&path).context(doing, &path)?;
        Ok(Setting { path, before })
    }

    /// Remembers what is set, and sets something else.
    pub fn set(path: PathBuf, doing: &'static str, value: u64) -> Result<Setting, Error> {
        let setting = Setting::keep(path, doing)?;
        std::fs::write(&setting.path, value.to_string()).context("setting", &setting.path)?;
        Ok(setting)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.path, &self.before);
    }
}
