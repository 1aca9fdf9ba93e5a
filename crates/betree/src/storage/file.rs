//! Storage on a file or block device, with direct I/O if possible.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::Storage;
use crate::aligned::Aligned;

/// A raw image or a block device.
#[derive(Debug)]
pub struct FileStorage {
    file: File,
    len: u64,
    direct: bool,
}

impl FileStorage {
    /// Opens an image or block device exclusively. Uses direct I/O if the file system supports it.
    ///
    /// # Errors
    /// If the system call fails, or another process has it open as a store.
    pub fn open(path: &Path) -> io::Result<Self> {
        let open = |flags: OFlags| {
            OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path)
        };
        let device = std::fs::metadata(path)?.file_type().is_block_device();
        // `O_EXCL` on a block device fails while it is mounted.
        let exclusive = if device { OFlags::EXCL } else { OFlags::empty() };
        let (mut file, direct) = match open(exclusive | OFlags::DIRECT) {
            Ok(file) if reads_directly(&file) => (file, true),
            Ok(_) => (open(exclusive)?, false),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => (open(exclusive)?, false),
            Err(error) => return Err(error),
        };
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| io::Error::other("another process has it open; end that process first"))?;
        let len = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, len, direct })
    }

    /// Creates a sparse image of `len` bytes; an existing file is an error.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn create(path: &Path, len: u64) -> io::Result<Self> {
        File::create_new(path)?.set_len(len)?;
        Self::open(path)
    }

    /// Whether direct I/O is used.
    pub fn is_direct(&self) -> bool {
        self.direct
    }
}

/// Some file systems accept the flag but fail the reads.
fn reads_directly(file: &File) -> bool {
    let mut first = Aligned::zeroed(4096);
    file.read_at(&mut first, 0).is_ok()
}

impl Storage for FileStorage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buffer, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
