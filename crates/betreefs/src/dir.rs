//! Reading directories.
//!
//! Entries are returned in the order of their names. An offset is the number of a name that the open directory has returned, so it keeps its
//! meaning while entries are created and removed. The names are kept until the directory is closed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::attr::Attr;
use crate::error::{Result, fail};
use crate::fs::{ENTRIES_AHEAD, Fs};
use crate::inode::{Inode, RecordLocation};
use crate::key;
use crate::record::Entry;

/// Entries read per scan: few at first, for callers that look at the first entries only, then more.
const FIRST: usize = 32;
const MOST: usize = 1024;

/// The offset of `..`, which follows `.`; the offsets of names are larger.
const DOT_DOT: u64 = 2;

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The offset at which to continue behind this entry.
    pub offset: u64,
    /// Inode number.
    pub ino: u64,
    /// Type, as in the mode.
    pub kind: u32,
    /// Attributes, if requested; none for `.` and `..`. Accepting an entry with attributes increments the lookup count of the inode.
    pub attr: Option<Attr>,
}

/// The names that were returned, concatenated.
#[derive(Default)]
struct Names {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    fn get(&self, i: usize) -> Option<&[u8]> {
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some(&self.bytes[start..end])
    }

    fn push(&mut self, name: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
    }
}

/// An open directory.
struct Stream {
    inode: Arc<Inode>,
    names: Names,
    /// Entries that were read but not yet returned, in reverse order, and the directory version at which they were read.
    ahead: Vec<(Box<[u8]>, Entry)>,
    version: u64,
    epoch: u64,
    /// The value of `Table::forgotten` before they were read.
    forgotten: u64,
    /// The name that precedes the next of them.
    behind: Option<Box<[u8]>>,
    /// Number of entries of the next scan.
    batch: usize,
}

/// The open directory streams.
#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<HashMap<u64, Arc<Mutex<Stream>>>>,
    next: AtomicU64,
}

impl Fs {
    /// Opens a directory and returns a handle.
    ///
    /// # Errors
    /// `ENOTDIR`, `ESTALE`.
    pub fn open_dir(&self, ino: u64) -> Result<u64> {
        let inode = self.inode(ino)?;
        if !inode.is_dir() {
            return fail(libc::ENOTDIR);
        }
        let stream = Stream {
            inode,
            names: Names::default(),
            ahead: Vec::new(),
            version: 0,
            epoch: 0,
            forgotten: 0,
            behind: None,
            batch: FIRST,
        };
        let handle = self.directories.next.fetch_add(1, Relaxed);
        self.directories.open.lock().insert(handle, Arc::new(Mutex::new(stream)));
        Ok(handle)
    }

    /// Closes a directory.
    pub fn close_dir(&self, handle: u64) {
        self.directories.open.lock().remove(&handle);
    }

    /// Passes the entries behind `offset` (0 at first) to `take` until it rejects one.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL` for an offset that was never returned.
    pub fn read_dir(
        &self,
        handle: u64,
        offset: u64,
        attrs: bool,
        mut take: impl FnMut(&DirEntry<'_>) -> bool,
    ) -> Result<()> {
        let Some(stream) = self.directories.open.lock().get(&handle).cloned() else {
            return fail(libc::EBADF);
        };
        let stream = &mut *stream.lock();
        let _tree = self.tree.read();
        let mut offset = offset;
        while offset < DOT_DOT {
            let (name, ino) = match offset {
                0 => (&b"."[..], stream.inode.ino),
                _ => (&b".."[..], parent_of(&stream.inode)),
            };
            offset += 1;
            if !take(&DirEntry { name, offset, ino, kind: libc::S_IFDIR, attr: None }) {
                return Ok(());
            }
        }
        if stream.inode.is_gone() {
            return Ok(());
        }
        // The last returned name and its number.
        let mut at = offset - DOT_DOT;
        let mut behind: Option<Box<[u8]>> = match at {
            0 => None,
            _ => match stream.names.get(at as usize - 1) {
                Some(name) => Some(name.into()),
                None => return fail(libc::EINVAL),
            },
        };
        while self.read_ahead(stream, &behind)? {
            let (name, entry) = stream.ahead.last().expect("`read_ahead` found an entry").clone();
            let mut inode = None;
            let (ino, kind) = match &entry {
                Entry::Record(record, _) => (record.ino, record.kind()),
                Entry::Redirect { kind, ino } => (*ino, *kind),
            };
            if attrs {
                inode = self.instantiate(&stream.inode, &name, entry, stream.forgotten)?;
                if inode.is_none() {
                    // The entry may have changed: read it from the store again.
                    stream.behind = None;
                    stream.ahead.clear();
                    continue;
                }
            }
            // After seeking back, the next number may already have this name.
            let number = if stream.names.get(at as usize) == Some(&*name) {
                at + 1
            } else {
                stream.names.push(&name);
                stream.names.ends.len() as u64
            };
            let attr = inode.as_ref().map(|inode| self.attr_of(&inode.state.lock().record));
            let taken = take(&DirEntry { name: &name, offset: number + DOT_DOT, ino, kind, attr });
            if !taken {
                return Ok(());
            }
            if let Some(inode) = &inode {
                self.table.hold(inode);
            }
            at = number;
            stream.ahead.pop();
            stream.behind = Some(name.clone());
            behind = Some(name);
        }
        Ok(())
    }

    /// Fills `ahead` with up-to-date entries behind a name; returns false if none exist.
    fn read_ahead(&self, stream: &mut Stream, behind: &Option<Box<[u8]>>) -> Result<bool> {
        let epoch = self.epoch();
        let version = stream.inode.version.load(Relaxed);
        let fresh =
            stream.version == version && stream.epoch == epoch && stream.forgotten == self.table.forgotten();
        if fresh && stream.behind == *behind && !stream.ahead.is_empty() {
            return Ok(true);
        }
        (stream.version, stream.epoch, stream.forgotten) = (version, epoch, self.table.forgotten());
        stream.behind.clone_from(behind);
        stream.ahead.clear();
        let prefix = stream.inode.prefix(epoch)?;
        let mut from = key::meta(&prefix, behind.as_deref().unwrap_or_default());
        let names = from.len() - behind.as_ref().map_or(0, |name| name.len());
        if behind.is_some() {
            from.push(0);
        }
        let mut scan = self.store.scan(&from, Some(&key::entries_end(&prefix)));
        scan.read_around(ENTRIES_AHEAD);
        while stream.ahead.len() < stream.batch
            && let Some((key, value)) = scan.next_entry()?
        {
            stream.ahead.push((key[names..].into(), Entry::decode(value)?));
        }
        stream.ahead.reverse();
        stream.batch = (2 * stream.batch).min(MOST);
        Ok(!stream.ahead.is_empty())
    }
}

fn parent_of(inode: &Inode) -> u64 {
    match &inode.at.read().spot {
        RecordLocation::Name(at) => at.parent.ino,
        _ => inode.ino,
    }
}
