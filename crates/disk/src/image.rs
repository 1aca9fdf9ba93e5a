//! Disk images: sparse files used as disks through loop devices.

use crate::error::{Error, IoContext};
use crate::tool::{command, run_tool};
use rustix::fs::{SeekFrom, ioctl_ficlone, seek, statfs, statvfs};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// `f_type` of tmpfs. Its free space is limited by the available memory.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// A disk image. The location of its blocks on the backing file system does not matter: layout is measured inside the image.
#[derive(Clone, Debug)]
pub struct Image {
    path: PathBuf,
    size_bytes: u64,
}

impl Image {
    /// Refuses a path that exists, which [`create`](Image::create) would refuse too.
    pub fn check_new(path: &Path) -> Result<(), Error> {
        match std::fs::symlink_metadata(path) {
            Ok(_) => Err(rustix::io::Errno::EXIST).context("creating the image", path),
            Err(_) => Ok(()),
        }
    }

    /// Creates a sparse image without allocated blocks. It is an error if the file exists.
    pub fn create(path: &Path, size_bytes: u64) -> Result<Image, Error> {
        let file = File::create_new(path).context("creating the image", path)?;
        let sized = file.set_len(size_bytes).and_then(|()| std::fs::canonicalize(path));
        if sized.is_err() {
            // Do not leave an image of size 0.
            let _ = std::fs::remove_file(path);
        }
        Ok(Image { path: sized.context("sizing the image", path)?, size_bytes })
    }

    /// Opens an existing image.
    pub fn open(path: &Path) -> Result<Image, Error> {
        let path = std::fs::canonicalize(path).context("opening the image", path)?;
        let data = std::fs::metadata(&path).context("opening the image", &path)?;
        if !data.is_file() {
            let why = "it is a device or directory, not an image; use --device or --dir".into();
            return Err(Error::Device { device: path, why });
        }
        Ok(Image { path, size_bytes: data.len() })
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the disk.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

/// How an image was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMethod {
    /// As a reflink: the copy shares the blocks of the image and took no time and no space.
    Reflink,
    /// By copying its data without the holes.
    Sparse,
}

/// Copies an image to a new file: as a reflink if the file system supports it, otherwise by copying its data.
pub fn copy_image(image: &Path, copy: &Path) -> Result<CopyMethod, Error> {
    let from = input::open(image).context("opening the image", image)?;
    let to = File::create_new(copy).context("creating the copy", copy)?;
    if ioctl_ficlone(&to, &from).is_ok() {
        return Ok(CopyMethod::Reflink);
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
        return Ok(CopyMethod::Sparse);
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(why)).context("copying the image", image)
}

/// Reads all data of a file or block device of `size` bytes, in order, in pieces of up to 1 MiB. Holes are skipped.
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

/// The next range with data at or after `at`; an empty range at the end if there is none. If the file does not report holes, all of the
/// rest.
fn data_from(file: &File, at: u64, size: u64) -> io::Result<(u64, u64)> {
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok((size, size)),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((at, size)),
        Err(e) => return Err(e.into()),
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(size);
    // A block device has no holes; it reports an end equal to the start.
    Ok(if end <= start { (start, size) } else { (start.min(size), end.min(size)) })
}

/// Bytes available for writing below `dir`; in a tmpfs at most the available memory.
pub fn free_bytes(dir: &Path) -> Result<u64, Error> {
    let doing = "reading the free space of";
    let numbers = statvfs(dir).context(doing, dir)?;
    let free = numbers.f_bavail * numbers.f_frsize;
    if !is_on_tmpfs(dir)? {
        return Ok(free);
    }
    let meminfo = Path::new("/proc/meminfo");
    let text = std::fs::read_to_string(meminfo).context("reading", meminfo)?;
    Ok(mem_available_bytes(&text).map_or(free, |memory| free.min(memory)))
}

/// Whether `path` is on a tmpfs, so that reads do not reach a disk.
pub fn is_on_tmpfs(path: &Path) -> Result<bool, Error> {
    let numbers = statfs(path).context("reading the file system of", path)?;
    Ok(numbers.f_type as u64 == TMPFS_MAGIC)
}

/// Parses `MemAvailable` in the text of `/proc/meminfo`.
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
    fn image_is_sparse_and_creation_never_overwrites() {
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
    fn free_space_is_reported() {
        assert!(free_bytes(Path::new("/")).unwrap() > 0);
        assert!(free_bytes(Path::new("/does/not/exist")).is_err());
    }

    proptest! {
        #[test]
        fn available_memory_is_found_on_any_line(kb in 0u64..1 << 50, before in "([A-Za-z]{1,9}: +[0-9]{1,9} kB\n)*") {
            let text = format!("{before}MemAvailable:   {kb} kB\nSwap: 1 kB\n");
            prop_assert_eq!(mem_available_bytes(&text), Some(kb * 1024));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "(MemAvailable:)?\\PC*") {
            mem_available_bytes(&text);
        }
    }
}
