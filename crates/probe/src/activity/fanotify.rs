//! Watches with fanotify, using two groups on the whole file system. The first group identifies files by their handles, which are never
//! reused. It reports creations, with the directory, and the end of inodes, so further names and renames need no handling. The second group
//! reports files closed after writing as open descriptors, which give the size even of deleted files: the kernel keeps a deleted file until
//! the event is read.

use super::{EventSource, RecordingGaps, examine, now_ms, now_s};
use crate::{Error, Result};
use rustix::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, fstat};
use snapshot::activity::{Collected, Collector, FileNo};
use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A file handle: type and bytes.
type Handle = Box<[u8]>;

/// Bytes of events per read; each event may contain an open file.
const BUFFER: usize = 4096;

/// Reads from one group before the other is read.
const READS: usize = 64;

pub struct Fanotify {
    /// The group that reports creations and deletions.
    life_cycle: OwnedFd,
    /// The group that reports written files.
    written: OwnedFd,
    tree: OwnedFd,
    tree_path: PathBuf,
    /// Whether a directory is in the tree, for the directories looked up so far.
    inside: HashMap<Handle, bool>,
    files: HashMap<Handle, FileNo>,
    /// Sizes of files whose creation has not been read yet.
    sizes: HashMap<Handle, u64>,
    seen: Collector<Handle>,
    gaps: RecordingGaps,
    since_s: i64,
}

impl Fanotify {
    pub fn new(tree: &Path) -> Result<Fanotify> {
        let cannot = |error: io::Error| {
            let why = match error.raw_os_error() {
                Some(libc::EPERM) => "requires root (CAP_SYS_ADMIN)",
                Some(libc::EINVAL | libc::ENOSYS) => "the kernel is older than 5.17 or built without it",
                Some(libc::ENODEV | libc::EOPNOTSUPP | libc::EXDEV) => {
                    "this file system does not support fanotify"
                }
                _ => "the kernel refuses it",
            };
            Error::cannot(
                format!("recording file activity in {} with fanotify", tree.display()),
                format!("{why} ({error})"),
            )
        };
        let life_cycle =
            group(libc::FAN_REPORT_DFID_NAME_TARGET | libc::FAN_UNLIMITED_QUEUE).map_err(cannot)?;
        let written = group(0).map_err(cannot)?;
        let ends = libc::FAN_DELETE_SELF | libc::FAN_MOVE_SELF;
        let since_s = now_s();
        // The group of sizes first, so that no file is created without a report of its size.
        mark(&written, libc::FAN_CLOSE_WRITE, tree).map_err(cannot)?;
        mark(&life_cycle, libc::FAN_CREATE | ends | libc::FAN_ONDIR, tree).map_err(cannot)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(tree, flags, Mode::empty()).map_err(Error::io("opening", tree))?;
        let handle = handle_of(opened.as_fd()).map_err(cannot)?;
        Ok(Fanotify {
            life_cycle,
            written,
            tree_path: path_of(opened.as_fd()).map_err(cannot)?,
            tree: opened,
            inside: HashMap::from([(handle, true)]),
            files: HashMap::new(),
            sizes: HashMap::new(),
            seen: Collector::new(),
            gaps: RecordingGaps::default(),
            since_s,
        })
    }

    /// Handles an event of the first group.
    fn handle_life_event(&mut self, event: Event, at_ms: i64) {
        if event.mask & libc::FAN_Q_OVERFLOW != 0 {
            self.gaps.overflows += 1;
            return;
        }
        let on_dir = event.mask & libc::FAN_ONDIR != 0;
        if on_dir && event.mask & libc::FAN_MOVE_SELF != 0 {
            // The directories below it may have entered or left the tree.
            self.inside.clear();
        }
        let Some(own) = event.own else { return };
        if event.mask & libc::FAN_CREATE != 0
            && let Some(dir) = event.dir
        {
            let inside = self.is_inside(&dir);
            if on_dir {
                self.inside.insert(own.clone(), inside);
            } else if inside && !self.files.contains_key(&own) && self.may_be_new_file(&own) {
                let file = self.seen.created(at_ms, dir);
                if let Some(size) = self.sizes.remove(&own) {
                    self.seen.sized(file, size);
                }
                self.files.insert(own.clone(), file);
            }
        }
        if event.mask & libc::FAN_DELETE_SELF != 0 {
            match self.files.remove(&own) {
                Some(file) => self.seen.unlinked(at_ms, file),
                None => {
                    self.inside.remove(&own);
                }
            }
        }
    }

    /// Whether a directory is in the tree. Directories created during the recording are known; an older one that has been deleted counts
    /// as outside.
    fn is_inside(&mut self, dir: &Handle) -> bool {
        if let Some(known) = self.inside.get(dir) {
            return *known;
        }
        let path = open_handle(self.tree.as_fd(), dir).and_then(|dir| path_of(dir.as_fd()));
        let inside = path.is_ok_and(|path| path.starts_with(&self.tree_path));
        self.inside.insert(dir.clone(), inside);
        inside
    }

    /// False for symbolic links, pipes and further names of old files, unless they were already deleted.
    fn may_be_new_file(&self, handle: &Handle) -> bool {
        let opened = open_handle(self.tree.as_fd(), handle);
        let found = opened.and_then(|opened| Ok(examine(opened.as_fd(), self.since_s)?));
        found.map_or(true, |found| found.is_new_file)
    }

    /// Handles an event of the second group.
    fn sized(&mut self, event: Event) {
        if event.mask & libc::FAN_Q_OVERFLOW != 0 {
            self.gaps.overflows += 1;
        }
        let Some(file) = event.file else { return };
        let (Ok(handle), Ok(status)) = (handle_of(file.as_fd()), fstat(&file)) else {
            self.gaps.without_size += 1;
            return;
        };
        let size = status.st_size as u64;
        match self.files.get(&handle) {
            Some(file) => self.seen.sized(*file, size),
            None => {
                self.sizes.insert(handle, size);
            }
        }
    }
}

impl EventSource for Fanotify {
    fn ready(&self) -> BorrowedFd<'_> {
        self.life_cycle.as_fd()
    }

    fn take(&mut self) -> Result<()> {
        let mut all = false;
        for _ in 0..READS {
            let events = read(&self.life_cycle)
                .map_err(|error| Error::cannot("reading events of fanotify", error.to_string()))?;
            all = events.is_empty();
            if all {
                break;
            }
            let at_ms = now_ms();
            events.into_iter().for_each(|event| self.handle_life_event(event, at_ms));
        }
        // The remaining sizes belong to files that existed before the recording.
        if all {
            self.sizes.clear();
        }
        for _ in 0..READS {
            match read(&self.written) {
                Ok(events) if events.is_empty() => break,
                Ok(events) => events.into_iter().for_each(|event| self.sized(event)),
                // This event's file cannot be opened; the others can.
                Err(_) => self.gaps.without_size += 1,
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> (Collected, RecordingGaps) {
        (self.seen.finish(), self.gaps)
    }
}

/// A decoded event.
struct Event {
    mask: u64,
    /// The directory of the event.
    dir: Option<Handle>,
    /// The file of the event.
    own: Option<Handle>,
    /// The open file of the event.
    file: Option<OwnedFd>,
}

fn group(flags: libc::c_uint) -> io::Result<OwnedFd> {
    let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | flags;
    let opens = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_LARGEFILE | libc::O_NOATIME;
    // SAFETY: the call takes only numbers.
    let fd = unsafe { libc::fanotify_init(flags, opens as libc::c_uint) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned this new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn mark(group: &OwnedFd, mask: u64, tree: &Path) -> io::Result<()> {
    let tree = CString::new(tree.as_os_str().as_bytes())?;
    let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
    // SAFETY: the path is NUL-terminated and outlives the call.
    let done = unsafe { libc::fanotify_mark(group.as_raw_fd(), flags, mask, libc::AT_FDCWD, tree.as_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads some of the pending events; empty if none are pending.
fn read(group: &OwnedFd) -> io::Result<Vec<Event>> {
    let mut buffer = [0u8; BUFFER];
    match rustix::io::read(group, &mut buffer) {
        Ok(length) => Ok(decode(&buffer[..length], |fd| {
            // SAFETY: the kernel opened it for this event, and nothing else owns it.
            unsafe { OwnedFd::from_raw_fd(fd) }
        })),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Decodes events (fanotify(7)); `own` turns a descriptor into an open file. Skips truncated events.
fn decode(mut bytes: &[u8], own: impl Fn(i32) -> OwnedFd) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(length) = u32_at(bytes, 0).map(|length| length as usize)
        && let Some(event) = bytes.get(..length)
        && let (Some(metadata), Some(mask), Some(fd)) =
            (u16_at(event, 6), u64_at(event, 8), u32_at(event, 16))
    {
        let (mut dir, mut target) = (None, None);
        let mut records = event.get(usize::from(metadata)..).unwrap_or(&[]);
        while let (Some(kind), Some(length)) = (records.first(), u16_at(records, 2))
            && length > 0
            && let Some(record) = records.get(..usize::from(length))
        {
            match *kind {
                libc::FAN_EVENT_INFO_TYPE_DFID_NAME | libc::FAN_EVENT_INFO_TYPE_DFID => {
                    dir = handle_in(record)
                }
                libc::FAN_EVENT_INFO_TYPE_FID => target = handle_in(record),
                _ => {}
            }
            records = &records[usize::from(length)..];
        }
        let fd = fd as i32;
        events.push(Event { mask, dir, own: target, file: (fd >= 0).then(|| own(fd)) });
        bytes = &bytes[length..];
    }
    events
}

/// The handle in an info record, behind the header and the file system ID.
fn handle_in(record: &[u8]) -> Option<Handle> {
    let length = u32_at(record, 12)? as usize;
    Some(record.get(16..length.checked_add(20)?)?.into())
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(place..place + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

/// `struct file_handle` of the kernel: length, type, bytes.
#[repr(C, align(8))]
struct RawHandle {
    length: u32,
    kind: [u8; 4],
    bytes: [u8; libc::MAX_HANDLE_SZ as usize],
}

/// The handle of an open file, as fanotify reports it.
fn handle_of(file: BorrowedFd<'_>) -> io::Result<Handle> {
    let ask = |flags| {
        let bytes = [0; libc::MAX_HANDLE_SZ as usize];
        let mut raw = RawHandle { length: bytes.len() as u32, kind: [0; 4], bytes };
        let mut mount = 0;
        let to = (&raw mut raw).cast();
        // SAFETY: the path is empty and NUL-terminated, and the handle states its capacity.
        let done = unsafe { libc::name_to_handle_at(file.as_raw_fd(), c"".as_ptr(), to, &mut mount, flags) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(raw) }
    };
    // Before Linux 6.5 there was only one type of handle.
    let raw = ask(libc::AT_EMPTY_PATH | libc::AT_HANDLE_FID).or_else(|_| ask(libc::AT_EMPTY_PATH))?;
    let bytes = &raw.bytes[..(raw.length as usize).min(raw.bytes.len())];
    Ok([&raw.kind[..], bytes].concat().into())
}

/// Opens the file of a handle with `O_PATH`.
fn open_handle(tree: BorrowedFd<'_>, handle: &Handle) -> io::Result<OwnedFd> {
    let (kind, bytes) = handle.split_first_chunk().ok_or(io::ErrorKind::InvalidInput)?;
    let mut raw =
        RawHandle { length: bytes.len() as u32, kind: *kind, bytes: [0; libc::MAX_HANDLE_SZ as usize] };
    raw.bytes.get_mut(..bytes.len()).ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(bytes);
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: the handle states how many of its bytes are valid.
    let fd = unsafe { libc::open_by_handle_at(tree.as_raw_fd(), (&raw mut raw).cast(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned this new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The path of an open directory.
fn path_of(dir: BorrowedFd<'_>) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u8, handle: &[u8], name: &[u8]) -> Vec<u8> {
        let length = (20 + handle.len() + name.len()) as u16;
        let mut record = vec![kind, 0];
        record.extend(length.to_ne_bytes());
        record.extend([9; 8]);
        record.extend((handle.len() as u32).to_ne_bytes());
        record.extend(1i32.to_ne_bytes());
        record.extend(handle);
        record.extend(name);
        record
    }

    fn event(mask: u64, records: &[u8]) -> Vec<u8> {
        let mut event = ((24 + records.len()) as u32).to_ne_bytes().to_vec();
        event.extend([3, 0, 24, 0]);
        event.extend(mask.to_ne_bytes());
        event.extend((-1i32).to_ne_bytes());
        event.extend(7i32.to_ne_bytes());
        event.extend(records);
        event
    }

    fn sample_events() -> Vec<u8> {
        let records = [record(2, b"directory", b"name\0\0\0"), record(1, b"its own.", b"")].concat();
        [event(libc::FAN_CREATE, &records), event(libc::FAN_Q_OVERFLOW, b"")].concat()
    }

    fn none(_: i32) -> OwnedFd {
        std::fs::File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn events_are_decoded() {
        let events = decode(&sample_events(), none);
        let [created, overflow] = &events[..] else { panic!() };
        assert_eq!(created.dir.as_deref(), Some(&b"\x01\0\0\0directory"[..]));
        assert_eq!(created.own.as_deref(), Some(&b"\x01\0\0\0its own."[..]));
        assert!(created.file.is_none() && overflow.mask == libc::FAN_Q_OVERFLOW);
    }

    proptest! {
        #[test]
        fn damaged_events_do_not_panic(
            edits in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = sample_events();
            for (place, byte) in edits {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            decode(&bytes, none);
        }
    }
}
