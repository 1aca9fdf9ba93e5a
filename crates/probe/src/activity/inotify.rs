//! Watches with inotify: one watch per directory of the tree on its file system, including new directories.
//!
//! Files created in a new directory before its watch are found by listing it, unless they are already deleted. Each new file is held open
//! with `O_PATH` so that its size is known when it is deleted; the number of held files is limited to the newest.

use super::{EventSource, RecordingGaps, examine, now_ms, now_s};
use crate::{Error, Result};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use snapshot::activity::{Collected, Collector, FileNo};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of files held open.
const HELD: usize = 512;

/// A watched directory and a name in it.
type Name = (i32, Box<[u8]>);

pub struct Inotify {
    queue: OwnedFd,
    tree: PathBuf,
    device: u64,
    /// The parent and name of each watched directory; `None` for the root of the tree.
    dirs: HashMap<i32, Option<Name>>,
    watches: HashMap<Name, i32>,
    files: HashMap<Name, File>,
    /// Live files by inode, to recognize further names.
    inodes: HashMap<u64, FileNo>,
    held: VecDeque<Name>,
    /// Entries that were moved away and have not reappeared yet, by the cookie that connects the two events.
    moved: HashMap<u32, Moved>,
    seen: Collector<i32>,
    gaps: RecordingGaps,
    since_s: i64,
}

struct File {
    number: FileNo,
    held: Option<OwnedFd>,
}

enum Moved {
    File(File),
    Dir(i32),
}

/// A decoded event.
struct Event {
    watch: i32,
    what: ReadFlags,
    cookie: u32,
    name: Box<[u8]>,
}

impl Inotify {
    pub fn new(tree: &Path) -> Result<Inotify> {
        let cannot = |error: Errno| {
            let why = match error {
                Errno::MFILE => "this user has too many inotify instances; stop other watchers, or raise \
                                 fs.inotify.max_user_instances"
                    .to_owned(),
                other => other.to_string(),
            };
            Error::cannot(format!("recording file activity in {} with inotify", tree.display()), why)
        };
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(cannot)?;
        let device = std::fs::metadata(tree).map_err(Error::io("checking", tree))?.dev();
        let mut watch = Inotify {
            queue,
            tree: tree.to_owned(),
            device,
            dirs: HashMap::new(),
            watches: HashMap::new(),
            files: HashMap::new(),
            inodes: HashMap::new(),
            held: VecDeque::new(),
            moved: HashMap::new(),
            seen: Collector::new(),
            gaps: RecordingGaps::default(),
            since_s: now_s(),
        };
        match watch.add(None, None) {
            Ok(()) => Ok(watch),
            Err(Errno::NOSPC) => {
                let limit =
                    std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").unwrap_or_default();
                let why = format!(
                    "the limit of {} watches is reached after {} directories; raise it (sysctl \
                     fs.inotify.max_user_watches=N), watch a smaller tree, or run as root to use fanotify",
                    limit.trim(),
                    watch.dirs.len()
                );
                Err(Error::cannot(format!("recording file activity in {} with inotify", tree.display()), why))
            }
            Err(error) => Err(cannot(error)),
        }
    }

    /// Watches a directory and everything below it: the root of the tree, or the directory `name`. `new_ms` is the creation time if
    /// everything below is new. Fails only if watches run out or the root is inaccessible; skips directories that are gone or inaccessible.
    fn add(&mut self, name: Option<Name>, new_ms: Option<i64>) -> std::result::Result<(), Errno> {
        let mut left = vec![name];
        while let Some(name) = left.pop() {
            let path = self.path(name.as_ref());
            let flags = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            let flags = if name.is_none() { flags.difference(WatchFlags::DONT_FOLLOW) } else { flags };
            if name.is_some()
                && !std::fs::symlink_metadata(&path).is_ok_and(|found| found.dev() == self.device)
            {
                continue;
            }
            let watch = match inotify::add_watch(&self.queue, &path, flags) {
                Ok(watch) => watch,
                Err(Errno::NOSPC) => return Err(Errno::NOSPC),
                Err(error) if name.is_none() => return Err(error),
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(_) => {
                    self.gaps.unwatched += 1;
                    continue;
                }
            };
            self.dirs.insert(watch, name.clone());
            if let Some(name) = name {
                self.watches.insert(name, watch);
            }
            let Ok(entries) = std::fs::read_dir(&path) else { continue };
            for entry in entries.flatten() {
                let name = (watch, entry.file_name().as_bytes().into());
                match (entry.file_type(), new_ms) {
                    (Ok(kind), _) if kind.is_dir() => left.push(Some(name)),
                    (Ok(kind), Some(at_ms)) if kind.is_file() => self.created(at_ms, name),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn path(&self, name: Option<&Name>) -> PathBuf {
        let mut names: Vec<&OsStr> = Vec::new();
        let mut at = name;
        while let Some((watch, name)) = at {
            names.push(OsStr::from_bytes(name));
            at = self.dirs.get(watch).and_then(Option::as_ref);
        }
        names.iter().rev().fold(self.tree.clone(), |path, name| path.join(name))
    }

    /// Records a file that was not known before.
    fn created(&mut self, at_ms: i64, name: Name) {
        if self.files.contains_key(&name) {
            return;
        }
        let held = self.open(&name);
        let found = held.as_ref().and_then(|held| examine(held.as_fd(), self.since_s).ok());
        // The inode number of a file with one name may be reused.
        let known = found
            .as_ref()
            .filter(|found| found.is_linked)
            .and_then(|found| self.inodes.get(&found.inode))
            .copied();
        if found.as_ref().is_some_and(|found| !found.is_new_file) {
            return;
        }
        let number = match known {
            Some(number) => {
                self.seen.linked(number);
                number
            }
            None => self.seen.created(at_ms, name.0),
        };
        if let Some(found) = found {
            self.inodes.insert(found.inode, number);
            self.held.push_back(name.clone());
        }
        self.files.insert(name, File { number, held });
        while self.held.len() > HELD {
            if let Some(oldest) = self.held.pop_front().and_then(|name| self.files.get_mut(&name)) {
                oldest.held = None;
            }
        }
    }

    /// Opens a file with `O_PATH`.
    fn open(&self, name: &Name) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(self.path(Some(name)), flags, Mode::empty()).ok()
    }

    /// Opens a file that had been moved before its creation event was read.
    fn hold(&mut self, name: Name) {
        let held = self.open(&name);
        if let Some(file) = self.files.get_mut(&name).filter(|_| held.is_some()) {
            file.held = held;
            self.held.push_back(name);
        }
    }

    fn deleted(&mut self, at_ms: i64, name: &Name) {
        let Some(file) = self.files.remove(name) else { return };
        match file.held.and_then(|held| fstat(held).ok()) {
            Some(status) => {
                self.seen.sized(file.number, status.st_size as u64);
                if status.st_nlink == 0 {
                    self.inodes.remove(&status.st_ino);
                }
            }
            None => self.gaps.without_size += 1,
        }
        self.seen.unlinked(at_ms, file.number);
    }

    fn handle(&mut self, event: Event, at_ms: i64) {
        if event.what.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.gaps.overflows += 1;
            // The known state may be wrong, and there may be new directories.
            for (_, file) in self.files.drain() {
                self.seen.lost(file.number);
            }
            self.held.clear();
            self.inodes.clear();
            self.try_add(None, None);
            return;
        }
        if event.what.contains(ReadFlags::IGNORED) {
            if let Some(Some(name)) = self.dirs.remove(&event.watch) {
                self.watches.remove(&name);
            }
            return;
        }
        let name = (event.watch, event.name);
        let on_dir = event.what.contains(ReadFlags::ISDIR);
        if event.what.contains(ReadFlags::CREATE) {
            if on_dir { self.try_add(Some(name), Some(at_ms)) } else { self.created(at_ms, name) }
        } else if event.what.contains(ReadFlags::DELETE) && !on_dir {
            self.deleted(at_ms, &name);
        } else if event.what.contains(ReadFlags::CLOSE_WRITE) {
            // The size of a held file is read when it is deleted.
            if let Some(file) = self.files.get(&name).filter(|file| file.held.is_none())
                && let Ok(found) = std::fs::symlink_metadata(self.path(Some(&name)))
            {
                self.seen.sized(file.number, found.len());
            }
        } else if event.what.contains(ReadFlags::MOVED_FROM) {
            let moved = if on_dir {
                self.watches.remove(&name).map(Moved::Dir)
            } else {
                self.files.remove(&name).map(Moved::File)
            };
            if let Some(moved) = moved {
                self.moved.insert(event.cookie, moved);
            }
        } else if event.what.contains(ReadFlags::MOVED_TO) {
            match self.moved.remove(&event.cookie) {
                Some(Moved::File(file)) => {
                    self.deleted(at_ms, &name);
                    self.files.insert(name.clone(), file);
                    self.hold(name);
                }
                Some(Moved::Dir(watch)) => {
                    self.dirs.insert(watch, Some(name.clone()));
                    self.watches.insert(name, watch);
                    let waits =
                        |(name, file): &(&Name, &File)| file.held.is_none() && self.is_below(name.0, watch);
                    let waiting: Vec<Name> =
                        self.files.iter().filter(waits).map(|(name, _)| name.clone()).collect();
                    waiting.into_iter().for_each(|name| self.hold(name));
                }
                None if on_dir => self.try_add(Some(name), None),
                None => self.deleted(at_ms, &name),
            }
        }
    }

    /// Watches a directory that appeared during the recording.
    fn try_add(&mut self, name: Option<Name>, new_ms: Option<i64>) {
        if self.add(name, new_ms).is_err() {
            self.gaps.unwatched += 1;
        }
    }

    /// Handles an entry that was moved out of the tree: ends its watches, and its files count as alive.
    fn moved_out(&mut self, moved: Moved) {
        match moved {
            Moved::File(file) => self.seen.lost(file.number),
            Moved::Dir(top) => {
                let below: Vec<i32> =
                    self.dirs.keys().copied().filter(|watch| self.is_below(*watch, top)).collect();
                for watch in below {
                    // The directory may have been deleted, which ends the watch too.
                    let _ = inotify::remove_watch(&self.queue, watch);
                    let files: Vec<Name> =
                        self.files.keys().filter(|(dir, _)| *dir == watch).cloned().collect();
                    for name in files {
                        if let Some(file) = self.files.remove(&name) {
                            self.seen.lost(file.number);
                        }
                    }
                }
            }
        }
    }

    fn is_below(&self, watch: i32, top: i32) -> bool {
        let mut at = watch;
        loop {
            if at == top {
                return true;
            }
            match self.dirs.get(&at) {
                Some(Some((parent, _))) => at = *parent,
                _ => return false,
            }
        }
    }
}

impl EventSource for Inotify {
    fn ready(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    fn take(&mut self) -> Result<()> {
        // The two events of a move are adjacent, but a read may end between them.
        let waiting: Vec<u32> = self.moved.keys().copied().collect();
        let mut buffer = [MaybeUninit::uninit(); 64 << 10];
        loop {
            let mut events = Vec::new();
            let mut reader = Reader::new(&self.queue, &mut buffer);
            let ended = loop {
                match reader.next() {
                    Ok(event) => events.push(Event {
                        watch: event.wd(),
                        what: event.events(),
                        cookie: event.cookie(),
                        name: event.file_name().map(|name| name.to_bytes().into()).unwrap_or_default(),
                    }),
                    Err(Errno::AGAIN | Errno::INTR) => break Ok(()),
                    Err(error) => break Err(error),
                }
                if reader.is_buffer_empty() {
                    break Ok(());
                }
            };
            let at_ms = now_ms();
            let none = events.is_empty();
            events.into_iter().for_each(|event| self.handle(event, at_ms));
            ended.map_err(|error| Error::cannot("reading events of inotify", error.to_string()))?;
            if none {
                break;
            }
        }
        for cookie in waiting {
            if let Some(moved) = self.moved.remove(&cookie) {
                self.moved_out(moved);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> (Collected, RecordingGaps) {
        (self.seen.finish(), self.gaps)
    }
}
