//! Serving a file system from its mount to its end.

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
use crate::read_ahead::read_ahead;

/// How often the log is written if something changed.
const LOG: Duration = Duration::from_secs(1);
/// How often all that changed is brought into the tree.
const CHECKPOINT: Duration = Duration::from_secs(60);
/// How often what was freed is given back if something changed: checkpoints of the store let go of much at once.
const GIVE_BACK: Duration = Duration::from_secs(5);

/// The share of the machine's memory that everything together takes, unless told,
const MEMORY: usize = 16;
/// and the least of that.
const LEAST_MEMORY: usize = 256 << 20;
/// The share of it that inodes may take which the kernel knows.
const INODES: usize = 8;
/// What such an inode takes, about.
const INODE_BYTES: usize = 768;
/// What takes memory beside what the store counts: requests, nodes that are taken apart and put together.
const UNCOUNTED: usize = 24 << 20;

/// How long is waited for what FUSE lets go of later.
const LETTING_GO: Duration = Duration::from_secs(2);

/// The type that the mount table shows.
pub const KIND: &str = "fuse.betreefs";

enum Event {
    /// A signal asks for the end.
    Signal,
    /// The file system is not mounted any longer.
    Ended(std::io::Result<()>),
}

/// Mounts the file system in `image` on `dir` and serves it until it is unmounted, or a signal asks for that. Calls `ready` when it can be used.
///
/// # Errors
/// If there is no file system, it is in use, or cannot be mounted; if the disk fails while it is closed.
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
    // Without root it stays as the kernel has it.
    let _ = read_ahead(&dir);
    ready();
    let unmount = || {
        // What is in use stays until it is not: a second signal tries again.
        if let Err(error) = unmount(&dir) {
            let why = "close its open files";
            let _ = writeln!(std::io::stderr(), "unmounting {}: {error}; {why}", dir.display());
        }
    };
    let ended = serve_until_end(fs, pruner, unmount, &events, &image);
    recorded.forget();
    ended
}

/// Changes the options of what is mounted. Files that were closed without a name a moment ago, which FUSE lets go of later, are waited for.
fn remount(dir: &Path, options: &MountOptions) -> std::io::Result<()> {
    let start = Instant::now();
    loop {
        match rustix::mount::mount_remount(dir, options.flags(), c"") {
            Err(rustix::io::Errno::BUSY) if start.elapsed() < LETTING_GO => {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return Ok(done?),
        }
    }
}

/// Serves the file system in `image`, which is mounted already by `device`, until it is unmounted. Calls `ready` when it can be used.
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
    spare_memory();
    let memory = memory(options);
    let cache_bytes = (memory - memory / INODES).saturating_sub(UNCOUNTED).max(memory / 2);
    // Files are read in the order of their keys far more often than in random order.
    let store = Options { cache_bytes, in_rows: true, ..Options::default() };
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

/// How many inodes the kernel may know, if it lets itself be told.
fn inodes(options: &MountOptions) -> usize {
    memory(options) / INODES / INODE_BYTES
}

/// Has the C library give back what was freed: it would keep large pieces, in as many heaps as there are threads, half as much again as is in use.
fn spare_memory() {
    #[cfg(target_env = "gnu")]
    for (what, bytes) in
        [(libc::M_ARENA_MAX, 1), (libc::M_MMAP_THRESHOLD, 1 << 20), (libc::M_TRIM_THRESHOLD, 16 << 20)]
    {
        // SAFETY: it sets a number of the allocator; what it does not know it leaves alone.
        unsafe { libc::mallopt(what, bytes) };
    }
}

/// Has the C library give back what was freed in the midst of its heap, too, which it does only when it is told.
fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: what is in use stays as it is.
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

/// Mounts, and gives the connection once more. Root does it by itself, others by `fusermount3`.
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
    let data = CString::new(data).expect("no zero byte is in it");
    rustix::mount::mount(image, dir, KIND, options.flags(), Some(data.as_c_str()))
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

/// The connection that was just made, which is the only one of this process.
fn connection() -> std::io::Result<OwnedFd> {
    for entry in std::fs::read_dir("/proc/self/fd")?.flatten() {
        if std::fs::read_link(entry.path()).is_ok_and(|to| to == Path::new("/dev/fuse"))
            && let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok())
        {
            // SAFETY: it is open, and stays so until the session is dropped, which is not in use yet.
            return unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned();
        }
    }
    Err(std::io::Error::from_raw_os_error(libc::ENOENT))
}

/// What the kernel is told when it mounts, beside the device.
pub fn kernel_options() -> String {
    format!("default_permissions,allow_other,max_read={REQUEST_MAX_BYTES}")
}

/// A thread that waits for the disk must not keep those that do not.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).clamp(4, 16))
}

/// Writes the log now and then until it is not mounted any more, and closes the store.
fn serve_until_end(
    fs: Arc<Fs>,
    pruner: Pruner,
    unmount: impl Fn(),
    events: &Receiver<Event>,
    image: &Path,
) -> Result<()> {
    let ended = write_now_and_then(&fs, unmount, events);
    pruner.stop();
    // The thread that served has dropped what it had before it said that it ended.
    let closed = Arc::into_inner(fs).expect("nobody else has it").close();
    ended.context("serving", image)?;
    closed
}

fn write_now_and_then(fs: &Fs, unmount: impl Fn(), events: &Receiver<Event>) -> std::io::Result<()> {
    let (mut checkpoint, mut given_back) = (Instant::now(), Instant::now());
    let mut since = false;
    loop {
        match events.recv_timeout(LOG) {
            Ok(Event::Ended(ended)) => return tolerate(ended),
            Ok(Event::Signal) => unmount(),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                // A failure is told to whoever writes next.
                if fs.take_changed() {
                    since = true;
                    let _ = fs.sync();
                    if given_back.elapsed() >= GIVE_BACK {
                        give_back_memory();
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

/// What is mounted may go while a request is handed over.
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
