//! Key-value metadata of Parquet files: keys begin with `senesce.`, values are text.

use parquet::file::metadata::KeyValue;

/// A pair for a new file.
pub fn key_value(key: &str, value: String) -> KeyValue {
    KeyValue::new(format!("senesce.{key}"), value)
}

/// The pairs of an existing file.
#[derive(Clone, Copy)]
pub struct KeyValueMetadata<'p>(pub &'p [KeyValue]);

impl KeyValueMetadata<'_> {
    /// The value of an optional key.
    pub fn text(self, key: &str) -> Option<String> {
        let of_key = |pair: &&KeyValue| pair.key.strip_prefix("senesce.") == Some(key);
        self.0.iter().find(of_key).and_then(|pair| pair.value.clone())
    }

    /// The value of a required key; an error is the end of a sentence about the file.
    pub fn required(self, key: &str) -> Result<String, String> {
        self.text(key).ok_or_else(|| format!("its metadata has no senesce.{key}"))
    }

    /// The value of a required numeric key.
    pub fn number(self, key: &str) -> Result<u64, String> {
        let value = self.required(key)?;
        value.parse().map_err(|_| format!("its senesce.{key} is {value:?}, which is not a number"))
    }

    /// Rejects a format version, the value of `key`, newer than `newest`; without the key, the error is
    /// `foreign`.
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
