//! Disk images: sparse files that a loop device makes into disks.

use crate::error::{Error, IoContext};
use crate::tool::{command, run_tool};
use rustix::fs::{SeekFrom, ioctl_ficlone, seek, statfs, statvfs};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// `f_type` of tmpfs, whose free space is a promise that only memory can keep.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// A disk image. Where its blocks lie on the backing store is not to matter: layout is measured in it, not below.
#[derive(Clone, Debug)]
pub struct Image {
    path: PathBuf,
    size_bytes: u64,
}

impl Image {
    /// Creates an image that takes no space yet; a file of that name is an error.
    pub fn create(path: &Path, size_bytes: u64) -> Result<Image, Error> {
        let file = File::create_new(path).context("creating the image", path)?;
        let sized = file.set_len(size_bytes).and_then(|()| std::fs::canonicalize(path));
        if sized.is_err() {
            // What is left would be an image of no size.
            let _ = std::fs::remove_file(path);
        }
        Ok(Image { path: sized.context("sizing the image", path)?, size_bytes })
    }

    /// Finds an image that is there.
    pub fn open(path: &Path) -> Result<Image, Error> {
        let path = std::fs::canonicalize(path).context("opening the image", path)?;
        let data = std::fs::metadata(&path).context("opening the image", &path)?;
        if !data.is_file() {
            let why = "it is a device or directory, not an image; use --device or --dir".into();
            return Err(Error::Device { device: path, why });
        }
        Ok(Image { path, size_bytes: data.len() })
    }

    /// Where it is: an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How large a disk it is.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

/// How a copy of an image came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copied {
    /// The file system below shares its blocks: it took no time and no space.
    ByReference,
    /// Its data were copied, and holes left out.
    Sparsely,
}

/// Copies an image to a new file: by reference where the file system below can, else its data.
pub fn copy_image(image: &Path, copy: &Path) -> Result<Copied, Error> {
    let from = input::open(image).context("opening the image", image)?;
    let to = File::create_new(copy).context("creating the copy", copy)?;
    if ioctl_ficlone(&to, &from).is_ok() {
        return Ok(Copied::ByReference);
    }
    let takes = from.metadata().context("checking", image)?.blocks() * 512;
    drop((from, to));
    let dir = copy.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let free = free_bytes(dir)?;
    if takes > free {
        let _ = std::fs::remove_file(copy);
        let why = format!("it needs {takes} bytes, but {} has {free} free", dir.display());
        return Err(io::Error::new(io::ErrorKind::StorageFull, why)).context("copying the image", image);
    }
    let mut cp = command("cp");
    let output =
        run_tool(cp.args(["--reflink=never", "--sparse=always", "--"]).arg(image).arg(copy), "coreutils")?;
    if output.status.success() {
        return Ok(Copied::Sparsely);
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(why)).context("copying the image", image)
}

/// Reads all data of a file or block device of that size, in order, a MiB at a time at most. Holes of a file are passed over.
pub(crate) fn read_data(
    file: &File,
    size: u64,
    mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut piece = vec![0; 1 << 20];
    let mut at = 0;
    while at < size {
        let (start, end) = data_from(file, at, size)?;
        at = start;
        while at < end {
            let piece = &mut piece[..(1 << 20).min((end - at) as usize)];
            file.read_exact_at(piece, at)?;
            each(at, piece)?;
            at += piece.len() as u64;
        }
        at = end;
    }
    Ok(())
}

/// The next range from `at` on that holds data, empty at the end if none does. Of what does not tell all of it.
fn data_from(file: &File, at: u64, size: u64) -> io::Result<(u64, u64)> {
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok((size, size)),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((at, size)),
        Err(e) => return Err(e.into()),
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(size);
    // A device has no holes, and says that it ends where it begins.
    Ok(if end <= start { (start, size) } else { (start.min(size), end.min(size)) })
}

/// Bytes that can still be written below `dir`; in a tmpfs no more than there is memory for.
pub fn free_bytes(dir: &Path) -> Result<u64, Error> {
    let doing = "reading the free space of";
    let numbers = statvfs(dir).context(doing, dir)?;
    let free = numbers.f_bavail * numbers.f_frsize;
    if !in_memory(dir)? {
        return Ok(free);
    }
    let meminfo = Path::new("/proc/meminfo");
    let text = std::fs::read_to_string(meminfo).context("reading", meminfo)?;
    Ok(mem_available_bytes(&text).map_or(free, |memory| free.min(memory)))
}

/// Whether what lies at `path` is kept in memory, so that reading it reaches no disk.
pub fn in_memory(path: &Path) -> Result<bool, Error> {
    let numbers = statfs(path).context("reading the file system of", path)?;
    Ok(numbers.f_type as u64 == TMPFS_MAGIC)
}

/// `MemAvailable` of the text of `/proc/meminfo`.
fn mem_available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn an_image_is_sparse_and_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk.img");
        let image = Image::create(&path, 1 << 40).unwrap();
        assert_eq!(std::fs::metadata(image.path()).unwrap().blocks(), 0);
        assert_eq!(Image::open(&path).unwrap().size_bytes(), 1 << 40);
        let message = Image::create(&path, 4096).unwrap_err().to_string();
        assert!(message.ends_with("delete it or choose another name"), "{message}");
        assert_eq!(Image::open(&path).unwrap().size_bytes(), 1 << 40);
        assert!(Image::open(dir.path()).is_err());
    }

    #[test]
    fn free_space_is_some() {
        assert!(free_bytes(Path::new("/")).unwrap() > 0);
        assert!(free_bytes(Path::new("/does/not/exist")).is_err());
    }

    proptest! {
        #[test]
        fn memory_is_found_wherever_the_line_is(kb in 0u64..1 << 50, before in "([A-Za-z]{1,9}: +[0-9]{1,9} kB\n)*") {
            let text = format!("{before}MemAvailable:   {kb} kB\nSwap: 1 kB\n");
            prop_assert_eq!(mem_available_bytes(&text), Some(kb * 1024));
        }

        #[test]
        fn any_text_is_survived(text in "(MemAvailable:)?\\PC*") {
            mem_available_bytes(&text);
        }
    }
}
