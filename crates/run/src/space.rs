//! Checks whether the data fits into the location of the image, before anything is created.

use crate::Error;
use fs::{Location, VolumeConfig};
use input::bytes;
use replay::Data;
use std::path::Path;
use workload::Plan;

/// Maximum metadata that a file system writes per file: an inode, its directory entry, an extent record.
const METADATA_BYTES_A_FILE: u64 = 1024;

/// Data of an empty file system: journal, tables, maps.
const EMPTY_BYTES: u64 = 64 << 20;

/// The share of its size that can reliably be written to a file system that never frees blocks; it needs the rest for its own data and
/// reserves. A NILFS2 of 256 MiB took 57 % (measured).
const WRITTEN_ONCE: f64 = 0.5;

/// Refuses an aging that writes more, regardless of deletions, than fits a file system that never frees blocks.
pub(crate) fn check_written(
    volume: &VolumeConfig,
    plan: &Plan,
    overwrites: Option<f64>,
) -> Result<(), Error> {
    let Some(kind) = volume.kind()? else { return Ok(()) };
    let written = overwrites.unwrap_or(plan.bound_overwrites).min(plan.bound_overwrites);
    if kind.reclaims_space() || written <= WRITTEN_ONCE {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{} frees no space without its cleaner, which does not run here, and {written:.1} times its size \
         would be written: use --overwrites of at most {WRITTEN_ONCE}, and a smaller --fullness",
        kind.name()
    )))
}

/// Refuses an aging whose data would not fit the backing store.
pub(crate) fn check(
    volume: &VolumeConfig,
    plan: &Plan,
    data: Data,
    fill: bool,
    already_bytes: u64,
) -> Result<(), Error> {
    let metadata = EMPTY_BYTES.min(volume.size_bytes / 8) + plan.live_files * METADATA_BYTES_A_FILE;
    let (place, need) = match &volume.location {
        // It has all its memory already.
        Location::Image(path) if vm::attached_disk(path).is_some() => return Ok(()),
        // Written churn eventually touches every block, and a sparse image never shrinks.
        Location::Image(path) | Location::Modelled { dir: path, .. } => {
            let need = match data {
                Data::Write => volume.size_bytes,
                _ if fill => (plan.live_bytes + metadata).min(volume.size_bytes),
                _ => metadata,
            };
            (path.parent(), need)
        }
        Location::Dir(dir) => (Some(dir.as_path()), plan.live_bytes + metadata),
        Location::Device(_) => return Ok(()),
    };
    let place = existing(place.unwrap_or(Path::new(".")));
    let free = disk::free_bytes(place)?;
    let need = need.saturating_sub(already_bytes);
    if need > free {
        return Err(Error::Refused(format!(
            "the data needs {} in {}, where {} are free; choose a smaller --size or --fullness, another \
             directory, or --no-fill (metadata only)",
            bytes(need),
            place.display(),
            bytes(free)
        )));
    }
    Ok(())
}

/// The directory that holds the image of the unaged copy of the file system at `location`, and that grows with writes to it; `None` if the copy
/// is a directory next to the aged one.
fn image_dir<'a>(location: &'a Location, work: &'a Path) -> Option<&'a Path> {
    match location {
        Location::Image(path) | Location::Modelled { dir: path, .. } => path.parent().map(existing),
        Location::Device(_) => Some(existing(work)),
        Location::Dir(_) => None,
    }
}

/// Refuses an unaged copy that would not fit. The copy consists of `files` files with `data_bytes` bytes: with their data, or only metadata
/// unless the aged file system was `filled`.
pub(crate) fn check_copy(
    volume: &VolumeConfig,
    work: &Path,
    files: u64,
    data_bytes: u64,
    filled: bool,
) -> Result<(), Error> {
    let metadata = EMPTY_BYTES.min(volume.size_bytes / 8) + files * METADATA_BYTES_A_FILE;
    let (dir, need) = match (&volume.location, image_dir(&volume.location, work)) {
        (_, Some(dir)) if filled => (dir, (data_bytes + metadata).min(volume.size_bytes)),
        (_, Some(dir)) => (dir, metadata),
        // Preallocated blocks occupy space too.
        (Location::Dir(dir), None) => (existing(dir), data_bytes),
        (_, None) => return Ok(()),
    };
    let free = disk::free_bytes(dir)?;
    if need <= free {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "the unaged copy needs {} in {}, where {} are free; free some space, or age with --image-dir on a \
         larger disk",
        bytes(need),
        dir.display(),
        bytes(free)
    )))
}

/// Explains why a new file of that size cannot be written to an aged file system and its copy, both of which may grow by that size.
pub(crate) fn check_new_files(location: &Location, work: &Path, size: u64) -> Result<(), String> {
    let Some(dir) = image_dir(location, work) else { return Ok(()) };
    let free = disk::free_bytes(dir).map_err(|e| e.to_string())?;
    if free >= 2 * size + LAST_BYTES {
        return Ok(());
    }
    Err(format!(
        "both images would grow by {} in {}, where {} are free",
        bytes(size),
        dir.display(),
        bytes(free)
    ))
}

/// A disk counts as full at or below this free space, because the last blocks may be reserved.
const LAST_BYTES: u64 = 1 << 20;

/// Names the full directory as the cause of an error on a copy: the error itself names a path in a private mount of this process.
pub(crate) fn of_copy(error: Error, location: &Location, work: &Path) -> Error {
    let Some(dir) = image_dir(location, work).filter(|_| !matches!(error, Error::Interrupted(_))) else {
        return error;
    };
    match disk::free_bytes(dir) {
        Ok(free) if free <= LAST_BYTES => Error::Failed(format!(
            "writing the unaged copy in {}: no space left; free some space, or age with --image-dir on a \
             larger disk ({error})",
            dir.display()
        )),
        _ => error,
    }
}

/// The nearest existing ancestor directory of `path`.
pub(crate) fn existing(path: &Path) -> &Path {
    path.ancestors().find(|p| p.is_dir()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(dir: &Path) -> VolumeConfig {
        VolumeConfig::new(Location::Image(dir.join("work/a.img")), "ext4", 1 << 60)
    }

    #[test]
    fn refused_copy_names_the_directory_without_space() {
        let dir = tempfile::tempdir().unwrap();
        let volume = volume(dir.path());
        let refused = check_copy(&volume, dir.path(), 1, 1 << 55, true).unwrap_err().to_string();
        assert!(refused.contains(&format!(" in {}, where ", dir.path().display())), "{refused}");
        check_copy(&volume, dir.path(), 1, 1 << 55, false).unwrap();
        check_copy(&volume, dir.path(), 1, 1 << 10, true).unwrap();
        let device = VolumeConfig { location: Location::Device("/dev/nothing".into()), ..volume.clone() };
        assert!(
            check_copy(&device, dir.path(), 1, 1 << 55, true).is_err(),
            "its copy is in the work directory"
        );
        let refused = check_new_files(&volume.location, dir.path(), 1 << 54).unwrap_err();
        assert!(refused.contains(&dir.path().display().to_string()), "{refused}");
        check_new_files(&volume.location, dir.path(), 1 << 20).unwrap();
    }

    #[test]
    fn errors_name_a_full_directory_only_if_it_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let of = |error| of_copy(error, &volume(dir.path()).location, dir.path()).to_string();
        assert_eq!(of(Error::Failed("other".to_owned())), "other");
        assert_eq!(of(Error::Interrupted("other".to_owned())), "interrupted; other");
    }
}
