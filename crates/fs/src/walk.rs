//! The tree walk with the errors of this crate.

use crate::Error;
use std::io;
use std::path::Path;
use tree::Entry;

/// Calls `visit` for every name below `root` in scan order (see [`tree::walk`]); an error of `visit` gets the path of the name.
///
/// # Errors
/// The first error.
pub fn walk(root: &Path, mut visit: impl FnMut(&Entry) -> io::Result<()>) -> Result<(), Error> {
    tree::walk(root, |entry| visit(entry).map_err(|error| entry.error("visiting", error).into()))
}
