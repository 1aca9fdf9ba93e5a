//! Removes copies of mounts when their originals are unmounted.

use crate::error::{Error, IoContext};
use crate::mount_table::{MountPoint, mount_points, parse_table};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::Builder;
use std::time::Duration;

/// The mount table of the original namespace.
static ORIGINAL_TABLE: OnceLock<File> = OnceLock::new();

/// Minimum interval between reads of the mount table when mounts change in quick succession.
const PAUSE: Duration = Duration::from_millis(10);

/// Interval between attempts to remove a copy that is in use.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A private mount of the system and its copy in this namespace.
#[derive(Debug)]
struct Pair {
    /// `None` if it was unmounted while the copy was made.
    original: Option<MountPoint>,
    copy: MountPoint,
}

/// The mount table of the original namespace. An open file keeps showing that namespace, whichever process reads it.
pub struct OriginalMountTable {
    /// For polling.
    file: File,
    /// For [`original_mount_points`]: reading a table moves its position.
    other: File,
}

impl OriginalMountTable {
    /// Opens the table. Call it in the original namespace.
    pub fn open() -> Result<OriginalMountTable, Error> {
        let path = Path::new("/proc/thread-self/mountinfo");
        let open = || File::open(path).context("opening", path);
        Ok(OriginalMountTable { file: open()?, other: open()? })
    }
}

impl Pair {
    /// Whether the original is among the mounts `now`. The mount ID alone is not enough, because the kernel reuses IDs.
    fn is_in(&self, now: &Now) -> bool {
        self.original.as_ref().is_some_and(|original| now.contains(&key(original)))
    }
}

/// The copies that the kernel does not remove by itself, in the order of the table: a mount precedes the mounts below it.
pub struct InheritedMounts {
    original_table: File,
    pairs: Vec<Pair>,
}

impl InheritedMounts {
    /// Pairs copies with originals. Call it in the new namespace, before anything is mounted in it.
    pub fn new(original_table: OriginalMountTable) -> Result<InheritedMounts, Error> {
        let pairs = pair(read(&original_table.file)?, mount_points("thread-self")?);
        // If called several times, the first call left the original namespace.
        let _ = ORIGINAL_TABLE.set(original_table.other);
        Ok(InheritedMounts { original_table: original_table.file, pairs })
    }

    /// Removes every copy when its original is unmounted, for the lifetime of this process.
    pub fn follow(mut self) -> Result<(), Error> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let follow = move || {
            // If the tables can no longer be read, copies stay until the process ends.
            while self.look().is_ok() && !self.pairs.is_empty() && self.wait().is_ok() {}
        };
        let started = Builder::new().name("mounts".to_owned()).spawn(follow);
        started.map(drop).context("starting a thread for", Path::new("/proc/self/mountinfo"))
    }

    /// Waits until the kernel reports a change of the original namespace.
    fn wait(&self) -> Result<(), Error> {
        std::thread::sleep(PAUSE);
        let pending = self.pairs.iter().any(|pair| pair.original.is_none());
        let mut fds = [PollFd::new(&self.original_table, PollFlags::PRI | PollFlags::ERR)];
        match poll(&mut fds, pending.then_some(&AGAIN)) {
            Err(Errno::INTR) | Ok(_) => Ok(()),
            Err(e) => Err(e).context("watching", Path::new("/proc/self/mountinfo")),
        }
    }

    /// Removes the copies whose originals are unmounted.
    fn look(&mut self) -> Result<(), Error> {
        let mut mounts = read(&self.original_table)?;
        let there = now(&mounts);
        if !self.pairs.iter().all(|pair| pair.is_in(&there)) {
            // Before Linux 5.8 a mount that appears or disappears during the read can hide another mount.
            mounts.extend(read(&self.original_table)?);
            self.mark_gone(&now(&mounts));
            let gone = self.pairs.iter().rev().filter(|pair| pair.original.is_none());
            gone.for_each(|pair| unmount_copy(&pair.copy));
            self.forget_gone()?;
        }
        Ok(())
    }

    fn mark_gone(&mut self, now: &Now) {
        self.pairs.iter_mut().filter(|pair| !pair.is_in(now)).for_each(|pair| pair.original = None);
    }

    /// Drops the pairs whose copies no longer exist.
    fn forget_gone(&mut self) -> Result<(), Error> {
        let there: HashSet<u64> = mount_points("thread-self")?.iter().map(|mount| mount.id).collect();
        self.pairs.retain(|pair| there.contains(&pair.copy.id));
        Ok(())
    }
}

/// The mounts of the original namespace; empty if the process has not left it.
pub fn original_mount_points() -> Result<Vec<MountPoint>, Error> {
    ORIGINAL_TABLE.get().map_or_else(|| Ok(Vec::new()), read)
}

/// Reads a table from the start. Several threads may read the same file.
fn read(table: &File) -> Result<Vec<MountPoint>, Error> {
    let path = Path::new("/proc/self/mountinfo");
    let (mut text, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match table.read_at(&mut piece, text.len() as u64).context("reading", path)? {
            // A table is never empty; an empty one would make all copies look orphaned.
            0 if text.is_empty() => return Err(Errno::IO).context("reading", path),
            0 => return Ok(parse_table(&text)),
            n => text.extend_from_slice(&piece[..n]),
        }
    }
}

/// Finds the original of each copy. Shared mounts are left to the kernel, and the root is never unmounted.
fn pair(originals: Vec<MountPoint>, copies: Vec<MountPoint>) -> Vec<Pair> {
    let mut by_place: HashMap<_, Vec<MountPoint>> = HashMap::new();
    let place = |mount: &MountPoint| key(&MountPoint { id: 0, ..mount.clone() });
    // Mounts that differ only in their ID are interchangeable as originals.
    for original in originals {
        by_place.entry(place(&original)).or_default().push(original);
    }
    let pairs = copies
        .into_iter()
        .map(|copy| Pair { original: by_place.get_mut(&place(&copy)).and_then(Vec::pop), copy });
    let is_private = |pair: &Pair| !pair.original.as_ref().is_some_and(|original| original.shared);
    pairs.filter(|pair| is_private(pair) && pair.copy.dir != Path::new("/")).collect()
}

/// Identifies a mount well enough to tell it from other mounts with the same ID over time.
type Key = (u64, (u32, u32), PathBuf, PathBuf);
type Now = HashSet<Key>;

fn key(mount: &MountPoint) -> Key {
    (mount.id, mount.devno, mount.dir.clone(), mount.root.clone())
}

fn now(mounts: &[MountPoint]) -> Now {
    mounts.iter().map(key).collect()
}

/// Unmounts a copy, unless it is in use or hidden by another mount.
fn unmount_copy(copy: &MountPoint) {
    if is_at(copy) {
        let _ = rustix::mount::unmount(&copy.dir, UnmountFlags::NOFOLLOW);
    }
}

/// Whether its directory resolves to this mount and not to one mounted above it. Does not access its file system, which may hang.
fn is_at(mount: &MountPoint) -> bool {
    let Ok(at) = openat(CWD, &mount.dir, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    else {
        return false;
    };
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", at.as_raw_fd())).unwrap_or_default();
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    id.is_some_and(|id| id.trim().parse() == Ok(mount.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(line: &str) -> MountPoint {
        parse_table(line.as_bytes()).pop().expect(line)
    }

    #[test]
    fn private_copies_are_paired_with_originals() {
        let originals = parse_table(
            b"1 0 254:0 / / rw - ext4 /dev/vda rw\n\
              2 1 7:0 / /mnt/a rw - ext4 /dev/loop0 rw\n\
              3 1 7:1 / /mnt/b rw shared:2 - ext4 /dev/loop1 rw\n\
              4 1 0:9 / /mnt/c rw master:3 - fuse.sshfs host: rw\n\
              5 2 7:0 / /mnt/a rw - ext4 /dev/loop0 rw\n",
        );
        let mut copies = originals.clone();
        copies.iter_mut().for_each(|copy| copy.id += 100);
        copies.push(mount("106 101 7:3 / /mnt/gone rw - ext4 /dev/loop3 rw"));
        let pairs = pair(originals, copies);
        let told: Vec<_> =
            pairs.iter().map(|p| (p.copy.id, p.original.as_ref().map(|o| o.dir.clone()))).collect();
        let at = |dir: &str| Some(PathBuf::from(dir));
        assert_eq!(
            told,
            [(102, at("/mnt/a")), (104, at("/mnt/c")), (105, at("/mnt/a")), (106, None)],
            "neither the root nor what is shared"
        );
    }

    #[test]
    fn reused_id_is_another_mount() {
        let original_table = File::open("/dev/null").unwrap();
        let original = mount("2 1 7:0 / /mnt/a rw - ext4 /dev/loop0 rw");
        let copy = MountPoint { id: 102, ..original.clone() };
        let mut inherited =
            InheritedMounts { original_table, pairs: vec![Pair { original: Some(original.clone()), copy }] };
        inherited.mark_gone(&now(&[original]));
        assert!(inherited.pairs[0].original.is_some());
        inherited.mark_gone(&now(&[mount("2 1 7:4 / /mnt/b rw - ext4 /dev/loop4 rw")]));
        assert!(inherited.pairs[0].original.is_none());
    }

    #[test]
    fn table_of_any_length_can_be_read_repeatedly() {
        let table = File::open("/proc/thread-self/mountinfo").unwrap();
        let first = read(&table).unwrap();
        // Other programs mount and unmount meanwhile.
        testing::wait_until("two equal readings", || {
            read(&table).unwrap().len() == read(&table).unwrap().len()
        });
        let root = first.iter().rev().find(|mount| mount.dir == Path::new("/")).unwrap();
        assert!(is_at(root) && !is_at(&MountPoint { id: u64::MAX, ..root.clone() }));
    }
}
