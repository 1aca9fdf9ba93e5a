//! Removes the resources that killed runs have left behind.

use super::journal::{Contents, Journal};
use super::{Entry, run_dir};
use crate::cgroup::remove_group;
use crate::error::{Error, IoContext};
use crate::loop_device::detach_all;
use crate::mount::unmount;
use crate::mount_table::mount_points;
use crate::{MARKER, WorkLock};
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The result of [`cleanup`], one sentence per item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CleanupReport {
    /// The resources removed.
    pub undone: Vec<String>,
    /// Runs that are still alive and were not touched.
    pub running: Vec<String>,
    /// The resources that could not be removed, with the reason and what to do.
    pub failed: Vec<String>,
}

/// Removes the resources of runs that ended without removing them: mounts, loop devices, ZFS pools, control groups, temporary files, trace
/// instances, and the writes of benchmarks to aged disks. Resources that no journal names are never touched.
pub fn cleanup() -> Result<CleanupReport, Error> {
    cleanup_in(&run_dir())
}

/// The same as [`cleanup`] for the runs with this run directory.
pub fn cleanup_in(dir: &Path) -> Result<CleanupReport, Error> {
    let mut cleaned = CleanupReport::default();
    let mut alive = HashSet::new();
    let mut ended = Vec::new();
    for path in journals(dir)? {
        match Journal::take_over(&path) {
            Ok(Some(mut journal)) => match journal.read() {
                Ok(contents) => ended.push((journal, contents)),
                Err(e) => cleaned.failed.push(e.to_string()),
            },
            Ok(None) if path.exists() => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                alive.extend(name.split('-').next().and_then(|pid| pid.parse::<u32>().ok()));
                cleaned.running.push(format!("process {name}"));
            }
            Ok(None) => {}
            Err(e) => cleaned.failed.push(e.to_string()),
        }
    }
    for (journal, contents) in ended {
        let failures = cleaned.failed.len();
        if let Some(Contents { pid, entries }) = contents {
            // What bears the number of the process may belong to a later process with the same number.
            if !alive.contains(&pid) {
                // A pool keeps its loop device in use.
                cleaned.note(super::pools::export(pid));
                cleaned.note(remove_trace_instance(pid));
            }
            // Newest first: a mount is removed before the loop device below it.
            entries.iter().rev().for_each(|entry| cleaned.note(undo(entry, dir)));
        }
        if cleaned.failed.len() == failures {
            journal.remove();
        }
    }
    Ok(cleaned)
}

impl CleanupReport {
    fn note(&mut self, outcome: Result<Vec<String>, Error>) {
        match outcome {
            Ok(done) => self.undone.extend(done),
            Err(e) => self.failed.push(e.to_string()),
        }
    }
}

fn journals(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        result => result.context("reading", dir)?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.context("reading", dir)?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    paths.sort();
    Ok(paths)
}

/// Undoes one entry; a missing resource is not an error.
fn undo(entry: &Entry, run_dir: &Path) -> Result<Vec<String>, Error> {
    match entry {
        Entry::Loop { backing } => {
            let devices = detach_all(backing)?;
            Ok(devices
                .iter()
                .map(|d| format!("detached {} from {}", d.display(), backing.display()))
                .collect())
        }
        Entry::Mount { dir } => {
            let mut done = Vec::new();
            while mount_points("self")?.iter().any(|m| m.dir == *dir) {
                unmount(dir)?;
                done.push(format!("unmounted {}", dir.display()));
            }
            if dir.starts_with(run_dir) {
                ignore_missing(std::fs::remove_dir(dir)).context("removing", dir)?;
            }
            Ok(done)
        }
        Entry::Directory { path } => {
            if !path.exists() {
                return Ok(Vec::new());
            }
            must_be_ours(path, run_dir)?;
            if let Some(mount) = mount_points("self")?.iter().find(|m| m.dir.starts_with(path)) {
                return Err(Error::MountBusy { dir: mount.dir.clone() });
            }
            ignore_missing(std::fs::remove_dir_all(path)).context("removing", path)?;
            Ok(vec![format!("removed {}", path.display())])
        }
        Entry::File { path } => {
            if !path.exists() {
                return Ok(Vec::new());
            }
            must_be_ours(path, run_dir)?;
            ignore_missing(std::fs::remove_file(path)).context("removing", path)?;
            Ok(vec![format!("removed {}", path.display())])
        }
        Entry::RestoreNote { note } => {
            Ok(crate::restore_note::restore_from_note(note)?.into_iter().collect())
        }
        // Removing a group deletes no data, and fails while it contains a process.
        Entry::Cgroup { path } => {
            if !path.join("cgroup.procs").exists() {
                return Ok(Vec::new());
            }
            remove_group(path)?;
            Ok(vec![format!("removed the control group {}", path.display())])
        }
    }
}

/// An entry is not sufficient for deletion: the directory must also be marked as owned by this program.
fn must_be_ours(path: &Path, run_dir: &Path) -> Result<(), Error> {
    let marked = |dir: &Path| {
        dir.starts_with(run_dir) || dir.join(MARKER).exists() || dir.join(WorkLock::FILE).exists()
    };
    if marked(path) || path.parent().is_some_and(marked) {
        return Ok(());
    }
    let why = format!("it has no {MARKER} of senesce; if you do not need it, delete it by hand");
    Err(Error::Journal { path: path.to_owned(), why })
}

fn remove_trace_instance(pid: u32) -> Result<Vec<String>, Error> {
    let path = PathBuf::from(format!("/sys/kernel/tracing/instances/senesce-{pid}"));
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    ignore_missing(std::fs::remove_dir(&path)).context("removing", &path)?;
    Ok(vec![format!("removed {}", path.display())])
}

/// Ignores a missing file; another process may have removed it.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
