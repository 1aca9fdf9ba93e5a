//! The position of a reader in a tree: git rejects some entries by their path.

use gix_object::tree::EntryKind;

use super::repository::{Reader, TreeEntry};
use crate::Error;

/// The longest path that Linux accepts, in bytes; git creates every file by its path from the top.
pub(super) const MAX_BYTES: usize = 4095;

/// The directory being read. The limit on paths also limits the depth.
pub(super) struct Path {
    bytes: Vec<u8>,
    /// The lengths of the parent paths.
    above: Vec<usize>,
}

impl Path {
    /// The top of the tree.
    pub fn top() -> Path {
        Path { bytes: Vec::new(), above: Vec::new() }
    }

    /// Enters a directory.
    pub fn enter(&mut self, name: &[u8], reader: &Reader) -> Result<(), Error> {
        self.check_length(name, reader)?;
        self.above.push(self.bytes.len());
        self.bytes.extend([name, b"/"].concat());
        Ok(())
    }

    /// Returns to the directory of the matching [`Path::enter`].
    pub fn leave(&mut self) {
        self.bytes.truncate(self.above.pop().unwrap_or(0));
    }

    /// Rejects entries that git refuses to create here, and links with an invalid target.
    pub fn check(&self, entry: &TreeEntry, reader: &mut Reader) -> Result<(), Error> {
        self.check_length(&entry.name, reader)?;
        if entry.kind != EntryKind::Link {
            return Ok(());
        }
        let is_modules = |name: &[u8]| name.eq_ignore_ascii_case(b".gitmodules");
        if is_modules(&entry.name) || self.bytes.split(|byte| *byte == b'/').any(is_modules) {
            return Err(self.refuse(&entry.name, "is a symbolic link called .gitmodules", reader));
        }
        let bytes = reader.size(entry.id)?;
        if bytes == 0 || bytes > MAX_BYTES as u64 || reader.contents(entry.id)?.contains(&0) {
            return Err(self.refuse(&entry.name, "is a symbolic link to an invalid path", reader));
        }
        Ok(())
    }

    fn check_length(&self, name: &[u8], reader: &Reader) -> Result<(), Error> {
        match self.bytes.len() + name.len() <= MAX_BYTES {
            true => Ok(()),
            false => Err(self.refuse(name, &format!("has a path of more than {MAX_BYTES} bytes"), reader)),
        }
    }

    fn refuse(&self, name: &[u8], why: &str, reader: &Reader) -> Error {
        // The end of a long path identifies it.
        let path = [&self.bytes, name].concat();
        let (dots, end) = if path.len() > 200 { ("…", &path[path.len() - 200..]) } else { ("", &path[..]) };
        reader.error(format!("{dots}{} {why}, which git does not check out", end.escape_ascii()))
    }
}
