//! The key-value metadata of a Parquet file of ours: keys begin with `senesce.`, values are text.

use parquet::file::metadata::KeyValue;

/// A pair for a file to be written.
pub fn pair(key: &str, value: String) -> KeyValue {
    KeyValue::new(format!("senesce.{key}"), value)
}

/// The pairs of a file that is read.
#[derive(Clone, Copy)]
pub struct Pairs<'p>(pub &'p [KeyValue]);

impl Pairs<'_> {
    /// The value of a key that may be missing.
    pub fn text(self, key: &str) -> Option<String> {
        let of_key = |pair: &&KeyValue| pair.key.strip_prefix("senesce.") == Some(key);
        self.0.iter().find(of_key).and_then(|pair| pair.value.clone())
    }

    /// The value of a key that must be there; the error is the rest of a sentence about the file.
    pub fn needed(self, key: &str) -> Result<String, String> {
        self.text(key).ok_or_else(|| format!("its metadata has no senesce.{key}"))
    }

    /// The number that a key must have.
    pub fn number(self, key: &str) -> Result<u64, String> {
        let value = self.needed(key)?;
        value.parse().map_err(|_| format!("its senesce.{key} is {value:?}, which is not a number"))
    }

    /// Refuses a format newer than `newest`, the version being the number of `key`; without one the file is `foreign`.
    pub fn check_version(self, key: &str, newest: u32, foreign: &str) -> Result<(), String> {
        let version = self.text(key).ok_or(foreign)?;
        if self.number(key)? > newest.into() {
            return Err(format!(
                "its format {version} is newer than format {newest}, the newest that this program supports; \
                 update senesce"
            ));
        }
        Ok(())
    }
}
