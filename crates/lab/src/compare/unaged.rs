//! The unaged copy.

use crate::manifest::{Home, Made};
use crate::{Error, space};
use disk::Session;
use disk::modelled::Clock;
use fs::{DirTarget, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The unaged side, removed after the comparison.
pub struct Unaged {
    target: Option<Box<dyn Target>>,
    /// The image, disk store or directory to remove.
    path: PathBuf,
    is_dir: bool,
    made: Made,
}

/// Makes a fresh file system like `made` and copies the tree of `aged` in directory order: files with their data, or, if the aged file
/// system was not filled, only their sizes and blocks.
pub fn make(
    session: &Arc<Session>,
    work: &Path,
    name: &str,
    made: &Made,
    filled: bool,
    aged: &dyn Target,
) -> Result<Unaged, Error> {
    check_space(made, work, filled, aged)?;
    let mut unaged = match &made.home {
        Home::Dir(dir) => {
            let parent = dir.parent().unwrap_or(Path::new("/"));
            let target = DirTarget::make(parent)?;
            let path = target.path().to_owned();
            let made = Made { home: Home::Dir(path.clone()), ..made.clone() };
            Unaged { path, target: Some(Box::new(target)), is_dir: true, made }
        }
        Home::Image(image) => image_of(session, made, image.with_extension("unaged.img"))?,
        Home::Modelled { dir: aged, clock, .. } => {
            let dir = aged.with_extension("unaged.disk");
            // Uses the model stored with the aged side: the file that it was read from may have changed.
            let (model, clock) = (aged.display().to_string(), *clock);
            made_of(session, made, Home::Modelled { dir: dir.clone(), model, clock }, dir)?
        }
        // A device holds one file system; its copy goes to an image of the same size.
        Home::Device(_) => image_of(session, made, work.join(format!("{name}.unaged.img")))?,
    };
    unaged.copy_from(name, filled, aged).map_err(|error| space::of_copy(error, &made.home, work))?;
    Ok(unaged)
}

/// Makes the copy on a modelled disk with the given model, whatever holds the aged side. The clock of that disk only counts.
pub fn make_on_disk(
    session: &Arc<Session>,
    image: &Path,
    name: &str,
    made: &Made,
    model: &str,
    filled: bool,
    aged: &dyn Target,
) -> Result<Unaged, Error> {
    let dir = image.with_extension("unaged.disk");
    let home = Home::Modelled { dir: dir.clone(), model: model.to_owned(), clock: Clock::Model };
    let made = Made { home: home.clone(), ..made.clone() };
    check_space(&made, image, filled, aged)?;
    let mut unaged = made_of(session, &made, home, dir)?;
    unaged.copy_from(name, filled, aged)?;
    Ok(unaged)
}

/// Refuses a copy that would not fit before it is made. Visits every file.
fn check_space(made: &Made, work: &Path, filled: bool, aged: &dyn Target) -> Result<(), Error> {
    let census = probe::census(aged.root())?;
    space::check_copy(made, work, census.files, census.allocated_bytes, filled)
}

fn image_of(session: &Arc<Session>, made: &Made, path: PathBuf) -> Result<Unaged, Error> {
    made_of(session, made, Home::Image(path.clone()), path)
}

/// Makes a file system at `home`, whose path is `path`.
pub(crate) fn made_of(
    session: &Arc<Session>,
    made: &Made,
    home: Home,
    path: PathBuf,
) -> Result<Unaged, Error> {
    let is_dir = matches!(home, Home::Modelled { .. });
    // A leftover of a killed comparison: the name is reserved for this program, and the work directory is locked.
    if path.exists() {
        remove(&path, is_dir)?;
    }
    let made = Made { home, ..made.clone() };
    let target = fs::make(session, &made.spec()?.expect("checking"))?;
    Ok(Unaged { target: Some(target), path, is_dir, made })
}

fn remove(path: &Path, is_dir: bool) -> Result<(), Error> {
    let removed = if is_dir { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.map_err(Error::io("removing", path))
}

impl Unaged {
    fn copy_from(&mut self, name: &str, filled: bool, aged: &dyn Target) -> Result<(), Error> {
        let root = self.target.as_ref().expect("just made").root();
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
    pub fn close(&mut self) -> Result<&Made, Error> {
        self.target.take().map_or(Ok(()), |target| target.close())?;
        Ok(&self.made)
    }

    /// The file system.
    pub fn target_mut(&mut self) -> &mut dyn Target {
        self.target.as_deref_mut().expect("present until removed")
    }

    /// Unmounts and removes it.
    pub fn remove(mut self) -> Result<(), Error> {
        self.target.take().map_or(Ok(()), |target| target.close())?;
        self.remove_path()
    }

    fn remove_path(&self) -> Result<(), Error> {
        remove(&self.path, self.is_dir)
    }
}

impl Drop for Unaged {
    fn drop(&mut self) {
        // After `remove` nothing remains to be done. Otherwise an error is already being reported, and the next comparison removes the
        // leftovers.
        if let Some(target) = self.target.take() {
            let _ = target.close();
        }
        if self.path.exists() {
            let _ = self.remove_path();
        }
    }
}
