//! Limits free memory, to simulate a machine with other load: occupies memory that the kernel could use for caching (Kunkel 2016,
//! section 3: "free memory limited to …").
//!
//! The limit applies to `MemAvailable`, the memory that is usable without swapping. (The report adds up `MemFree`, `Cached` and
//! `Buffers`, which counts file systems in memory as free.)

use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// Minimum of free memory, in bytes: with less, the kernel would kill processes.
pub const LEAST_FREE_BYTES: u64 = 96 << 20;

/// Memory is occupied in pieces of this size; the available memory is checked after each.
const PIECE_BYTES: usize = 16 << 20;

/// An error while limiting free memory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The limit leaves too little memory.
    #[error("{limit_bytes} bytes of free memory are too few; leave at least {LEAST_FREE_BYTES}")]
    TooLittle {
        /// The requested limit.
        limit_bytes: u64,
    },
    /// The control group of this process does not allow it.
    #[error(
        "{needed_bytes} bytes of memory need to be occupied, but the control group of this process allows \
         only {allowed_bytes} more; limit the memory of the group instead"
    )]
    ControlGroup {
        /// Bytes to occupy.
        needed_bytes: u64,
        /// Bytes that the group allows.
        allowed_bytes: u64,
    },
    /// The available memory cannot be read, or memory cannot be allocated.
    #[error("{what}: {source}")]
    Kernel {
        /// The failed action.
        what: String,
        /// The cause.
        source: std::io::Error,
    },
}

/// Occupied memory, freed on drop.
pub struct OccupiedMemory {
    pieces: Vec<Piece>,
    /// Whether the memory is locked, so that it cannot be swapped out.
    pub locked: bool,
    /// Available bytes before.
    pub before_bytes: u64,
    /// Available bytes now.
    pub free_bytes: u64,
}

impl OccupiedMemory {
    /// Occupied bytes.
    pub fn bytes(&self) -> u64 {
        (self.pieces.len() * PIECE_BYTES) as u64
    }
}

/// Occupies memory until at most `limit_bytes` are available. If less is available already, occupies nothing.
pub fn limit_free(limit_bytes: u64) -> Result<OccupiedMemory, Error> {
    if limit_bytes < LEAST_FREE_BYTES {
        return Err(Error::TooLittle { limit_bytes });
    }
    let before_bytes = available()?;
    let needed_bytes = before_bytes.saturating_sub(limit_bytes);
    // The kernel kills processes of a full group as on a full machine: leave some memory for the rest of the group.
    if let Some(allowed_bytes) = group_allows(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"))
        && needed_bytes + LEAST_FREE_BYTES > allowed_bytes
    {
        return Err(Error::ControlGroup { needed_bytes, allowed_bytes });
    }
    let mut occupied =
        OccupiedMemory { pieces: Vec::new(), locked: true, before_bytes, free_bytes: before_bytes };
    while occupied.free_bytes >= limit_bytes + PIECE_BYTES as u64 {
        let piece = Piece::take()?;
        occupied.locked &= piece.lock();
        occupied.pieces.push(piece);
        occupied.free_bytes = available()?;
    }
    Ok(occupied)
}

/// Bytes that are usable without swapping.
pub fn available() -> Result<u64, Error> {
    let path = "/proc/meminfo";
    let fail = |source| Error::Kernel { what: format!("reading {path}"), source };
    let text = std::fs::read_to_string(path).map_err(fail)?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| fail(std::io::Error::other("no available memory reported")))
}

/// Bytes that the control groups listed in `own`, with files below `root`, still allow; none without a limit.
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
        // The limits of all parent groups apply as well.
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

/// A separate mapping of occupied memory.
struct Piece(NonNull<std::ffi::c_void>);

// SAFETY: the piece owns the memory exclusively, and nothing reads or writes it.
unsafe impl Send for Piece {}

impl Piece {
    fn take() -> Result<Piece, Error> {
        let fail = |errno: rustix::io::Errno| Error::Kernel {
            what: "occupying memory".to_owned(),
            source: errno.into(),
        };
        // SAFETY: a new mapping at an address chosen by the kernel touches no existing memory.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                PIECE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(fail)?;
        let piece = Piece(NonNull::new(start).expect("no mapping starts at address 0"));
        // SAFETY: the range is the new mapping.
        unsafe { rustix::mm::madvise(start, PIECE_BYTES, Advice::LinuxPopulateWrite) }.map_err(fail)?;
        Ok(piece)
    }

    /// Locks the piece in memory; returns whether that is allowed.
    fn lock(&self) -> bool {
        // SAFETY: the range is this piece's mapping.
        unsafe { rustix::mm::mlock(self.0.as_ptr(), PIECE_BYTES) }.is_ok()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: the range is this piece's mapping, and no other reference to it exists.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr(), PIECE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupied_memory_is_resident_until_drop() {
        let before = available().unwrap();
        if before < LEAST_FREE_BYTES + (2 << 30) {
            testing::skip(
                "memory",
                format_args!("{before} bytes are available, and a gigabyte of them is occupied"),
            );
            return;
        }
        // Checks the resident size of this process, since other processes change the available memory in the meantime.
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
                * rustix::param::page_size() as u64
        };
        let own = resident();
        let occupied = limit_free(before - (1 << 30)).unwrap();
        assert!(occupied.free_bytes < before - (1 << 30) + 2 * PIECE_BYTES as u64);
        let bytes = occupied.bytes();
        assert!(bytes > 0 && resident() >= own + bytes, "{bytes}");
        drop(occupied);
        assert!(resident() < own + bytes / 2);
        assert!(limit_free(u64::MAX / 2).unwrap().bytes() == 0);
        assert!(limit_free(1 << 20).err().unwrap().to_string().contains("too few"));
    }

    #[test]
    fn tightest_group_limit_applies() {
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
