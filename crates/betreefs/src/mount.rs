//! Serving a file system from its mount to its end.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use betree::{FileStorage, Options};
use disk::{Entry, IoContext, Session as Registered};
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Result;
use crate::fs::Fs;
use crate::fuse::{READ_AHEAD_BYTES, Served};

/// How often the log is written if something changed.
const LOG: Duration = Duration::from_secs(1);
/// How often all that changed is brought into the tree.
const CHECKPOINT: Duration = Duration::from_secs(60);
/// How long is waited for another server of the same image to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a file system is mounted.
#[derive(Debug, Clone, Copy, Default)]
pub struct MountOptions {
    /// Bytes of memory for the store; what is its default unless told.
    pub cache_bytes: Option<usize>,
    /// Threads that answer the kernel.
    pub threads: Option<usize>,
}

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
pub fn mount(image: &Path, dir: &Path, options: MountOptions, ready: impl FnOnce()) -> Result<()> {
    let dir = std::fs::canonicalize(dir).context("mounting on", dir)?;
    let image = std::fs::canonicalize(image).context("opening", image)?;
    let storage = open_storage(&image)?;
    let mut store = Options::default();
    store.cache_bytes = options.cache_bytes.unwrap_or(store.cache_bytes);
    let fs = Arc::new(Fs::open(Arc::new(storage), store)?);
    let registered = Registered::begin()?;
    let recorded = registered.record(Entry::Mount { dir: dir.clone() })?;
    let (tell, events) = channel();
    for_signals(tell.clone());
    let session = attach(Served::new(Arc::clone(&fs), image.display().to_string()), &image, &dir, options)?;
    std::thread::spawn(move || {
        let _ = tell.send(Event::Ended(session.run()));
    });
    read_ahead(&dir);
    ready();
    let ended = serve(&fs, &dir, &events);
    recorded.forget();
    // The thread that served has dropped what it had before it said that it ended.
    let closed = Arc::into_inner(fs).expect("nobody else has it").close();
    ended.context("serving", &image)?;
    closed
}

/// Opens an image or device; a server that is just ending is waited for.
fn open_storage(image: &Path) -> Result<FileStorage> {
    let start = Instant::now();
    loop {
        match FileStorage::open(image) {
            Err(error) if error.kind() == std::io::ErrorKind::Other && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return Ok(opened.context("opening", image)?),
        }
    }
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

/// Mounts. Root does it by itself, others by `fusermount3`.
fn attach(served: Served, image: &Path, dir: &Path, options: MountOptions) -> Result<Session<Served>> {
    let mut config = Config::default();
    config.n_threads = Some(options.threads.unwrap_or_else(threads));
    config.clone_fd = true;
    if !geteuid().is_root() {
        config.acl = SessionACL::Owner;
        config.mount_options = vec![
            MountOption::FSName(image.display().to_string()),
            MountOption::Subtype("betreefs".into()),
            MountOption::DefaultPermissions,
        ];
        return Ok(Session::new(served, dir, &config).context("mounting on", dir)?);
    }
    let path = Path::new("/dev/fuse");
    let device: OwnedFd = OpenOptions::new().read(true).write(true).open(path).context("opening", path)?.into();
    let data = format!(
        "fd={},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other,max_read={}",
        device.as_raw_fd(),
        READ_AHEAD_BYTES
    );
    let data = CString::new(data).expect("no zero byte is in it");
    rustix::mount::mount(image, dir, c"fuse.betreefs", MountFlags::empty(), Some(data.as_c_str()))
        .context("mounting on", dir)?;
    Session::from_fd(served, device, SessionACL::All, config)
        .inspect_err(|_| {
            let _ = unmount(dir);
        })
        .context("mounting on", dir)
        .map_err(Into::into)
}

/// A thread that waits for the disk must not keep those that do not.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).clamp(4, 16))
}

/// Lets the kernel read ahead as far as is good for whole nodes.
fn read_ahead(dir: &Path) {
    let number = std::fs::metadata(dir).map_or(0, |found| found.st_dev());
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let setting = PathBuf::from(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"));
    // Without root it stays as the kernel has it.
    let _ = std::fs::write(setting, (READ_AHEAD_BYTES >> 10).to_string());
}

/// Writes the log now and then, until the end.
fn serve(fs: &Fs, dir: &Path, events: &Receiver<Event>) -> std::io::Result<()> {
    let mut checkpoint = Instant::now();
    let mut since = false;
    loop {
        match events.recv_timeout(LOG) {
            Ok(Event::Ended(ended)) => return tolerate(ended),
            Ok(Event::Signal) => {
                // What is in use stays until it is not: a second signal tries again.
                if let Err(error) = unmount(dir) {
                    eprintln!("unmounting {}: {error}; close what has files open there", dir.display());
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                // A failure is told to whoever writes next.
                if fs.take_changed() {
                    since = true;
                    let _ = fs.sync();
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
