//! Whether the data would fit where the image lies: told before anything is made.

use crate::Error;
use crate::manifest::{Home, Made};
use crate::say::bytes;
use ager::Plan;
use replay::Data;
use std::path::Path;

/// Metadata that a file system writes for a file, at most: an inode, its directory entry, an extent record.
const METADATA_BYTES_A_FILE: u64 = 1024;

/// What an empty file system writes: journal, tables, maps.
const EMPTY_BYTES: u64 = 64 << 20;

/// Refuses an aging whose data would not fit the backing store.
pub(crate) fn check(
    made: &Made,
    plan: &Plan,
    data: Data,
    fill: bool,
    already_bytes: u64,
) -> Result<(), Error> {
    let metadata = EMPTY_BYTES.min(made.size_bytes / 8) + plan.live_files * METADATA_BYTES_A_FILE;
    let (place, need) = match &made.home {
        // Written churn touches every block sooner or later, and a sparse image never shrinks.
        Home::Image(path) | Home::Modelled { dir: path, .. } => {
            let need = match data {
                Data::Write => made.size_bytes,
                _ if fill => (plan.live_bytes + metadata).min(made.size_bytes),
                _ => metadata,
            };
            (path.parent(), need)
        }
        Home::Dir(dir) => (Some(dir.as_path()), plan.live_bytes + metadata),
        Home::Device(_) => return Ok(()),
    };
    let place = existing(place.unwrap_or(Path::new(".")));
    let free = disk::free_bytes(place)?;
    let need = need.saturating_sub(already_bytes);
    if need > free {
        return Err(Error::Refused(format!(
            "the data needs {} in {}, where {} are free; choose a smaller --size or --fullness, another place, or \
             --no-fill, which keeps metadata only",
            bytes(need),
            place.display(),
            bytes(free)
        )));
    }
    Ok(())
}

/// The nearest directory above `path` that exists.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|p| p.is_dir()).unwrap_or(Path::new("."))
}
