//! Removes file systems that were aged to be compared only.

use super::unaged;
use crate::Error;
use crate::age::AgeSpec;
use crate::manifest::{Manifest, Stage};
use crate::work::Work;
use fs::Location;

/// Removes the file system that this aging made, what a killed comparison left of its unaged copy, and its manifest. Devices and directories of
/// the user stay. Does nothing if there is none of that name in that place.
///
/// # Errors
/// If another run uses the work directory.
pub fn discard(AgeSpec { work: dir, name, volume, .. }: &AgeSpec) -> Result<(), Error> {
    // One of the same name in another place is not that of this aging.
    let load = || {
        let manifest = Manifest::load(dir, name)?;
        Ok::<_, Error>(manifest.filter(|manifest| manifest.volume.location == volume.location))
    };
    if load()?.is_none() {
        return Ok(());
    }
    let work = Work::take(dir)?;
    work.keep();
    // Another run may have changed it before the directory was locked.
    let Some(mut manifest) = load()? else { return Ok(()) };
    // After a kill between these steps, the next aging removes the rest.
    manifest.stage = Stage::Making;
    manifest.save(dir)?;
    let unaged = unaged::location(dir, name, &manifest.volume);
    if !matches!(unaged, Location::Dir(_)) {
        unaged.remove_incomplete()?;
    }
    manifest.volume.location.remove_incomplete()?;
    manifest.remove(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::AgedBy;
    use fs::VolumeConfig;
    use replay::{Data, OnFull};
    use std::path::Path;
    use std::sync::Arc;
    use workload::profile::ByProfile;

    fn aging(dir: &Path, image: &Path) -> AgeSpec {
        let volume = VolumeConfig::new(Location::Image(image.to_owned()), "ext4", 1 << 26);
        let method = workload::Method::Planned;
        let profile = profile::load("agrawal").unwrap();
        let workload = ByProfile { profile, method, fullness: None, overwrites: None, churn: None };
        AgeSpec::new("it", dir.to_owned(), volume, Arc::new(workload), 1, "")
    }

    fn age(spec: &AgeSpec) {
        let manifest = Manifest {
            version: Manifest::version(),
            name: spec.name.clone(),
            volume: spec.volume.clone(),
            mkfs: None,
            fs_version: String::new(),
            data: Data::Auto,
            on_full: OnFull::Skip,
            fill: true,
            replicate: false,
            segments: Vec::new(),
            aged_by: Some(AgedBy { workload: Arc::clone(&spec.workload), seed: spec.seed, round: 0 }),
            redo_to: 0,
            stage: Stage::Done,
            run: 1,
        };
        manifest.save(&spec.work).unwrap();
        std::fs::write(spec.volume.location.path(), "").unwrap();
    }

    #[test]
    fn only_what_the_aging_made_is_removed() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let here = aging(dir.path(), &dir.path().join("it.img"));
        discard(&here).unwrap();
        // The user gave an image of this name another place.
        let other = aging(dir.path(), &elsewhere.path().join("it.img"));
        age(&other);
        discard(&here).unwrap();
        assert!(other.volume.location.path().exists());
        assert!(Manifest::load(dir.path(), "it").unwrap().is_some());
        age(&here);
        std::fs::write(dir.path().join("it.unaged.img"), "").unwrap();
        discard(&here).unwrap();
        assert!(Manifest::load(dir.path(), "it").unwrap().is_none());
        let left = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(".img")).collect();
        assert!(left.is_empty() && other.volume.location.path().exists(), "{left:?}");
    }
}
