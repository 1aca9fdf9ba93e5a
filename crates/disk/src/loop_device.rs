//! Loop devices: block devices backed by images.

use crate::error::{Error, IoContext};
use crate::file_lock::FileLock;
use crate::modelled::ModelledDisk;
use crate::observe::observed;
use crate::read_ahead::ReadAhead;
use crate::registry::{Entry, EntryGuard, Session};
use crate::rotation::Rotation;
use rustix::fs::{fstat, major, minor};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl};
use std::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

// From <linux/loop.h>.
const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_GET_STATUS64: Opcode = 0x4C05;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;
const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Sector size of the disk.
const BLOCK_BYTES: u32 = 512;

/// Attempts to configure a free device before giving up; another process may take it first.
const TRIES: u32 = 64;

/// An image attached as a block device. Detached on drop, and by the kernel if the process is killed.
#[derive(Debug)]
pub struct LoopDevice {
    device: PathBuf,
    devno: (u32, u32),
    direct_io: bool,
    rotation: Option<Rotation>,
    read_ahead: Option<ReadAhead>,
    /// Keeps the device attached: autoclear detaches it at its last close.
    handle: Option<File>,
    /// Keeps other runs from using the image.
    _lock: FileLock,
    recorded: Option<EntryGuard>,
}

/// The largest request of a loop device in KiB: 128 pages, the maximum number of segments here. Larger requests occur only if pages happen
/// to be contiguous in memory, which makes runs irreproducible.
const REQUEST_KIB: u32 = 512;

impl LoopDevice {
    /// Attaches `image`, with direct I/O if its file system supports it, so that no block is cached twice.
    pub fn attach(session: &Arc<Session>, image: &Path, read_ahead_kb: u32) -> Result<LoopDevice, Error> {
        LoopDevice::attach_with(session, image, read_ahead_kb, 0, false)
    }

    /// Attaches a modelled disk. If its model rotates, the kernel treats it as such a disk.
    pub fn attach_modelled(
        session: &Arc<Session>,
        disk: &ModelledDisk,
        read_ahead_kb: u32,
    ) -> Result<LoopDevice, Error> {
        let rotates = disk.model()?.rotation_ns() > 0;
        LoopDevice::attach_with(session, disk.file(), read_ahead_kb, 0, rotates)
    }

    /// Attaches `image` read-only. Some file systems write a little even when they are mounted read-only.
    pub fn attach_read_only(
        session: &Arc<Session>,
        image: &Path,
        read_ahead_kb: u32,
    ) -> Result<LoopDevice, Error> {
        LoopDevice::attach_with(session, image, read_ahead_kb, LO_FLAGS_READ_ONLY, false)
    }

    fn attach_with(
        session: &Arc<Session>,
        image: &Path,
        read_ahead_kb: u32,
        flags: u32,
        rotates: bool,
    ) -> Result<LoopDevice, Error> {
        let image = &std::fs::canonicalize(image).context("attaching the image", image)?;
        let file = File::options().read(true).write(true).open(image).context("opening the image", image)?;
        let Ok(lock) = FileLock::try_take(file).context("locking the image", image)? else {
            return Err(Error::ImageInUse(image.clone()));
        };
        if let Some(device) = attached(image)?.first() {
            let why = format!("it is already attached; run `losetup -d {}` first", device.display());
            return Err(Error::Device { device: image.clone(), why });
        }
        let recorded = session.record(Entry::Loop { backing: image.clone() })?;
        let command = || format!("losetup --find {}", image.display());
        let (device, handle) = observed(command, || configure(image, flags))?;
        let numbers = fstat(&handle).context("checking", &device)?.st_rdev;
        let mut this = LoopDevice {
            device,
            devno: (major(numbers), minor(numbers)),
            direct_io: false,
            rotation: None,
            read_ahead: None,
            handle: Some(handle),
            _lock: lock,
            recorded: Some(recorded),
        };
        let dio = PathBuf::from(format!("/sys/dev/block/{}:{}/loop/dio", this.devno.0, this.devno.1));
        this.direct_io = std::fs::read_to_string(&dio).context("reading", &dio)?.trim() == "1";
        this.limit_requests()?;
        this.rotation = Some(Rotation::set(this.devno, rotates)?);
        // Last, because the kernel raises it when another setting changes.
        this.read_ahead = Some(ReadAhead::set(this.devno, read_ahead_kb)?);
        Ok(this)
    }

    /// Limits requests to [`REQUEST_KIB`], unless the limit is lower already.
    fn limit_requests(&self) -> Result<(), Error> {
        let path = format!("/sys/dev/block/{}:{}/queue/max_sectors_kb", self.devno.0, self.devno.1);
        let limit = PathBuf::from(path);
        let now = std::fs::read_to_string(&limit).context("reading", &limit)?;
        if now.trim().parse().is_ok_and(|kib: u32| kib > REQUEST_KIB) {
            std::fs::write(&limit, REQUEST_KIB.to_string()).context("setting", &limit)?;
        }
        Ok(())
    }

    /// Sets the read-ahead again: see [`ReadAhead::hold`].
    pub fn hold_read_ahead(&self) -> Result<(), Error> {
        self.read_ahead.as_ref().map_or(Ok(()), ReadAhead::hold)
    }

    /// The block device.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// The major and minor number.
    pub fn devno(&self) -> (u32, u32) {
        self.devno
    }

    /// Whether reads and writes bypass the page cache of the image.
    pub fn direct_io(&self) -> bool {
        self.direct_io
    }

    /// Detaches the image and waits until the device is free.
    pub fn detach(mut self) -> Result<(), Error> {
        self.clear()
    }

    fn clear(&mut self) -> Result<(), Error> {
        let Some(handle) = self.handle.take() else { return Ok(()) };
        // The read-ahead last, because the kernel raises it when another setting changes.
        (self.rotation, self.read_ahead) = (None, None);
        clear(&self.device, handle)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let (Err(_), Some(recorded)) = (self.clear(), self.recorded.take()) {
            recorded.keep();
        }
    }
}

/// Detaches every loop device backed by `backing`, unless a living run holds the image. Returns the devices.
pub fn detach_all(backing: &Path) -> Result<Vec<PathBuf>, Error> {
    // Held until the function returns, so that no run attaches the image meanwhile. No run can hold a deleted image.
    let _lock = match File::open(backing) {
        Ok(file) => match FileLock::try_take(file).context("locking the image", backing)? {
            Ok(lock) => Some(lock),
            Err(_) => return Ok(Vec::new()),
        },
        Err(_) => None,
    };
    let devices = attached(backing)?;
    for device in &devices {
        let handle = File::open(device).context("opening", device)?;
        clear(device, handle)?;
    }
    Ok(devices)
}

/// The loop devices backed by `backing`, even if it is deleted.
fn attached(backing: &Path) -> Result<Vec<PathBuf>, Error> {
    let block = Path::new("/sys/block");
    let mut devices = Vec::new();
    for entry in std::fs::read_dir(block).context("reading", block)? {
        let entry = entry.context("reading", block)?;
        let Ok(file) = std::fs::read_to_string(entry.path().join("loop/backing_file")) else { continue };
        let file = file.trim_end_matches('\n');
        let path = Path::new(file.strip_suffix(" (deleted)").unwrap_or(file));
        let device = Path::new("/dev").join(entry.file_name());
        if path == backing || (path.file_name() == backing.file_name() && is_backed_by(&device, backing)) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// Whether this file backs a loop device. Its path may differ for the process that attached it, as in a chroot. A detached device has no
/// backing file.
fn is_backed_by(device: &Path, backing: &Path) -> bool {
    let (Ok(handle), Ok(backing)) = (File::open(device), std::fs::metadata(backing)) else { return false };
    // SAFETY: the structure has the layout of the kernel's `loop_info64`, which the request fills.
    let status = unsafe { ioctl(&handle, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) };
    status.is_ok_and(|status| (status.device, status.inode) == (backing.dev(), backing.ino()))
}

/// Finds a free loop device and attaches the image to it.
fn configure(image: &Path, flags: u32) -> Result<(PathBuf, File), Error> {
    let read_write = || File::options().read(true).write(true).clone();
    let control_path = Path::new("/dev/loop-control");
    let control = read_write().open(control_path).context("requesting a loop device from", control_path)?;
    // A separate open file without our lock, which must end with this process.
    let backing = read_write().open(image).context("opening the image", image)?;
    let mut result = Err(Errno::BUSY);
    for _ in 0..TRIES {
        // SAFETY: the request takes no argument and returns a number.
        let number =
            unsafe { ioctl(&control, GetFree) }.context("finding a free loop device at", control_path)?;
        let device = PathBuf::from(format!("/dev/loop{number}"));
        let handle = read_write().open(&device).context("opening", &device)?;
        let config = LoopConfig::new(&backing, image, flags);
        // SAFETY: the structure has the layout of the kernel's `loop_config`, which the request reads.
        result = unsafe { ioctl(&handle, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) };
        match result {
            Ok(()) => return Ok((device, handle)),
            Err(Errno::BUSY) => {}
            Err(_) => break,
        }
    }
    result.context("attaching a loop device to", image).map(|()| unreachable!("a success returned"))
}

fn clear(device: &Path, handle: File) -> Result<(), Error> {
    // SAFETY: the request takes no argument.
    match unsafe { ioctl(&handle, NoArg::<LOOP_CLR_FD>::new()) } {
        // The device has detached itself (autoclear).
        Err(Errno::NXIO) => return Ok(()),
        result => result.context("detaching", device)?,
    }
    drop(handle);
    // Another user of the device, such as udev for a moment, delays the detach.
    let name = device.file_name().unwrap_or_default();
    let state = Path::new("/sys/block").join(name).join("loop/backing_file");
    for wait_ms in [1, 10, 50, 100, 200, 500, 1000, 0] {
        if !state.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(wait_ms));
    }
    let why = "it is still in use; it detaches when its last user closes it (`lsblk` shows mounts)".into();
    Err(Error::Device { device: device.to_owned(), why })
}

/// The request for the number of a free loop device; the number is the return value.
struct GetFree;

// SAFETY: the request accesses no memory; its return value is the number.
unsafe impl Ioctl for GetFree {
    type Output = IoctlOutput;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(number: IoctlOutput, _: *mut c_void) -> rustix::io::Result<IoctlOutput> {
        Ok(number)
    }
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopConfig>() == 304);

impl LoopConfig {
    fn new(backing: &File, image: &Path, flags: u32) -> LoopConfig {
        let mut file_name = [0; 64];
        let bytes = image.as_os_str().as_encoded_bytes();
        let len = bytes.len().min(file_name.len() - 1);
        file_name[..len].copy_from_slice(&bytes[..len]);
        let info = LoopInfo {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: flags | LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            file_name,
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        };
        LoopConfig { fd: backing.as_raw_fd() as u32, block_size: BLOCK_BYTES, info, reserved: [0; 8] }
    }
}
