//! Output files that get their name only when they are complete and synced, and never replace an existing file.

use crate::Result;
use crate::error::Error;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A file that is being written. If it is dropped unfinished, nothing is left. The same holds after `kill -9` if the file system supports
/// unnamed files; otherwise a kill leaves `.NAME.part`, which the next writer of that name reuses.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    file: File,
    /// The temporary name, if the file system does not support unnamed files.
    part: Option<PathBuf>,
}

impl AtomicFile {
    /// Begins a file for `path`, which must not exist.
    pub fn begin(path: &Path) -> Result<AtomicFile> {
        if path.symlink_metadata().is_ok() {
            return Err(taken(path));
        }
        let dir = match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        let mode = Mode::from_raw_mode(0o666);
        let (file, part) = match rustix::fs::open(dir, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode)
        {
            Ok(file) => (File::from(file), None),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let (file, part) = begin_part(dir, path)?;
                (file, Some(part))
            }
            Err(error) => return Err(Error::io("creating", path)(error)),
        };
        Ok(AtomicFile { path: path.to_owned(), file, part })
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and gives it its name.
    pub fn finish(mut self) -> Result<()> {
        self.file.sync_all().map_err(Error::io("writing", &self.path))?;
        let named = match self.part.take() {
            None => {
                let unnamed = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                rustix::fs::linkat(CWD, unnamed, CWD, &self.path, AtFlags::SYMLINK_FOLLOW)
            }
            Some(part) => {
                let renamed = rustix::fs::renameat_with(CWD, &part, CWD, &self.path, RenameFlags::NOREPLACE);
                // NFS supports links, but not this kind of rename.
                let linked = renamed == Err(Errno::INVAL);
                if renamed.is_err() {
                    self.part = Some(part.clone());
                }
                if linked {
                    rustix::fs::linkat(CWD, part, CWD, &self.path, AtFlags::empty())
                } else {
                    renamed
                }
            }
        };
        match named {
            Err(Errno::EXIST) => Err(taken(&self.path)),
            named => named.map_err(Error::io("naming", &self.path)),
        }
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(part) = self.part.take() {
            // The name of a file that cannot be removed shows that it is partial.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// Creates the partial file for `path` under a temporary name, or truncates the one of a dead process.
fn begin_part(dir: &Path, path: &Path) -> Result<(File, PathBuf)> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    let part = dir.join(name);
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(&part, flags, Mode::from_raw_mode(0o666)).map_err(Error::io("creating", &part))?;
    let file = File::from(file);
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        Errno::WOULDBLOCK => Error::Busy(path.to_owned()),
        error => Error::io("locking", &part)(error),
    })?;
    // The previous holder of the lock may have renamed or removed the file.
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    let here = part.symlink_metadata().and_then(|named| Ok(same(&named, &file.metadata()?)));
    if !here.is_ok_and(|same| same) {
        return Err(Error::Busy(path.to_owned()));
    }
    file.set_len(0).map_err(Error::io("beginning", &part))?;
    Ok((file, part))
}

fn taken(path: &Path) -> Error {
    Error::io("creating", path)(std::io::Error::from(std::io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn file_gets_its_name_when_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut file = AtomicFile::begin(&path).unwrap();
        file.file().write_all(b"all of it").unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
        drop(AtomicFile::begin(&dir.path().join("b")).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "a dropped file was left behind");
    }

    #[test]
    fn leftover_of_a_dead_process_is_reused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(dir.path().join(".a.part"), "half of an old one").unwrap();
        let (mut file, part) = begin_part(dir.path(), &path).unwrap();
        assert!(
            matches!(begin_part(dir.path(), &path), Err(Error::Busy(_))),
            "two processes write the same file"
        );
        file.write_all(b"all of it").unwrap();
        AtomicFile { path: path.clone(), file, part: Some(part) }.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
        let (file, part) = begin_part(dir.path(), &dir.path().join("b")).unwrap();
        drop(AtomicFile { path: dir.path().join("b"), file, part: Some(part) });
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "a dropped file was left behind");
        std::os::unix::fs::symlink(&path, dir.path().join(".c.part")).unwrap();
        assert!(begin_part(dir.path(), &dir.path().join("c")).is_err(), "a symbolic link was followed");
        assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
    }

    #[test]
    fn existing_file_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let late = AtomicFile::begin(&path).unwrap();
        std::fs::write(&path, "mine").unwrap();
        for refused in [late.finish(), AtomicFile::begin(&path).map(drop)] {
            let message = refused.unwrap_err().to_string();
            assert!(message.ends_with("choose another name"), "{message}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }
}
