//! The unaged copy.

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

/// Makes a fresh file system like `made` and copies the tree of `aged` in directory order: files with their data, or, if the aged file
/// system was not filled, only their sizes and blocks.
pub fn make(
    session: &Arc<Session>,
    work: &Path,
    name: &str,
    volume: &VolumeConfig,
    filled: bool,
    aged: &dyn Target,
) -> Result<Unaged, Error> {
    check_space(volume, work, filled, aged)?;
    let location = location(work, name, volume);
    let mut unaged = Unaged::make(session, volume.at(location))?;
    unaged.copy_from(name, filled, aged).map_err(|error| space::of_copy(error, &volume.location, work))?;
    Ok(unaged)
}

/// Where the copy goes.
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
        // A device holds one file system; its copy goes to an image of the same size.
        Location::Device(_) => Location::Image(work.join(format!("{name}.unaged.img"))),
    }
}

/// Makes the copy on a modelled disk with the given model, whatever holds the aged side. The clock of that disk only counts.
pub fn make_on_disk(
    session: &Arc<Session>,
    image: &Path,
    name: &str,
    volume: &VolumeConfig,
    model: &str,
    filled: bool,
    aged: &dyn Target,
) -> Result<Unaged, Error> {
    let dir = image.with_extension("unaged.disk");
    let volume = volume.at(Location::Modelled { dir, model: model.to_owned(), clock: Clock::Model });
    check_space(&volume, image, filled, aged)?;
    let mut unaged = Unaged::make(session, volume)?;
    unaged.copy_from(name, filled, aged)?;
    Ok(unaged)
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

    fn copy_from(&mut self, name: &str, filled: bool, aged: &dyn Target) -> Result<(), Error> {
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
