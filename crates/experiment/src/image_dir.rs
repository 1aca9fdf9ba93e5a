//! Directories for the images that cells measure.

use super::runner::RunSpec;
use disk::{Scratch, Session};
use run::Error;
use std::path::Path;
use std::sync::Arc;

/// Creates a directory for images of `bytes`: where the run asks for it, otherwise in memory if both sides fit, otherwise in the work directory.
/// Aged file systems that cells share make room, and leave some for the page cache.
pub(super) fn make(session: &Arc<Session>, spec: &RunSpec, bytes: u64) -> Result<Scratch, Error> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(Error::io("finding", path));
    let scratch = |parent: &Path| Ok(Scratch::make(session, parent, ".senesce-cell")?);
    if let Some(dir) = &spec.image_dir {
        std::fs::create_dir_all(dir).map_err(Error::io("creating", dir))?;
        return scratch(&absolute(dir)?);
    }
    let (memory, work) = (Path::new("/dev/shm"), absolute(&spec.work)?);
    let has_room = |dir: &Path, images| disk::free_bytes(dir).is_ok_and(|free| free > images * bytes);
    for dir in [memory, &work].into_iter().filter(|dir| !has_room(dir, 8)) {
        spec.aged_images.remove_below(dir);
    }
    scratch(if has_room(memory, 3) { memory } else { &work })
}
