//! The image or device that a file system lies on: made, opened for use, or looked at.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use betree::{FileStorage, Storage};
use disk::{BlockDevice, IoContext, mount_points};
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::error::Result;
use crate::overlay::Overlay;

/// How long is waited for a server that is just ending.
const PATIENCE: Duration = Duration::from_secs(10);

/// The message if another process has it open.
const IN_USE: &str = "another process has it open; end that process first";

/// Takes an image or device to make a file system on. An image that is not there is made, `size` bytes long. What is there, and so is
/// lost, must be named once more as `erase`; a device that holds anything else is refused all the same. Of a device the first
/// `size` bytes are taken, all unless told.
///
/// # Errors
/// If it is not to be used, or cannot be.
pub fn create(path: &Path, size: Option<u64>, erase: Option<&Path>) -> Result<Arc<dyn Storage>> {
    let refuse = |why: String| disk::Error::Device { device: path.to_owned(), why };
    let there = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => Some(found.context("opening", path)?),
    };
    let Some(there) = there else {
        let size =
            size.ok_or_else(|| refuse("it does not exist; give --size to create an image".to_owned()))?;
        crate::superblock::large_enough(size)?;
        return Ok(Arc::new(FileStorage::create(path, size).context("creating the image", path)?));
    };
    if there.file_type().is_block_device() {
        let erase = erase.map(|erase| erase.to_string_lossy());
        BlockDevice::claim(path, erase.as_deref())?;
    } else if erase != Some(path) {
        let why =
            format!("creating a file system erases all data on it; confirm with --erase {}", path.display());
        return Err(refuse(why).into());
    }
    let storage = FileStorage::open(path).context("opening", path)?;
    let len = storage.len().context("reading the size of", path)?;
    match size {
        Some(size) if size > len => {
            Err(refuse(format!("it has {len} bytes, less than the {size} of the file system")).into())
        }
        Some(size) => Ok(Arc::new(Front { of: storage, len: size })),
        None => Ok(Arc::new(storage)),
    }
}

/// Opens it to be used by this process alone. A server that is just ending is waited for; one whose file system is mounted is not.
pub(crate) fn open(path: &Path) -> Result<Arc<dyn Storage>> {
    let start = Instant::now();
    loop {
        match FileStorage::open(path) {
            Err(error) if is_in_use(&error) => {
                let mounted = mount_points("self")?.into_iter().find(|mount| mount.source == path);
                if let Some(mount) = mounted {
                    let dir = mount.dir.display();
                    let why = format!("it is mounted on {dir}; run `umount {dir}` first");
                    return Err(disk::Error::Device { device: path.to_owned(), why }.into());
                }
                if start.elapsed() >= PATIENCE {
                    return Err(io::Error::other(IN_USE)).context("opening", path).map_err(Into::into);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return Ok(Arc::new(opened.context("opening", path)?)),
        }
    }
}

/// Another process has the lock, or the device.
fn is_in_use(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Other || error.kind() == ErrorKind::ResourceBusy
}

/// Opens it to be looked at: what is written to it stays in memory, and so does what its log brings back. Others may look too, but
/// not use it.
///
/// # Errors
/// If it cannot be read, or is in use.
pub fn open_read_only(path: &Path) -> Result<Arc<dyn Storage>> {
    Ok(Arc::new(Overlay::new(Arc::new(Looked::open(path).context("opening", path)?))))
}

/// The first bytes of a disk.
struct Front {
    of: FileStorage,
    len: u64,
}

impl Storage for Front {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.of.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.of.write_at(buffer, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.of.flush()
    }
}

/// A file or device that is open for reading.
struct Looked {
    file: File,
    len: u64,
}

impl Looked {
    fn open(path: &Path) -> io::Result<Self> {
        drop(input::open_disk(path)?);
        let open = |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
        // Past the page cache where that can be, as what is used is.
        let mut file = open(OFlags::DIRECT).or_else(|_| open(OFlags::empty()))?;
        flock(&file, FlockOperation::NonBlockingLockShared).map_err(|_| io::Error::other(IN_USE))?;
        let len = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, len })
    }
}

impl Storage for Looked {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EROFS))
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
