//! Where the images of a cell lie while it is measured.

use crate::Error;
use disk::{Scratch, Session};
use std::path::Path;
use std::sync::Arc;

/// A directory for the images of a cell: in memory if there is room for both sides, else in the work directory.
pub(super) fn make(session: &Arc<Session>, work: &Path, size_bytes: u64) -> Result<Scratch, Error> {
    let memory = Path::new("/dev/shm");
    let room = |dir: &Path| disk::free_bytes(dir).is_ok_and(|free| free > 3 * size_bytes);
    let absolute = std::path::absolute(work).map_err(Error::io("finding", work))?;
    let parent = if memory.is_dir() && room(memory) { memory } else { &absolute };
    Ok(Scratch::make(session, parent, ".senesce-cell")?)
}
