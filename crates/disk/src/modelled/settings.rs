//! What a store says of itself, in `disk.json`: that it is one, how large its disk is, and after which model.

use crate::SECTOR_BYTES;
use crate::error::{Error, IoContext};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the file.
const FILE: &str = "disk.json";

/// How the file says what it is.
const FORMAT: &str = "senesce-disk";

/// The layout of stores that this program writes and reads.
const VERSION: u32 = 1;

/// What service times are used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// They are only counted: the disk is as fast as the machine.
    Model,
    /// They are slept: the disk is as slow as the one that it models.
    Real,
}

impl Clock {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Model => "model",
            Clock::Real => "real",
        }
    }
}

/// What a disk is made like.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    format: String,
    version: u32,
    /// How large it is.
    pub size_bytes: u64,
    /// The name of its model; for a disk that is to be made also what [`crate::Model::find`] finds it by.
    pub model: String,
    /// What its service times are used for.
    pub clock: Clock,
    /// How much it holds that was written and not flushed: what a power cut can lose.
    pub write_cache_bytes: u64,
}

impl DiskSettings {
    /// The least and the largest disk.
    const SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 46;

    /// The largest write cache; it is kept in locked memory.
    const WRITE_CACHE_MAX_BYTES: u64 = 1 << 30;

    /// A disk of that size after that model, with the write cache of a usual drive.
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

    /// Writes them into a new store.
    pub(super) fn write(&self, dir: &Path) -> Result<(), Error> {
        self.check().map_err(|why| Error::Store { dir: dir.to_owned(), why })?;
        let path = dir.join(FILE);
        let text = serde_json::to_vec_pretty(self).expect("plain data");
        std::fs::write(&path, text).context("writing", &path)
    }

    /// Reads those of the store in `dir`.
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
        fn what_was_written_is_read(sectors in 1u64 << 11..1 << 37, model in "[a-z-]{1,9}", cache in 0u64..1 << 30) {
            let dir = tempfile::tempdir().unwrap();
            let mut settings = DiskSettings::new(sectors * 512, &model, Clock::Real);
            settings.write_cache_bytes = cache;
            settings.write(dir.path()).unwrap();
            prop_assert_eq!(DiskSettings::read(dir.path()).unwrap(), settings);
        }

        #[test]
        fn any_file_is_survived(text in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(DiskSettings::parse(&text).is_err());
        }

        #[test]
        fn odd_sizes_are_refused(size in 0u64..1 << 20) {
            prop_assert!(DiskSettings::new(size, "ideal", Clock::Model).check().is_err());
            prop_assert!(DiskSettings::new(((1 << 21) + size) | 1, "ideal", Clock::Model).check().is_err());
        }
    }
}
