//! The description of a store in `disk.json`: its format, the size of its disk and its device model.

use crate::SECTOR_BYTES;
use crate::error::{Error, IoContext};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the file.
const FILE: &str = "disk.json";

/// Identifies the file.
const FORMAT: &str = "senesce-disk";

/// The store layout version that this program writes and reads.
const VERSION: u32 = 1;

/// How service times are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Times are only counted: the disk is as fast as the host.
    Model,
    /// Times are slept: the disk is as slow as the modelled one.
    Real,
}

impl Clock {
    /// The name of the clock.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Model => "model",
            Clock::Real => "real",
        }
    }
}

/// The settings of a disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    format: String,
    version: u32,
    /// The size of the disk.
    pub size_bytes: u64,
    /// The name of its model; for a new disk, any argument of [`crate::Model::find`].
    pub model: String,
    /// How its service times are applied.
    pub clock: Clock,
    /// Size of the write cache: the maximum of unflushed data that a power cut can lose.
    pub write_cache_bytes: u64,
}

impl DiskSettings {
    /// The smallest and the largest disk.
    const SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 46;

    /// The largest write cache; the cache is in locked memory.
    const WRITE_CACHE_MAX_BYTES: u64 = 1 << 30;

    /// A disk of this size and model, with a write cache of typical size.
    pub fn new(size_bytes: u64, model: &str, clock: Clock) -> DiskSettings {
        DiskSettings {
            format: FORMAT.to_owned(),
            version: VERSION,
            size_bytes,
            model: model.to_owned(),
            clock,
            write_cache_bytes: 32 << 20,
        }
    }

    /// Writes the settings to a new store.
    pub(super) fn write(&self, dir: &Path) -> Result<(), Error> {
        self.check().map_err(|why| Error::Store { dir: dir.to_owned(), why })?;
        let path = dir.join(FILE);
        let text = serde_json::to_vec_pretty(self).expect("plain data");
        std::fs::write(&path, text).context("writing", &path)
    }

    /// Reads the settings of the store in `dir`.
    pub fn read(dir: &Path) -> Result<DiskSettings, Error> {
        let path = dir.join(FILE);
        let text = input::read(&path).map_err(|e| Error::Store {
            dir: dir.to_owned(),
            why: format!("{FILE} cannot be read ({e}); `senesce disk create` creates a store"),
        })?;
        DiskSettings::parse(&text).map_err(|why| Error::Store { dir: dir.to_owned(), why })
    }

    fn parse(text: &[u8]) -> Result<DiskSettings, String> {
        let settings: DiskSettings =
            serde_json::from_slice(text).map_err(|e| format!("{FILE} does not describe a disk: {e}"))?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), String> {
        let (least, most) = (Self::SIZES.start() >> 20, Self::SIZES.end() >> 40);
        if self.format != FORMAT || self.version != VERSION {
            let (format, version) = (&self.format, self.version);
            return Err(format!(
                "it has format {format} {version}, but this program supports {FORMAT} {VERSION}"
            ));
        }
        if !Self::SIZES.contains(&self.size_bytes) || !self.size_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!(
                "a disk must have {least} MiB to {most} TiB in sectors of {SECTOR_BYTES} bytes, not {} bytes",
                self.size_bytes
            ));
        }
        if self.write_cache_bytes > Self::WRITE_CACHE_MAX_BYTES {
            return Err(format!("a write cache is limited to {} bytes", Self::WRITE_CACHE_MAX_BYTES));
        }
        Ok(())
    }
}

/// Whether `dir` looks like a store.
pub fn is_store(dir: &Path) -> bool {
    dir.join(FILE).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn settings_round_trip(sectors in 1u64 << 11..1 << 37, model in "[a-z-]{1,9}", cache in 0u64..1 << 30) {
            let dir = tempfile::tempdir().unwrap();
            let mut settings = DiskSettings::new(sectors * 512, &model, Clock::Real);
            settings.write_cache_bytes = cache;
            settings.write(dir.path()).unwrap();
            prop_assert_eq!(DiskSettings::read(dir.path()).unwrap(), settings);
        }

        #[test]
        fn arbitrary_file_is_an_error(text in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(DiskSettings::parse(&text).is_err());
        }

        #[test]
        fn invalid_sizes_are_refused(size in 0u64..1 << 20) {
            prop_assert!(DiskSettings::new(size, "ideal", Clock::Model).check().is_err());
            prop_assert!(DiskSettings::new(((1 << 21) + size) | 1, "ideal", Clock::Model).check().is_err());
        }
    }
}
