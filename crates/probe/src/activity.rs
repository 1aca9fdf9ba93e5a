//! Watches which files come and go in a live tree, for profiles of short-lived files: by fanotify, which sees a whole file
//! system and needs root, or by inotify, which needs a watch for each directory and nothing else. The tree is only looked at.

mod fanotify;
mod inotify;

use crate::{Error, Result};
use activity::Collected;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, StatxFlags, statx};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often it is asked whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// What watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watcher {
    /// Linux 5.17 or newer, as root.
    Fanotify,
    /// Any Linux; a watch for each directory.
    Inotify,
}

impl Watcher {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Watcher::Fanotify => "fanotify",
            Watcher::Inotify => "inotify",
        }
    }
}

/// What was not seen, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Missed {
    /// How often the kernel's queue ran over. Files that came or went meanwhile are missing.
    pub overflows: u64,
    /// Files that were gone before their size could be looked at; they have the size that was last seen, or none.
    pub without_size: u64,
    /// Directories that could not be watched.
    pub unwatched: u64,
}

/// A tree that is watched.
pub struct Watch {
    by: Box<dyn Watches>,
    watcher: Watcher,
    why: Option<String>,
}

/// What was seen.
pub struct Recorded {
    /// The profiles.
    pub collected: Collected,
    /// What was not seen.
    pub missed: Missed,
    /// How long was watched.
    pub watched: Duration,
}

/// Something that watches. Times are those of [`activity::Collector`].
trait Watches {
    /// What is ready when there is something to read.
    fn ready(&self) -> BorrowedFd<'_>;
    /// Takes in all that there is to read.
    fn take(&mut self) -> Result<()>;
    /// What was seen.
    fn finish(self: Box<Self>) -> (Collected, Missed);
}

/// Begins to watch `tree`, by `watcher`, or by the best there is: fanotify, or else inotify.
///
/// # Errors
/// If it is no directory, or cannot be watched so.
pub fn watch(tree: &Path, watcher: Option<Watcher>) -> Result<Watch> {
    if !std::fs::metadata(tree).map_err(Error::io("checking", tree))?.is_dir() {
        return Err(Error::cannot(
            format!("recording file activity in {}", tree.display()),
            "it is not a directory",
        ));
    }
    let inotify = |why| -> Result<Watch> {
        let by = Box::new(inotify::Inotify::new(tree)?);
        Ok(Watch { by, watcher: Watcher::Inotify, why })
    };
    if watcher == Some(Watcher::Inotify) {
        return inotify(None);
    }
    match fanotify::Fanotify::new(tree) {
        Ok(by) => Ok(Watch { by: Box::new(by), watcher: Watcher::Fanotify, why: None }),
        Err(error) if watcher.is_some() => Err(error),
        Err(error) => inotify(Some(error.to_string())),
    }
}

impl Watch {
    /// What watches.
    pub fn watcher(&self) -> Watcher {
        self.watcher
    }

    /// Why it is not fanotify, where that was tried.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Watches for some time, or until `stop` says so, which is told from time to time how long it was.
    ///
    /// # Errors
    /// If the kernel no longer tells.
    pub fn record(mut self, time: Duration, stop: &mut dyn FnMut(Duration) -> bool) -> Result<Recorded> {
        let begun = Instant::now();
        while !stop(begun.elapsed()) && begun.elapsed() < time {
            let left = time.saturating_sub(begun.elapsed()).min(PATIENCE);
            let timeout = left.try_into().expect("it is short");
            match poll(&mut [PollFd::from_borrowed_fd(self.by.ready(), PollFlags::IN)], Some(&timeout)) {
                // A signal, and whether it means to stop is asked above.
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(Error::cannot("waiting for file events of the kernel", error.to_string()));
                }
            }
            self.by.take()?;
        }
        let watched = begun.elapsed();
        // What happened before the end and was not read; reading sizes lets go of files, whose end is then told.
        self.by.take()?;
        self.by.take()?;
        let (collected, missed) = self.by.finish();
        Ok(Recorded { collected, missed, watched })
    }
}

/// What a name that has appeared stands for.
struct Look {
    /// A file that is new; not a symbolic link or a pipe, and not a further name of a file that was there before.
    is_new_file: bool,
    /// It has other names.
    is_linked: bool,
    inode: u64,
}

/// Looks at what has appeared since the time in seconds since 1970. A file with one name is new; of one with several the file
/// system tells when it was made, and where it does not, it is taken for new.
fn look(opened: BorrowedFd<'_>, since_s: i64) -> rustix::io::Result<Look> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let found = statx(opened, c"", AtFlags::EMPTY_PATH, wanted)?;
    let tells_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let is_linked = found.stx_nlink > 1;
    let is_old = is_linked && tells_birth && found.stx_btime.tv_sec < since_s;
    let is_file = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
    Ok(Look { is_new_file: is_file && !is_old, is_linked, inode: found.stx_ino })
}

/// The present in seconds since 1970.
fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// The present in local milliseconds since 1970.
fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    since_1970 + utc_offset_s(since_1970 / 1000) * 1000
}

/// The seconds by which local time was ahead of UTC at a time in seconds since 1970, by the time zone of this process.
pub fn utc_offset_s(seconds: i64) -> i64 {
    // SAFETY: all zeros are a value of this plain structure, and both pointers are good for the call.
    unsafe {
        let mut local: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&seconds, &mut local).is_null() { 0 } else { local.tm_gmtoff }
    }
}
