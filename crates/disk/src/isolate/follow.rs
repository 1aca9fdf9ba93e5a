//! Takes copies of mounts off when their originals go.

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

/// The table of the namespace that the process came from.
static OUTER: OnceLock<File> = OnceLock::new();

/// Of mounts that come and go in quick succession, the table is read once in this time.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a copy that was in use is tried again.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A private mount of the system, and its copy here.
#[derive(Debug)]
struct Pair {
    /// None if it went while the copy was made.
    original: Option<MountPoint>,
    copy: MountPoint,
}

/// The table of a namespace that is about to be left: it stays that of the old one, whoever reads it.
pub struct Outer {
    /// To wait at.
    file: File,
    /// For [`outer_mount_points`]: what reads a table moves its place in it.
    other: File,
}

impl Outer {
    /// To be called in the old namespace.
    pub fn open() -> Result<Outer, Error> {
        let path = Path::new("/proc/thread-self/mountinfo");
        let open = || File::open(path).context("opening", path);
        Ok(Outer { file: open()?, other: open()? })
    }
}

impl Pair {
    /// Whether the original is among the mounts `now`. Its number alone does not tell: another mount may get it.
    fn is_in(&self, now: &Now) -> bool {
        self.original.as_ref().is_some_and(|original| now.contains(&key(original)))
    }
}

/// The copies that the kernel does not take off by itself, in the order of the table: a mount before what is mounted below it.
pub struct Inherited {
    outer: File,
    pairs: Vec<Pair>,
}

impl Inherited {
    /// To be called in the new namespace, before anything is mounted in it.
    pub fn new(outer: Outer) -> Result<Inherited, Error> {
        let pairs = pair(read(&outer.file)?, mount_points("thread-self")?);
        // Of several calls the first one left the namespace that all others came from.
        let _ = OUTER.set(outer.other);
        Ok(Inherited { outer: outer.file, pairs })
    }

    /// Takes off every copy when its original goes, as long as this process lives.
    pub fn follow(mut self) -> Result<(), Error> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let follow = move || {
            // If the tables cannot be read any more, copies stay until the process ends.
            while self.look().is_ok() && !self.pairs.is_empty() && self.wait().is_ok() {}
        };
        let started = Builder::new().name("mounts".to_owned()).spawn(follow);
        started.map(drop).context("starting a thread for", Path::new("/proc/self/mountinfo"))
    }

    /// Waits until the kernel tells of a change outside.
    fn wait(&self) -> Result<(), Error> {
        std::thread::sleep(PAUSE);
        let pending = self.pairs.iter().any(|pair| pair.original.is_none());
        let mut fds = [PollFd::new(&self.outer, PollFlags::PRI | PollFlags::ERR)];
        match poll(&mut fds, pending.then_some(&AGAIN)) {
            Err(Errno::INTR) | Ok(_) => Ok(()),
            Err(e) => Err(e).context("watching", Path::new("/proc/self/mountinfo")),
        }
    }

    /// Takes off what has no original any more.
    fn look(&mut self) -> Result<(), Error> {
        let mut mounts = read(&self.outer)?;
        let there = now(&mounts);
        if !self.pairs.iter().all(|pair| pair.is_in(&there)) {
            // Before Linux 5.8 a mount that came or went while the table was read could hide another.
            mounts.extend(read(&self.outer)?);
            self.mark_gone(&now(&mounts));
            let gone = self.pairs.iter().rev().filter(|pair| pair.original.is_none());
            gone.for_each(|pair| take_off(&pair.copy));
            self.forget_gone()?;
        }
        Ok(())
    }

    fn mark_gone(&mut self, now: &Now) {
        self.pairs.iter_mut().filter(|pair| !pair.is_in(now)).for_each(|pair| pair.original = None);
    }

    /// Drops the copies that are no longer there.
    fn forget_gone(&mut self) -> Result<(), Error> {
        let there: HashSet<u64> = mount_points("thread-self")?.iter().map(|mount| mount.id).collect();
        self.pairs.retain(|pair| there.contains(&pair.copy.id));
        Ok(())
    }
}

/// The mounts of the namespace that the process came from; none if it has not left it.
pub fn outer_mount_points() -> Result<Vec<MountPoint>, Error> {
    OUTER.get().map_or_else(|| Ok(Vec::new()), read)
}

/// Reads a table from its beginning. Its file may be read by several threads.
fn read(table: &File) -> Result<Vec<MountPoint>, Error> {
    let path = Path::new("/proc/self/mountinfo");
    let (mut text, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match table.read_at(&mut piece, text.len() as u64).context("reading", path)? {
            // Nobody mounts nothing: all copies would seem to be without an original.
            0 if text.is_empty() => return Err(Errno::IO).context("reading", path),
            0 => return Ok(parse_table(&text)),
            n => text.extend_from_slice(&piece[..n]),
        }
    }
}

/// Finds the original of each copy. What is shared the kernel sees to, and the root never goes.
fn pair(originals: Vec<MountPoint>, copies: Vec<MountPoint>) -> Vec<Pair> {
    let mut by_place: HashMap<_, Vec<MountPoint>> = HashMap::new();
    let place = |mount: &MountPoint| key(&MountPoint { id: 0, ..mount.clone() });
    // Of several that are the same in everything but their number, any may be the original of any.
    for original in originals {
        by_place.entry(place(&original)).or_default().push(original);
    }
    let pairs = copies
        .into_iter()
        .map(|copy| Pair { original: by_place.get_mut(&place(&copy)).and_then(Vec::pop), copy });
    let is_private = |pair: &Pair| !pair.original.as_ref().is_some_and(|original| original.shared);
    pairs.filter(|pair| is_private(pair) && pair.copy.dir != Path::new("/")).collect()
}

/// What tells one mount of a table from all that were ever in it, as far as they have to be told apart.
type Key = (u64, (u32, u32), PathBuf, PathBuf);
type Now = HashSet<Key>;

fn key(mount: &MountPoint) -> Key {
    (mount.id, mount.devno, mount.dir.clone(), mount.root.clone())
}

fn now(mounts: &[MountPoint]) -> Now {
    mounts.iter().map(key).collect()
}

/// Unmounts a copy. It stays if it is in use, or if another mount hides it.
fn take_off(copy: &MountPoint) {
    if is_at(copy) {
        let _ = rustix::mount::unmount(&copy.dir, UnmountFlags::NOFOLLOW);
    }
}

/// Whether its directory leads to it and to nothing that is mounted above it. Nothing is asked of its file system, which may hang.
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
    fn copies_of_private_mounts_are_paired_with_their_originals() {
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
    fn a_number_that_is_used_again_is_another_mount() {
        let outer = File::open("/dev/null").unwrap();
        let original = mount("2 1 7:0 / /mnt/a rw - ext4 /dev/loop0 rw");
        let copy = MountPoint { id: 102, ..original.clone() };
        let mut inherited = Inherited { outer, pairs: vec![Pair { original: Some(original.clone()), copy }] };
        inherited.mark_gone(&now(&[original]));
        assert!(inherited.pairs[0].original.is_some());
        inherited.mark_gone(&now(&[mount("2 1 7:4 / /mnt/b rw - ext4 /dev/loop4 rw")]));
        assert!(inherited.pairs[0].original.is_none());
    }

    #[test]
    fn a_table_of_any_length_is_read_whole_and_again() {
        let table = File::open("/proc/thread-self/mountinfo").unwrap();
        let first = read(&table).unwrap();
        assert_eq!(first.len(), read(&table).unwrap().len());
        let root = first.iter().rev().find(|mount| mount.dir == Path::new("/")).unwrap();
        assert!(is_at(root) && !is_at(&MountPoint { id: u64::MAX, ..root.clone() }));
    }
}
