//! Writes the contents of aged files into their preallocated ranges, in place, so that no block moves.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fstat, openat, syncfs};
use rustix::io::{self, Errno};
use trace::FileId;

use crate::data::Filler;
use crate::unwritten::unwritten_ranges;
use crate::walk::{self, Directory, Walk};
use crate::{Error, Flow, Result, Shard};

/// The result of [`fill()`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FillReport {
    /// Number of files examined.
    pub files: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Number of files and directories that could not be read, or not written completely.
    pub errors: u64,
}

/// Maximum number of passes over the files.
const PASSES: u32 = 5;
/// Number of files per work item.
const LOAD: usize = 64;
/// Interval of the calls of `watch` while all threads are busy.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Writes [`crate::contents()`] to the unwritten ranges, and only to those, of all files below `root` that a replay
/// created; then syncs. Visits directories and files in ascending order of their numbers. `watch` receives the number of
/// bytes written so far and can stop the fill; another call does the rest.
///
/// Blocks keep their locations, except those shared with a snapshot. Memory use is bounded by the largest
/// directory and the deepest path.
pub fn fill(
    root: &Path,
    seed: u64,
    threads: usize,
    watch: &mut dyn FnMut(u64) -> Flow,
) -> Result<FillReport> {
    fill_shard(root, seed, threads, Shard::WHOLE, watch)
}

/// Like [`fill`], but only for the files in the shard of this process.
pub fn fill_shard(
    root: &Path,
    seed: u64,
    threads: usize,
    shard: Shard,
    watch: &mut dyn FnMut(u64) -> Flow,
) -> Result<FillReport> {
    until_synced(root, |before| {
        let (opened, walk) = walk::begin(root, "fill its files")?;
        let report = pass(walk, seed, threads, shard, &mut |bytes| watch(before + bytes));
        Ok((report, syncfs(&opened)))
    })
}

/// Repeats `pass`, which gets the number of bytes written by those before it, until what it wrote is on disk. Writing back failed for lack of space
/// on an XFS with 27 MiB left (seen once), although the space is allocated: XFS reserves blocks for each unwritten extent that it converts. What it
/// does not convert stays unwritten, for another pass.
fn until_synced(
    root: &Path,
    mut pass: impl FnMut(u64) -> Result<(FillReport, io::Result<()>)>,
) -> Result<FillReport> {
    let mut bytes = 0;
    let mut left = PASSES;
    loop {
        let (report, synced) = pass(bytes)?;
        bytes += report.bytes;
        left -= 1;
        match synced {
            Err(Errno::NOSPC) if left > 0 => {}
            Ok(()) => return Ok(FillReport { bytes, ..report }),
            Err(errno) => return Err(Error::Sync { path: root.into(), source: errno.into() }),
        }
    }
}

/// Fills all files once.
fn pass(
    walk: Walk,
    seed: u64,
    threads: usize,
    shard: Shard,
    watch: &mut dyn FnMut(u64) -> Flow,
) -> FillReport {
    let tally = Tally::default();
    thread::scope(|scope| {
        let (to, loads) = bounded(2 * threads.max(1));
        for _ in 0..threads.max(1) {
            let (loads, tally) = (loads.clone(), &tally);
            scope.spawn(move || work(&loads, seed, tally));
        }
        drop(loads);
        Distributor { to, tally: &tally, shard, watch }.distribute(walk);
    });
    let count = |counter: &AtomicU64| counter.load(Relaxed);
    FillReport { files: count(&tally.files), bytes: count(&tally.bytes), errors: count(&tally.errors) }
}

/// Files of one directory.
type Load = (Arc<OwnedFd>, Vec<FileId>);

#[derive(Default)]
struct Tally {
    files: AtomicU64,
    bytes: AtomicU64,
    errors: AtomicU64,
    stopped: AtomicBool,
    /// Held while a file with several names is filled: two threads must not find the same range unwritten.
    linked: Mutex<()>,
}

/// Walks the tree and distributes files to the threads.
struct Distributor<'g> {
    to: Sender<Load>,
    tally: &'g Tally,
    shard: Shard,
    watch: &'g mut dyn FnMut(u64) -> Flow,
}

impl Distributor<'_> {
    /// Distributes all files.
    fn distribute(&mut self, walk: Walk) {
        for directory in walk {
            let Ok(Directory { fd, number, files, .. }) = directory else {
                self.tally.errors.fetch_add(1, Relaxed);
                continue;
            };
            if !self.shard.contains(number) {
                continue;
            }
            let fd = Arc::new(fd);
            if files.chunks(LOAD).any(|files| self.send((fd.clone(), files.to_vec())) == Flow::Stop) {
                return self.tally.stopped.store(true, Relaxed);
            }
        }
    }

    fn send(&mut self, mut load: Load) -> Flow {
        loop {
            if (self.watch)(self.tally.bytes.load(Relaxed)) == Flow::Stop {
                return Flow::Stop;
            }
            match self.to.send_timeout(load, POLL_INTERVAL) {
                Ok(()) => return Flow::Continue,
                Err(SendTimeoutError::Timeout(back)) => load = back,
                Err(SendTimeoutError::Disconnected(_)) => {
                    unreachable!("threads take files until the channel closes")
                }
            }
        }
    }
}

fn work(loads: &Receiver<Load>, seed: u64, tally: &Tally) {
    let mut filler = Filler::default();
    for (dir, files) in loads {
        for file in files {
            if tally.stopped.load(Relaxed) {
                return;
            }
            tally.files.fetch_add(1, Relaxed);
            if fill_file(&dir, file, seed, &mut filler, tally).is_err() {
                tally.errors.fetch_add(1, Relaxed);
            }
        }
    }
}

fn fill_file(dir: &OwnedFd, file: FileId, seed: u64, filler: &mut Filler, tally: &Tally) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(dir, file.to_string(), flags, Mode::empty())?;
    let stat = fstat(&fd)?;
    let _one = (stat.st_nlink > 1).then(|| tally.linked.lock());
    // Collects all unwritten ranges first, because writing changes the extent map.
    let size = stat.st_size as u64;
    let ranges = match unwritten_ranges(&fd, size) {
        // Without extent maps (tmpfs) the unwritten ranges are unknown; writing everything again gives the same contents.
        Err(Errno::OPNOTSUPP | Errno::NOTTY) => {
            (stat.st_blocks > 0).then_some((0, size)).into_iter().collect()
        }
        ranges => ranges?,
    };
    for (start, end) in ranges {
        filler.fill(seed, fd.as_fd(), file, start, end - start)?;
        tally.bytes.fetch_add(end - start, Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills with these results of the syncs; returns what each pass was told, and the result.
    fn filled(synced: &[io::Result<()>]) -> (Vec<u64>, Result<FillReport>) {
        let (mut told, mut synced) = (Vec::new(), synced.iter());
        let result = until_synced(Path::new("root"), |before| {
            told.push(before);
            let report = FillReport { files: 3, bytes: 10, errors: 0 };
            Ok((report, *synced.next().expect("no further pass")))
        });
        (told, result)
    }

    #[test]
    fn what_found_no_space_when_it_was_written_back_is_filled_again() {
        let (told, result) = filled(&[Err(Errno::NOSPC), Err(Errno::NOSPC), Ok(())]);
        assert_eq!(told, [0, 10, 20]);
        assert_eq!(result.unwrap(), FillReport { files: 3, bytes: 30, errors: 0 });
    }

    #[test]
    fn other_errors_and_a_full_file_system_are_reported() {
        let (told, result) = filled(&[Err(Errno::IO)]);
        assert!(told == [0] && result.unwrap_err().to_string().starts_with("syncing root: "));
        let (told, result) = filled(&[Err(Errno::NOSPC); PASSES as usize]);
        assert!(told.len() == PASSES as usize && result.is_err());
    }
}
