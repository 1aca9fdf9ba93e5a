//! The location of the images of a cell during its measurements.

use crate::Error;
use disk::{Scratch, Session};
use std::path::Path;
use std::sync::Arc;

/// Creates a directory for the images of a cell: in memory if both sides fit, otherwise in the work directory.
pub(super) fn make(session: &Arc<Session>, work: &Path, size_bytes: u64) -> Result<Scratch, Error> {
    let memory = Path::new("/dev/shm");
    let room = |dir: &Path| disk::free_bytes(dir).is_ok_and(|free| free > 3 * size_bytes);
    let absolute = std::path::absolute(work).map_err(Error::io("finding", work))?;
    let parent = if memory.is_dir() && room(memory) { memory } else { &absolute };
    Ok(Scratch::make(session, parent, ".senesce-cell")?)
}
