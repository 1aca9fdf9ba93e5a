//! The library of saved images.

use crate::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The file name extension of saved images.
pub const ENDING: &str = "aged";

/// The directory of saved images.
#[derive(Clone, Debug)]
pub struct Shelf(PathBuf);

impl Shelf {
    /// `$SENESCE_IMAGES`, otherwise `senesce/images` in the data directory of the user.
    pub fn of_user() -> Result<Shelf, Error> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = || var("XDG_DATA_HOME").or_else(|| Some(var("HOME")?.join(".local/share")));
        let dir = var("SENESCE_IMAGES").or_else(|| Some(data()?.join("senesce/images")));
        dir.map(Shelf).ok_or_else(|| {
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
    pub fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = Path::new(name.as_ref());
        if path.as_os_str().as_bytes().contains(&b'/')
            || path.extension().is_some_and(|ending| ending == ENDING)
        {
            return path.to_owned();
        }
        self.place(name.as_ref())
    }

    /// The file in the library of the image with this name, whatever the name looks like.
    pub fn place(&self, name: impl AsRef<OsStr>) -> PathBuf {
        // Not `with_extension`: names may contain a dot.
        let mut file = name.as_ref().to_owned();
        file.push(".");
        file.push(ENDING);
        self.0.join(file)
    }

    /// Creates the directory.
    pub fn make(&self) -> Result<(), Error> {
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
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_library_and_paths_elsewhere() {
        let shelf = Shelf(PathBuf::from("/shelf"));
        for (name, path) in
            [("a", "/shelf/a.aged"), ("a-0.5", "/shelf/a-0.5.aged"), ("./a", "./a"), ("a.aged", "a.aged")]
        {
            assert_eq!(shelf.file(name), Path::new(path));
        }
        assert_eq!(shelf.place("a.aged"), Path::new("/shelf/a.aged.aged"));
        let bytes = shelf.file(OsStr::from_bytes(b"\xff"));
        assert_eq!(bytes.as_os_str().as_bytes(), b"/shelf/\xff.aged");
    }
}
