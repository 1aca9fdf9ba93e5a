//! Little free memory, as a machine has that does other work: what the kernel could cache with is occupied (Kunkel 2016,
//! section 3: "free memory limited to …").
//!
//! What is occupied is counted by `MemAvailable`, which says what could still be used without swapping. (The report adds up
//! `MemFree`, `Cached` and `Buffers`, which counts file systems in memory as free.)

use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// Less than this is never left free, in bytes: the kernel needs some, and would end processes for it.
pub const LEAST_FREE_BYTES: u64 = 96 << 20;

/// Memory is taken in pieces of this size, with a look at what is left after each.
const PIECE_BYTES: usize = 16 << 20;

/// Why free memory cannot be limited.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The limit leaves too little memory.
    #[error("{limit_bytes} bytes of free memory are too few; leave at least {LEAST_FREE_BYTES}")]
    TooLittle {
        /// What was asked for.
        limit_bytes: u64,
    },
    /// The control group of this process does not allow it.
    #[error(
        "{needed_bytes} bytes of memory need to be occupied, but the control group of this process allows \
         only {allowed_bytes} more; limit the memory of the group instead"
    )]
    Group {
        /// What would have to be occupied.
        needed_bytes: u64,
        /// What the group leaves.
        allowed_bytes: u64,
    },
    /// The kernel does not say how much is free, or does not give it.
    #[error("{what}: {source}")]
    Kernel {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// Memory that is occupied, until it is dropped.
pub struct Occupied {
    pieces: Vec<Piece>,
    /// Whether it is locked, so that it cannot be swapped out.
    pub locked: bool,
    /// What was available before, in bytes.
    pub before_bytes: u64,
    /// What is available now.
    pub free_bytes: u64,
}

impl Occupied {
    /// How much it is, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.pieces.len() * PIECE_BYTES) as u64
    }
}

/// Occupies memory until no more than `limit_bytes` is available. If there is less already, nothing is occupied.
pub fn leave_free(limit_bytes: u64) -> Result<Occupied, Error> {
    if limit_bytes < LEAST_FREE_BYTES {
        return Err(Error::TooLittle { limit_bytes });
    }
    let before_bytes = available()?;
    let needed_bytes = before_bytes.saturating_sub(limit_bytes);
    // A group that is full is ended as a machine is: something must be left for all else that is in it.
    if let Some(allowed_bytes) = group_allows(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"))
        && needed_bytes + LEAST_FREE_BYTES > allowed_bytes
    {
        return Err(Error::Group { needed_bytes, allowed_bytes });
    }
    let mut occupied = Occupied { pieces: Vec::new(), locked: true, before_bytes, free_bytes: before_bytes };
    while occupied.free_bytes >= limit_bytes + PIECE_BYTES as u64 {
        let piece = Piece::take()?;
        occupied.locked &= piece.lock();
        occupied.pieces.push(piece);
        occupied.free_bytes = available()?;
    }
    Ok(occupied)
}

/// What could be used without swapping, in bytes.
pub fn available() -> Result<u64, Error> {
    let path = "/proc/meminfo";
    let fail = |source| Error::Kernel { what: format!("reading {path}"), source };
    let text = std::fs::read_to_string(path).map_err(fail)?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| fail(std::io::Error::other("no available memory reported")))
}

/// How much more memory the control groups allow that `own` lists and that lie below `root`; none without a limit.
fn group_allows(own: &Path, root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(own).ok()?;
    let mut allowed: Option<u64> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (base, limit, usage) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        // The limits of all groups above hold too.
        let mut at: PathBuf = base.join(path.trim_start_matches('/'));
        while at.starts_with(&base) {
            let read = |name: &str| std::fs::read_to_string(at.join(name)).ok()?.trim().parse::<u64>().ok();
            if let (Some(limit), Some(usage)) = (read(limit), read(usage)) {
                let more = limit.saturating_sub(usage);
                allowed = Some(allowed.map_or(more, |so_far| so_far.min(more)));
            }
            if !at.pop() {
                break;
            }
        }
    }
    allowed
}

/// A piece of memory of its own.
struct Piece(NonNull<std::ffi::c_void>);

// SAFETY: the memory belongs to the piece alone, and nothing reads or writes it.
unsafe impl Send for Piece {}

impl Piece {
    fn take() -> Result<Piece, Error> {
        let fail = |errno: rustix::io::Errno| Error::Kernel {
            what: "occupying memory".to_owned(),
            source: errno.into(),
        };
        // SAFETY: a new mapping where the kernel likes touches nothing that exists.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                PIECE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(fail)?;
        let piece = Piece(NonNull::new(start).expect("no mapping begins at 0"));
        // SAFETY: the range is the mapping that was just made.
        unsafe { rustix::mm::madvise(start, PIECE_BYTES, Advice::LinuxPopulateWrite) }.map_err(fail)?;
        Ok(piece)
    }

    /// Keeps it from being swapped out; whether that is allowed.
    fn lock(&self) -> bool {
        // SAFETY: the range is this piece's mapping.
        unsafe { rustix::mm::mlock(self.0.as_ptr(), PIECE_BYTES) }.is_ok()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: the range is this piece's mapping, which nobody else knows.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr(), PIECE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_occupied_is_not_available_until_it_is_dropped() {
        let before = available().unwrap();
        if before < LEAST_FREE_BYTES + (2 << 30) {
            testing::skip(
                "memory",
                format_args!("{before} bytes are available, and a gigabyte of them is occupied"),
            );
            return;
        }
        // What else runs on the machine takes memory and gives it back meanwhile, so it is this process that is looked at.
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
                * rustix::param::page_size() as u64
        };
        let own = resident();
        let occupied = leave_free(before - (1 << 30)).unwrap();
        assert!(occupied.free_bytes < before - (1 << 30) + 2 * PIECE_BYTES as u64);
        let bytes = occupied.bytes();
        assert!(bytes > 0 && resident() >= own + bytes, "{bytes}");
        drop(occupied);
        assert!(resident() < own + bytes / 2);
        assert!(leave_free(u64::MAX / 2).unwrap().bytes() == 0);
        assert!(leave_free(1 << 20).err().unwrap().to_string().contains("too few"));
    }

    #[test]
    fn the_tightest_group_decides() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let own = dir.path().join("own");
        let allows = || group_allows(&own, dir.path());
        write("own", "5:cpu:/x\n4:memory:/a/b\n0::/c\n");
        assert_eq!(allows(), None);
        write("memory/a/memory.limit_in_bytes", "1000\n");
        write("memory/a/memory.usage_in_bytes", "400\n");
        write("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/a/b/memory.usage_in_bytes", "300\n");
        assert_eq!(allows(), Some(600));
        write("c/memory.max", "max\n");
        write("c/memory.current", "5\n");
        assert_eq!(allows(), Some(600));
        write("c/memory.max", "100\n");
        assert_eq!(allows(), Some(95));
    }
}
