//! The unaged side: a fresh file system, with a copy of the tree or empty.

use crate::one_cpu::OneCpu;
use crate::{Error, space};
use disk::Session;
use disk::modelled::Clock;
use fs::{Location, Target, VolumeConfig};
use std::path::Path;
use std::sync::Arc;

/// The unaged side, removed after the comparison.
pub struct Unaged {
    target: Option<Box<dyn Target>>,
    volume: VolumeConfig,
}

/// Makes this fresh file system and copies the tree of `aged` in directory order: files with their data, or, if the aged file system was not
/// filled, only their sizes and blocks.
pub fn copy(
    session: &Arc<Session>,
    work: &Path,
    name: &str,
    fresh: VolumeConfig,
    filled: bool,
    aged: &dyn Target,
) -> Result<Unaged, Error> {
    check_space(&fresh, work, filled, aged)?;
    let location = fresh.location.clone();
    let mut unaged = Unaged::make(session, fresh)?;
    unaged.copy_from(name, filled, aged).map_err(|error| space::of_copy(error, &location, work))?;
    Ok(unaged)
}

/// Where the unaged side goes.
pub fn location(work: &Path, name: &str, volume: &VolumeConfig) -> Location {
    match &volume.location {
        Location::Dir(dir) => Location::Dir(dir.parent().unwrap_or(Path::new("/")).to_owned()),
        Location::Image(image) => Location::Image(image.with_extension("unaged.img")),
        // Uses the model stored with the aged side: the file that it was read from may have changed.
        Location::Modelled { dir, clock, .. } => Location::Modelled {
            dir: dir.with_extension("unaged.disk"),
            model: dir.display().to_string(),
            clock: *clock,
        },
        // A device holds one file system; the unaged one goes to an image of the same size.
        Location::Device(_) => Location::Image(work.join(format!("{name}.unaged.img"))),
    }
}

/// Where it goes on a modelled disk with the given model, for an aged side in an image. The clock of that disk only counts.
pub fn location_on_disk(image: &Path, model: &str) -> Location {
    let dir = image.with_extension("unaged.disk");
    Location::Modelled { dir, model: model.to_owned(), clock: Clock::Model }
}

/// Refuses a copy that would not fit before it is made. Visits every file.
fn check_space(volume: &VolumeConfig, work: &Path, filled: bool, aged: &dyn Target) -> Result<(), Error> {
    let census = probe::census(aged.root())?;
    space::check_copy(volume, work, census.files, census.allocated_bytes, filled)
}

impl Unaged {
    /// Makes a file system that is removed after the comparison.
    pub fn make(session: &Arc<Session>, mut volume: VolumeConfig) -> Result<Unaged, Error> {
        // A leftover of a killed comparison: the name is reserved for this program, and the work directory is locked.
        if !matches!(volume.location, Location::Dir(_)) {
            volume.location.remove_incomplete()?;
        }
        let target = fs::make(session, &mut volume, None)?;
        Ok(Unaged { target: Some(target), volume })
    }

    /// Copies the tree of `aged`.
    pub fn copy_from(&mut self, name: &str, filled: bool, aged: &dyn Target) -> Result<(), Error> {
        let root = self.target.as_ref().expect("just made").root();
        let _one_cpu = OneCpu::keep();
        if filled {
            fs::copy_tree(aged.root(), root)?;
        } else {
            super::layout::copy_layout(aged.root(), root)?;
        }
        if disk::interrupted() {
            return Err(Error::Interrupted(format!("{name} is unchanged; --resume restarts the copy")));
        }
        // Reports write-back errors here, and not later in a measurement.
        Ok(self.target_mut().sync()?)
    }

    /// Closes the file system and returns how to reopen it; it exists until removed.
    pub fn close(&mut self) -> Result<&VolumeConfig, Error> {
        self.target.take().map_or(Ok(()), |target| target.close())?;
        Ok(&self.volume)
    }

    /// The file system.
    pub fn target_mut(&mut self) -> &mut dyn Target {
        self.target.as_deref_mut().expect("present until removed")
    }

    /// Unmounts and removes it.
    pub fn remove(mut self) -> Result<(), Error> {
        self.target.take().map_or(Ok(()), |target| target.close())?;
        Ok(self.volume.location.remove()?)
    }
}

impl Drop for Unaged {
    fn drop(&mut self) {
        // After `remove` nothing remains to be done. Otherwise an error is already being reported, and the next comparison removes the
        // leftovers.
        if let Some(target) = self.target.take() {
            let _ = target.close();
        }
        if self.volume.location.path().exists() {
            let _ = self.volume.location.remove();
        }
    }
}
