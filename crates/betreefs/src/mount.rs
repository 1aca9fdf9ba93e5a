//! Serving a file system from mount to unmount.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use betree::Options;
use disk::{Entry, IoContext, Session as Registered};
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::mount::UnmountFlags;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Result;
use crate::fs::Fs;
use crate::fuse::{REQUEST_MAX_BYTES, Served};
use crate::image;
use crate::options::MountOptions;
use crate::prune::Pruner;
use crate::read_ahead::set_read_ahead;

/// Interval of log writes while changes occur.
const LOG: Duration = Duration::from_secs(1);
/// Interval of checkpoints while changes occur.
const CHECKPOINT: Duration = Duration::from_secs(60);
/// Interval at which freed memory is returned to the system while changes occur: checkpoints free much memory at once.
const GIVE_BACK: Duration = Duration::from_secs(5);

/// Default memory budget of the server, as a fraction of the machine's memory,
const MEMORY: usize = 16;
/// and its minimum.
const LEAST_MEMORY: usize = 256 << 20;
/// The fraction of the memory budget for inodes that the kernel references.
const INODES: usize = 8;
/// Approximate memory of one such inode, in bytes.
const INODE_BYTES: usize = 768;
/// Memory that the store does not count: requests, and nodes while they are decoded and encoded.
const UNCOUNTED: usize = 24 << 20;

/// How long to wait for delayed FUSE requests.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// The file system type in the mount table.
pub const FS_TYPE: &str = "fuse.betreefs";

enum Event {
    /// A signal requested the unmount.
    Signal,
    /// The file system is no longer mounted.
    Ended(std::io::Result<()>),
}

/// Mounts the file system in `image` on `dir` and serves it until an unmount or a signal. Calls `ready` once it is usable.
///
/// # Errors
/// If `image` has no file system, is in use, or cannot be mounted; if the disk fails during close.
pub fn mount(image: &Path, dir: &Path, options: &MountOptions, ready: impl FnOnce()) -> Result<()> {
    let dir = std::fs::canonicalize(dir).context("mounting on", dir)?;
    if options.remount {
        remount(&dir, options).context("changing the options of", &dir)?;
        ready();
        return Ok(());
    }
    let image = std::fs::canonicalize(image).context("opening", image)?;
    let fs = open(&image, options)?;
    let registered = Registered::begin()?;
    let recorded = registered.record(Entry::Mount { dir: dir.clone() })?;
    let (tell, events) = channel();
    for_signals(tell.clone());
    let served = Served::new(Arc::clone(&fs), image.display().to_string());
    let (session, device) = attach(served, &image, &dir, options)?;
    run(session, tell);
    let pruner = Pruner::start(Arc::clone(&fs), device, inodes(options));
    // Without root the kernel's default remains.
    let _ = set_read_ahead(&dir);
    ready();
    let unmount = || {
        // A busy file system stays mounted: a second signal tries again.
        if let Err(error) = unmount(&dir) {
            let why = "close its open files";
            let _ = writeln!(std::io::stderr(), "unmounting {}: {error}; {why}", dir.display());
        }
    };
    let ended = serve_until_end(fs, pruner, unmount, &events, &image);
    recorded.remove();
    ended
}

/// Changes the options of a mount. Waits for files that were just closed without a name, which FUSE releases later.
fn remount(dir: &Path, options: &MountOptions) -> std::io::Result<()> {
    let start = Instant::now();
    loop {
        match rustix::mount::mount_remount(dir, options.flags(), c"") {
            Err(rustix::io::Errno::BUSY) if start.elapsed() < RELEASE_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return Ok(done?),
        }
    }
}

/// Serves the file system in `image`, already mounted through `device`, until it is unmounted. Calls `ready` once it is usable.
///
/// # Errors
/// As [`mount`].
pub fn serve(image: &Path, device: OwnedFd, options: &MountOptions, ready: impl FnOnce()) -> Result<()> {
    let fs = open(image, options)?;
    let (tell, events) = channel();
    let served = Served::new(Arc::clone(&fs), image.display().to_string());
    let second = device.try_clone().context("serving", image)?;
    let session =
        Session::from_fd(served, device, SessionACL::All, config(options)).context("serving", image)?;
    run(session, tell);
    let pruner = Pruner::start(Arc::clone(&fs), second, inodes(options));
    ready();
    serve_until_end(fs, pruner, || (), &events, image)
}

/// Opens the file system.
fn open(image: &Path, options: &MountOptions) -> Result<Arc<Fs>> {
    let storage = if options.read_only { image::open_read_only(image)? } else { image::open(image)? };
    limit_allocator();
    let memory = memory(options);
    let cache_bytes = (memory - memory / INODES).saturating_sub(UNCOUNTED).max(memory / 2);
    // Reads in key order are far more frequent than random reads.
    let store = Options { cache_bytes, contiguous_leaves: true, ..Options::default() };
    Ok(Arc::new(if options.read_only {
        Fs::open_read_only(storage, store)?
    } else {
        Fs::open(storage, store)?
    }))
}

fn memory(options: &MountOptions) -> usize {
    let machine = rustix::system::sysinfo();
    let all = machine.totalram as usize * machine.mem_unit as usize;
    options.cache_bytes.unwrap_or((all / MEMORY).max(LEAST_MEMORY))
}

/// The maximum number of inodes that the kernel references, if the kernel accepts prune notifications.
fn inodes(options: &MountOptions) -> usize {
    memory(options) / INODES / INODE_BYTES
}

/// Makes the C library return freed memory: by default it keeps large pieces, in as many heaps as threads, up to half of the used memory in addition.
fn limit_allocator() {
    #[cfg(target_env = "gnu")]
    for (what, bytes) in
        [(libc::M_ARENA_MAX, 1), (libc::M_MMAP_THRESHOLD, 1 << 20), (libc::M_TRIM_THRESHOLD, 16 << 20)]
    {
        // SAFETY: it sets a number of the allocator, which ignores unknown ones.
        unsafe { libc::mallopt(what, bytes) };
    }
}

/// Makes the C library return freed memory from the middle of its heap as well, which it does on request only.
fn release_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: memory in use is unchanged.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn run(session: Session<Served>, tell: Sender<Event>) {
    std::thread::spawn(move || {
        let _ = tell.send(Event::Ended(session.run()));
    });
}

fn for_signals(tell: Sender<Event>) {
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).expect("these signals can be caught");
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if tell.send(Event::Signal).is_err() {
                return;
            }
        }
    });
}

fn config(options: &MountOptions) -> Config {
    let mut config = Config::default();
    config.n_threads = Some(options.threads.unwrap_or_else(threads));
    config.clone_fd = true;
    config
}

/// Mounts, and returns a duplicate of the connection. Root mounts directly, other users through `fusermount3`.
fn attach(
    served: Served,
    image: &Path,
    dir: &Path,
    options: &MountOptions,
) -> Result<(Session<Served>, OwnedFd)> {
    let mut config = config(options);
    if !geteuid().is_root() {
        config.acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
        config.mount_options = vec![
            MountOption::FSName(image.display().to_string()),
            MountOption::Subtype("betreefs".into()),
            MountOption::DefaultPermissions,
        ];
        if options.read_only {
            config.mount_options.push(MountOption::RO);
        }
        let session = Session::new(served, dir, &config).context("mounting on", dir)?;
        return Ok((session, connection().context("mounting on", dir)?));
    }
    let path = Path::new("/dev/fuse");
    let device: OwnedFd =
        OpenOptions::new().read(true).write(true).open(path).context("opening", path)?.into();
    let data = format!("fd={},rootmode=40000,user_id=0,group_id=0,{}", device.as_raw_fd(), kernel_options());
    let data = CString::new(data).expect("the options contain no zero byte");
    rustix::mount::mount(image, dir, FS_TYPE, options.flags(), Some(data.as_c_str()))
        .context("mounting on", dir)?;
    let session = device
        .try_clone()
        .and_then(|second| Ok((Session::from_fd(served, device, SessionACL::All, config)?, second)));
    session
        .inspect_err(|_| {
            let _ = unmount(dir);
        })
        .context("mounting on", dir)
        .map_err(Into::into)
}

/// The FUSE connection just opened, the only one of this process.
fn connection() -> std::io::Result<OwnedFd> {
    for entry in std::fs::read_dir("/proc/self/fd")?.flatten() {
        if std::fs::read_link(entry.path()).is_ok_and(|to| to == Path::new("/dev/fuse"))
            && let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok())
        {
            // SAFETY: the descriptor is open, and stays open until the session, which is not in use yet, is dropped.
            return unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned();
        }
    }
    Err(std::io::Error::from_raw_os_error(libc::ENOENT))
}

/// The options of the mount system call, besides the device.
pub fn kernel_options() -> String {
    format!("default_permissions,allow_other,max_read={REQUEST_MAX_BYTES}")
}

/// The number of threads: a thread that waits for the disk must not block the others.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).clamp(4, 16))
}

/// Writes the log at intervals until the unmount, then closes the store.
fn serve_until_end(
    fs: Arc<Fs>,
    pruner: Pruner,
    unmount: impl Fn(),
    events: &Receiver<Event>,
    image: &Path,
) -> Result<()> {
    let ended = write_periodically(&fs, unmount, events);
    pruner.stop();
    // The session thread drops its reference before it signals the end.
    let closed = Arc::into_inner(fs).expect("no other reference to the file system exists").close();
    ended.context("serving", image)?;
    closed
}

fn write_periodically(fs: &Fs, unmount: impl Fn(), events: &Receiver<Event>) -> std::io::Result<()> {
    let (mut checkpoint, mut given_back) = (Instant::now(), Instant::now());
    let mut since = false;
    loop {
        match events.recv_timeout(LOG) {
            Ok(Event::Ended(ended)) => return tolerate(ended),
            Ok(Event::Signal) => unmount(),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                // The next writer receives the error.
                if fs.take_changed() {
                    since = true;
                    let _ = fs.sync();
                    if given_back.elapsed() >= GIVE_BACK {
                        release_free_memory();
                        given_back = Instant::now();
                    }
                }
                if since && checkpoint.elapsed() >= CHECKPOINT {
                    let _ = fs.checkpoint();
                    checkpoint = Instant::now();
                    since = false;
                }
            }
        }
    }
}

/// Ignores errors of a request that was interrupted by the unmount.
fn tolerate(ended: std::io::Result<()>) -> std::io::Result<()> {
    match ended {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => Ok(()),
        ended => ended,
    }
}

fn unmount(dir: &Path) -> std::io::Result<()> {
    if geteuid().is_root() {
        return Ok(rustix::mount::unmount(dir, UnmountFlags::NOFOLLOW)?);
    }
    let output = std::process::Command::new("fusermount3").arg("-u").arg("--").arg(dir).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
}
