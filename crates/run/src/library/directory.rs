//! The library of saved images.

use crate::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The file name extension of saved images.
pub const EXTENSION: &str = "aged";

/// The directory of saved images.
#[derive(Clone, Debug)]
pub struct Library(PathBuf);

impl Library {
    /// `$SENESCE_IMAGES`, otherwise `senesce/images` in the data directory of the user.
    pub fn of_user() -> Result<Library, Error> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = || var("XDG_DATA_HOME").or_else(|| Some(var("HOME")?.join(".local/share")));
        let dir = var("SENESCE_IMAGES").or_else(|| Some(data()?.join("senesce/images")));
        dir.map(Library).ok_or_else(|| {
            Error::Refused(
                "neither HOME nor SENESCE_IMAGES is set; set one to locate saved images".to_owned(),
            )
        })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of a saved image, given by a path or by its name in the library.
    pub fn resolve(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = Path::new(name.as_ref());
        if path.as_os_str().as_bytes().contains(&b'/')
            || path.extension().is_some_and(|extension| extension == EXTENSION)
        {
            return path.to_owned();
        }
        self.image_path(name.as_ref())
    }

    /// The file in the library of the image with this name, whatever the name looks like.
    pub fn image_path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        // Not `with_extension`: names may contain a dot.
        let mut file = name.as_ref().to_owned();
        file.push(".");
        file.push(EXTENSION);
        self.0.join(file)
    }

    /// Creates the directory.
    pub fn create(&self) -> Result<(), Error> {
        std::fs::create_dir_all(&self.0).map_err(Error::io("creating", &self.0))
    }

    /// The files of all saved images in the library, by name.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("reading", &self.0))?,
        };
        let paths: std::io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(Error::io("reading", &self.0))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
        paths.sort();
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_library_and_paths_elsewhere() {
        let library = Library(PathBuf::from("/library"));
        for (name, path) in
            [("a", "/library/a.aged"), ("a-0.5", "/library/a-0.5.aged"), ("./a", "./a"), ("a.aged", "a.aged")]
        {
            assert_eq!(library.resolve(name), Path::new(path));
        }
        assert_eq!(library.image_path("a.aged"), Path::new("/library/a.aged.aged"));
        let bytes = library.resolve(OsStr::from_bytes(b"\xff"));
        assert_eq!(bytes.as_os_str().as_bytes(), b"/library/\xff.aged");
    }
}
