//! Kernel settings that are files.

use crate::error::{Error, IoContext};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The previous value of a setting, restored on drop. The file may be gone by then, together with its device.
#[derive(Debug)]
pub(crate) struct Setting {
    path: PathBuf,
    before: String,
}

impl Setting {
    /// Saves the current value.
    pub fn save(path: PathBuf, doing: &'static str) -> Result<Setting, Error> {
        let text = std::fs::read_to_string(&path).context(doing, &path)?;
        // Of a list of choices, the current one is in brackets.
        let choice = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let before = choice.map_or(text.as_str(), |(current, _)| current).to_owned();
        Ok(Setting { path, before })
    }

    /// Saves the current value and sets a new one.
    pub fn set(path: PathBuf, doing: &'static str, value: impl Display) -> Result<Setting, Error> {
        let setting = Setting::save(path, doing)?;
        setting.change(value)?;
        Ok(setting)
    }

    /// Sets a new value.
    pub fn change(&self, value: impl Display) -> Result<(), Error> {
        std::fs::write(&self.path, value.to_string()).context("setting", &self.path)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.path, &self.before);
    }
}
