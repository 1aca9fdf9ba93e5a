//! Counts the fragments of a new file, a measure for the quality of free space (Kadekodi et al.
//! 2017, Figure 3, copies in a file of 2 GB).

use crate::incompressible::Incompressible;
use crate::pieces::pieces;
use crate::{Error, Result, file_extents};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The result of writing a new file.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct NewFile {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its number of runs of contiguous blocks.
    pub fragments: u64,
    /// Seconds to write and sync it.
    pub write_s: f64,
}

/// Bytes per write.
const WRITE_BYTES: usize = 1 << 20;

/// The minimum size of a new file; a smaller file fits into any gap, so its fragments say nothing about free space.
const LEAST_BYTES: u64 = 1 << 20;

/// A suitable size of a new file: 2 GB, or half of the free space if that is less. `None` if the free space is too small.
pub fn new_file_bytes(free_bytes: u64) -> Option<u64> {
    Some((free_bytes / 2).min(2_000_000_000)).filter(|bytes| *bytes >= LEAST_BYTES)
}

/// Writes a file of `bytes` incompressible bytes below `root`, counts its fragments and removes it. Rejects an empty file, because its 0
/// fragments would look like the best possible result.
pub fn new_file(root: &Path, bytes: u64) -> Result<NewFile> {
    if bytes == 0 {
        return Err(Error::cannot(
            format!("counting the fragments of a new file in {}", root.display()),
            "a file of 0 bytes has none; give a size".to_owned(),
        ));
    }
    let path = root.join(format!(".senesce-new-file-{}", std::process::id()));
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(Error::io("creating", &path))?;
    let made = RemovedOnDrop(path);
    let doing = "writing a new file";
    let mut data = Incompressible::new(WRITE_BYTES)?;
    let start = Instant::now();
    let mut written = 0;
    while written < bytes {
        let len = (bytes - written).min(WRITE_BYTES as u64) as usize;
        file.write_all(data.next(len)).map_err(Error::io(doing, &made.0))?;
        written += len as u64;
    }
    file.sync_all().map_err(Error::io(doing, &made.0))?;
    let write_s = start.elapsed().as_secs_f64();
    let extents = file_extents(&file).map_err(Error::io("mapping the extents of", &made.0))?;
    Ok(NewFile { bytes, fragments: pieces(&extents).len() as u64, write_s })
}

/// A file that is removed on drop.
struct RemovedOnDrop(PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        // A failure does not change the result, and an earlier error is more important.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_size_is_2_gb_or_half_of_free_space() {
        assert_eq!(new_file_bytes(10_000_000), Some(5_000_000));
        assert_eq!(new_file_bytes(1 << 40), Some(2_000_000_000));
        assert_eq!(new_file_bytes(2 * LEAST_BYTES), Some(LEAST_BYTES));
        assert_eq!((new_file_bytes(2 * LEAST_BYTES - 2), new_file_bytes(0)), (None, None));
    }

    #[test]
    fn empty_file_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let message = new_file(dir.path(), 0).unwrap_err().to_string();
        assert!(message.ends_with("a file of 0 bytes has none; give a size"), "{message}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
