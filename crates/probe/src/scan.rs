//! The scan: the cost of reading every file of a tree (DESIGN §3; Conway et al. 2017, §3.3).

use crate::{Census, Error, Result};
use disk::MemoryLimit;
use rustix::fs::FileType;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tree::{SNAPSHOTS, walk};

/// The program that reads the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reader {
    /// `grep -r` for a string that does not occur, as published. It visits the names of a directory in the
    /// order in which the file system lists them.
    Grep,
    /// Reads each regular file completely, in scan order (see [`tree::walk`]), 1 MiB at a time.
    Builtin,
}

/// The cost of reading a tree.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Scan {
    /// The reader.
    pub reader: Reader,
    /// Elapsed seconds.
    pub wall_s: f64,
    /// Seconds of processor time of the reader, user and system.
    pub cpu_s: f64,
    /// Regular files of the tree.
    pub files: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
    /// Allocated space of the tree in bytes, as `du` counts it on ext4, the same for all file systems (Conway et al. 2017, §3.3).
    pub allocated_bytes: u64,
    /// The scan cost: seconds per GiB of that; `None` if nothing is allocated.
    pub s_per_gib: Option<f64>,
}

/// Reads the tree below `root` and measures the time. The caller drops the caches; `census` counts the tree and
/// must be taken before that.
pub fn scan(root: &Path, reader: Reader, census: &Census) -> Result<Scan> {
    let spent = match reader {
        Reader::Grep => observed_grep(root, None)?,
        Reader::Builtin => read_all(root)?,
    };
    Ok(Scan::of(reader, spent, census))
}

/// Reads the tree below `root` with `grep` within a memory limit, and measures the time. The caller controls the state of the
/// caches: pages that another process has already read do not count against the limit.
pub fn scan_limited(root: &Path, census: &Census, limit: &MemoryLimit) -> Result<Scan> {
    Ok(Scan::of(Reader::Grep, observed_grep(root, Some(limit))?, census))
}

impl Scan {
    fn of(reader: Reader, spent: Spent, census: &Census) -> Scan {
        let wall_s = spent.wall.as_secs_f64();
        let gib = census.ext4_bytes as f64 / (1u64 << 30) as f64;
        Scan {
            reader,
            wall_s,
            cpu_s: spent.cpu.as_secs_f64(),
            files: census.files,
            bytes: census.bytes,
            allocated_bytes: census.ext4_bytes,
            s_per_gib: (census.ext4_bytes > 0).then(|| wall_s / gib),
        }
    }
}

/// The time used by a reader.
struct Spent {
    wall: Duration,
    cpu: Duration,
}

/// The arguments of `grep` before the string.
const SEARCH: [&str; 5] = ["-r", "-F", "--exclude-dir", SNAPSHOTS, "-e"];

fn observed_grep(root: &Path, limit: Option<&MemoryLimit>) -> Result<Spent> {
    let in_words = || format!("grep {} RANDOM -- {}", SEARCH.join(" "), root.display());
    disk::observed(in_words, || grep(root, limit))
}

/// Searches the tree for a random string.
fn grep(root: &Path, limit: Option<&MemoryLimit>) -> Result<Spent> {
    let mut command = Command::new("grep");
    command
        .args(SEARCH)
        .args([&random_string()?, "--"])
        .arg(root)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(limit) = limit {
        limit.confine(&mut command)?;
    }
    let begun = Instant::now();
    let child = command.spawn();
    // Joining the control group takes milliseconds, which are not part of the scan.
    let start = if limit.is_some() { Instant::now() } else { begun };
    let tried = || format!("running grep -r on {}", root.display());
    let mut child = child.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::cannot(tried(), "no grep in PATH: install it, or use the built-in reader")
        }
        _ => Error::cannot(tried(), error.to_string()),
    })?;
    let mut complaint = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut complaint).map_err(|error| Error::cannot(tried(), error.to_string()))?;
    }
    let (status, cpu) = wait(child.id()).map_err(|error| Error::cannot(tried(), error.to_string()))?;
    let wall = start.elapsed();
    // Exit status 1 means no match: grep read everything.
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status), limit) {
        (true, 1, _) => Ok(Spent { wall, cpu }),
        (true, 0, _) => Err(Error::cannot(
            tried(),
            "grep found the random string and stopped early, so not all files were read: try again",
        )),
        (false, _, Some(limit)) if libc::WTERMSIG(status) == libc::SIGKILL => {
            let why = format!("{} bytes of memory are not enough; raise the limit", limit.limit_bytes());
            Err(Error::cannot(tried(), why))
        }
        // Ctrl-C on a terminal reaches this program and its children.
        (false, ..) if disk::interrupted() => Err(Error::cannot(tried(), "interrupted")),
        _ => Err(Error::cannot(tried(), format!("it failed: {}", complaint.trim()))),
    }
}

/// Waits for a child process; returns its wait status and processor time.
fn wait(pid: u32) -> std::io::Result<(i32, Duration)> {
    let mut status = 0;
    // SAFETY: all bits zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers refer to live variables of the types that wait4 fills.
        if unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) } >= 0 {
            let time = |t: libc::timeval| {
                Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
            };
            return Ok((status, time(usage.ru_utime) + time(usage.ru_stime)));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// 32 random letters; a file contains them with a probability of 26⁻³² per position.
fn random_string() -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 32];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::io("reading random bytes from", source))?;
    Ok(bytes.iter().map(|byte| (b'a' + byte % 26) as char).collect())
}

/// Reads every regular file of the tree completely.
fn read_all(root: &Path) -> Result<Spent> {
    let (start, cpu) = (Instant::now(), thread_cpu());
    let mut buffer = vec![0; 1 << 20];
    walk(root, |entry| -> Result<()> {
        if entry.file_type == FileType::RegularFile {
            let mut file = File::from(entry.open().map_err(|errno| entry.error("opening", errno.into()))?);
            while file.read(&mut buffer).map_err(|error| entry.error("reading", error))? > 0 {}
        }
        Ok(())
    })?;
    Ok(Spent { wall: start.elapsed(), cpu: thread_cpu().saturating_sub(cpu) })
}

/// The processor time of this thread.
fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census;

    #[test]
    fn both_readers_report_the_same_tree() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/a"), vec![b'x'; 64 << 20]).unwrap();
        std::fs::write(dir.path().join("-b"), "text\n").unwrap();
        let counts = census(dir.path()).unwrap();
        for reader in [Reader::Grep, Reader::Builtin] {
            let scan = scan(dir.path(), reader, &counts).unwrap();
            assert_eq!((scan.files, scan.bytes), (2, (64 << 20) + 5));
            let gib = scan.allocated_bytes as f64 / (1u64 << 30) as f64;
            assert!((scan.s_per_gib.unwrap() * gib - scan.wall_s).abs() < 1e-9);
            assert!(scan.cpu_s > 0.0 && scan.cpu_s < scan.wall_s + 0.02, "{scan:?}");
        }
    }

    #[test]
    fn missing_tree_is_named() {
        for reader in [Reader::Grep, Reader::Builtin] {
            let error = scan(Path::new("/nonexistent/tree"), reader, &Census::default()).unwrap_err();
            assert!(error.to_string().contains("/nonexistent/tree"), "{error}");
        }
    }

    #[test]
    fn empty_tree_has_no_cost_per_gib() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(scan(dir.path(), Reader::Grep, &Census::default()).unwrap().s_per_gib, None);
    }
}
