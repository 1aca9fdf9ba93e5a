//! Access to the image or device of a file system: creating, opening, and opening for reading.

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

/// How long to wait for a server that is shutting down.
const PATIENCE: Duration = Duration::from_secs(10);

/// The message if another process has the image open.
const IN_USE: &str = "another process has it open; end that process first";

/// Prepares an image or device for a new file system. A missing image is created with `size` bytes. Existing content is destroyed, so it
/// must be confirmed by the same path as `erase`; a device with other content is refused even then. Of a device the first `size` bytes are
/// used, by default all.
///
/// # Errors
/// If the image or device is refused or cannot be used.
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

/// Opens the image for exclusive use. Waits for a server that is shutting down, but not for one whose file system is mounted.
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

/// Whether another process holds the lock or the device.
fn is_in_use(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Other || error.kind() == ErrorKind::ResourceBusy
}

/// Opens the image for reading: writes and the replayed log stay in memory. Other readers may open it at the same time, other writers may
/// not.
///
/// # Errors
/// If it cannot be read, or is in use.
pub fn open_read_only(path: &Path) -> Result<Arc<dyn Storage>> {
    Ok(Arc::new(Overlay::new(Arc::new(Looked::open(path).context("opening", path)?))))
}

/// The first bytes of a storage.
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

/// A file or device opened for reading.
struct Looked {
    file: File,
    len: u64,
}

impl Looked {
    fn open(path: &Path) -> io::Result<Self> {
        drop(input::open_disk(path)?);
        let open = |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
        // Bypasses the page cache if possible, as opening for writing does.
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
