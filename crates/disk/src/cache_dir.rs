//! Where files are kept that can be fetched again.

use std::path::PathBuf;

/// The directory `below` in the user's cache of this program.
pub fn cache_dir(below: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("senesce").join(below)
}
