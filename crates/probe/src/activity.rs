//! Records the creation and deletion of files in a live tree, for profiles of short-lived files. Uses fanotify, which covers a whole file
//! system and needs root, or inotify, which needs a watch per directory and no privileges. Never modifies the tree.

mod fanotify;
mod inotify;

use crate::{Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, StatxFlags, statx};
use snapshot::activity::Collected;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval of the checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The kernel interface that reports the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watcher {
    /// Needs Linux 5.17 or newer, and root.
    Fanotify,
    /// Works on any Linux; needs a watch per directory.
    Inotify,
}

impl Watcher {
    /// The name of the interface.
    pub fn name(self) -> &'static str {
        match self {
            Watcher::Fanotify => "fanotify",
            Watcher::Inotify => "inotify",
        }
    }
}

/// Known gaps of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordingGaps {
    /// Overflows of the kernel's queue. Files created or deleted in the meantime are missing.
    pub overflows: u64,
    /// Files deleted before their size could be read; they have the last known size, or none.
    pub without_size: u64,
    /// Directories that could not be watched.
    pub unwatched: u64,
}

/// A watched tree.
pub struct TreeWatch {
    by: Box<dyn EventSource>,
    watcher: Watcher,
    fallback_reason: Option<String>,
}

/// The result of a recording.
pub struct Recording {
    /// The profiles.
    pub collected: Collected,
    /// Its known gaps.
    pub gaps: RecordingGaps,
    /// Duration of the recording.
    pub duration: Duration,
}

/// A source of file events. Times are those of [`snapshot::activity::Collector`].
trait EventSource {
    /// A descriptor that polls as readable when events are pending.
    fn ready(&self) -> BorrowedFd<'_>;
    /// Processes all pending events.
    fn take(&mut self) -> Result<()>;
    /// Ends the recording.
    fn finish(self: Box<Self>) -> (Collected, RecordingGaps);
}

/// Starts to watch `tree` with `watcher`, or by default with fanotify if possible, else inotify.
///
/// # Errors
/// If `tree` is not a directory, or cannot be watched with this interface.
pub fn watch(tree: &Path, watcher: Option<Watcher>) -> Result<TreeWatch> {
    if !std::fs::metadata(tree).map_err(Error::io("checking", tree))?.is_dir() {
        return Err(Error::cannot(
            format!("recording file activity in {}", tree.display()),
            "it is not a directory",
        ));
    }
    let inotify = |fallback_reason| -> Result<TreeWatch> {
        let by = Box::new(inotify::Inotify::new(tree)?);
        Ok(TreeWatch { by, watcher: Watcher::Inotify, fallback_reason })
    };
    if watcher == Some(Watcher::Inotify) {
        return inotify(None);
    }
    match fanotify::Fanotify::new(tree) {
        Ok(by) => Ok(TreeWatch { by: Box::new(by), watcher: Watcher::Fanotify, fallback_reason: None }),
        Err(error) if watcher.is_some() => Err(error),
        Err(error) => inotify(Some(error.to_string())),
    }
}

impl TreeWatch {
    /// The interface in use.
    pub fn watcher(&self) -> Watcher {
        self.watcher
    }

    /// Why fanotify was not used although it was tried.
    pub fn fallback_reason(&self) -> Option<&str> {
        self.fallback_reason.as_deref()
    }

    /// Records until `time` has passed or `stop` returns true; `stop` is called regularly with the elapsed time.
    ///
    /// # Errors
    /// If the kernel reports no more events.
    pub fn record(mut self, time: Duration, stop: &mut dyn FnMut(Duration) -> bool) -> Result<Recording> {
        let begun = Instant::now();
        while !stop(begun.elapsed()) && begun.elapsed() < time {
            let left = time.saturating_sub(begun.elapsed()).min(POLL_INTERVAL);
            let timeout = left.try_into().expect("the timeout is short");
            match poll(&mut [PollFd::from_borrowed_fd(self.by.ready(), PollFlags::IN)], Some(&timeout)) {
                // After a signal, the loop condition decides whether to stop.
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(Error::cannot("waiting for file events of the kernel", error.to_string()));
                }
            }
            self.by.take()?;
        }
        let duration = begun.elapsed();
        // Reads the remaining events. Reading sizes closes files, which can cause further deletion events, so read twice.
        self.by.take()?;
        self.by.take()?;
        let (collected, gaps) = self.by.finish();
        Ok(Recording { collected, gaps, duration })
    }
}

/// The inode behind a new name.
struct NewInode {
    /// A new regular file, not a further name of an older file.
    is_new_file: bool,
    /// The inode has several names.
    is_linked: bool,
    inode: u64,
}

/// Examines an inode that appeared after `since_s`, in seconds since 1970. A file with one name is new; a file with several names is new
/// if its birth time is later than `since_s` or unknown.
fn examine(opened: BorrowedFd<'_>, since_s: i64) -> rustix::io::Result<NewInode> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let found = statx(opened, c"", AtFlags::EMPTY_PATH, wanted)?;
    let tells_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let is_linked = found.stx_nlink > 1;
    let is_old = is_linked && tells_birth && found.stx_btime.tv_sec < since_s;
    let is_file = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
    Ok(NewInode { is_new_file: is_file && !is_old, is_linked, inode: found.stx_ino })
}

/// The current time in seconds since 1970.
fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// The current local time in milliseconds since 1970.
fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    since_1970 + utc_offset_s(since_1970 / 1000) * 1000
}

/// The offset of local time from UTC in seconds, at a time in seconds since 1970, in the time zone of this process.
pub fn utc_offset_s(seconds: i64) -> i64 {
    // SAFETY: all zeros are a value of this plain structure, and both pointers are valid for the call.
    unsafe {
        let mut local: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&seconds, &mut local).is_null() { 0 } else { local.tm_gmtoff }
    }
}
