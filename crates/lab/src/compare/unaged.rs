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
    /// The image, or the directory, to remove.
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
    // What a killed comparison left behind; the name is ours, and the work directory is locked.
    if path.exists() {
        std::fs::remove_file(&path).map_err(Error::io("removing", &path))?;
    }
    let spec = Made { home: Home::Image(path.clone()), ..made.clone() }.spec()?.expect("an image");
    let target = fs::make(session, &spec)?;
    Ok(Unaged { target: Some(target), path, is_dir: false })
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
        let removed =
            if self.is_dir { std::fs::remove_dir_all(&self.path) } else { std::fs::remove_file(&self.path) };
        removed.map_err(Error::io("removing", &self.path))
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
