//! The unaged copy.

use crate::Error;
use crate::manifest::{Home, Made};
use disk::Session;
use fs::{DirTarget, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The unaged side, which is taken away when the comparison is over.
pub struct Unaged {
    target: Option<Box<dyn Target>>,
    /// The image, the store or the directory, to remove.
    path: PathBuf,
    is_dir: bool,
}

/// Makes a fresh file system like the one `made` and copies the tree of `aged` in directory order: files with their
/// data, or, unless it was filled, with their sizes and blocks alone.
pub fn make(
    session: &Arc<Session>,
    work: &Path,
    name: &str,
    made: &Made,
    filled: bool,
    aged: &dyn Target,
) -> Result<Unaged, Error> {
    let unaged = match &made.home {
        Home::Dir(dir) => {
            let parent = dir.parent().unwrap_or(Path::new("/"));
            let target = DirTarget::make(parent)?;
            Unaged { path: target.path().to_owned(), target: Some(Box::new(target)), is_dir: true }
        }
        Home::Image(image) => image_of(session, made, image.with_extension("unaged.img"))?,
        Home::Modelled { dir: aged, clock, .. } => {
            let dir = aged.with_extension("unaged.disk");
            // After the model that the aged side has: the file that it came from may be another by now.
            let (model, clock) = (aged.display().to_string(), *clock);
            made_of(session, made, Home::Modelled { dir: dir.clone(), model, clock }, dir)?
        }
        // A device holds one file system; its copy goes to an image of the same size.
        Home::Device(_) => image_of(session, made, work.join(format!("{name}.unaged.img")))?,
    };
    let root = unaged.target.as_ref().expect("just made").root();
    if filled {
        fs::copy_tree(aged.root(), root)?;
    } else {
        super::layout::copy_layout(aged.root(), root)?;
    }
    if disk::interrupted() {
        return Err(Error::Interrupted(format!("{name} is as it was; --resume begins the copy anew")));
    }
    Ok(unaged)
}

fn image_of(session: &Arc<Session>, made: &Made, path: PathBuf) -> Result<Unaged, Error> {
    made_of(session, made, Home::Image(path.clone()), path)
}

/// Makes what lives at `home`, which is at `path`.
pub(crate) fn made_of(
    session: &Arc<Session>,
    made: &Made,
    home: Home,
    path: PathBuf,
) -> Result<Unaged, Error> {
    let is_dir = matches!(home, Home::Modelled { .. });
    // What a killed comparison left behind; the name is ours, and the work directory is locked.
    if path.exists() {
        remove(&path, is_dir)?;
    }
    let spec = Made { home, ..made.clone() }.spec()?.expect("no directory");
    let target = fs::make(session, &spec)?;
    Ok(Unaged { target: Some(target), path, is_dir })
}

fn remove(path: &Path, is_dir: bool) -> Result<(), Error> {
    let removed = if is_dir { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.map_err(Error::io("removing", path))
}

impl Unaged {
    /// The file system.
    pub fn target_mut(&mut self) -> &mut dyn Target {
        self.target.as_deref_mut().expect("there until removed")
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
        if let Some(target) = self.target.take() {
            // An error is being reported already; what cannot be removed now, the next comparison removes.
            let _ = target.close();
            let _ = self.remove_path();
        }
    }
}
