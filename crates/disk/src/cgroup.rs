//! Memory limits by control groups. A limit includes the page cache, because pages are charged to the process that reads them. Conway et
//! al. 2017 (Figure 7) limited the memory of a whole machine; a control group limits that of a single reader, without a reboot.

mod parent;

use crate::error::{Error, IoContext};
use crate::registry::{Entry, EntryGuard, Session};
use parent::{GroupParent, find_parent};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to remove a busy group: a process leaves its group slightly after it has been waited for.
const TRIES: u32 = 200;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// A control group that limits the total memory of its processes. Removed on drop.
#[derive(Debug)]
pub struct MemoryLimit {
    dir: PathBuf,
    limit_bytes: u64,
    recorded: Option<EntryGuard>,
}

impl MemoryLimit {
    /// Checks that this system has control groups that limit memory. Creating one also needs root.
    pub fn available() -> Result<(), Error> {
        find_parent().map(drop)
    }

    /// Creates a group with a limit. The group is a child of this process's group (cgroup v1) or of an ancestor (v2, where a group with
    /// processes cannot have children with limits), so the limits of this process still apply.
    pub fn new(session: &Arc<Session>, limit_bytes: u64) -> Result<MemoryLimit, Error> {
        let GroupParent { parent, limit_file } = find_parent()?;
        let (dir, recorded) = make(session, &parent)?;
        let mut this = MemoryLimit { dir, limit_bytes, recorded: Some(recorded) };
        let file = this.dir.join(limit_file);
        std::fs::write(&file, limit_bytes.to_string()).context("limiting memory through", &file)?;
        // The kernel rounds the limit to whole pages.
        let set = std::fs::read_to_string(&file).context("reading", &file)?;
        this.limit_bytes = set.trim().parse().unwrap_or(limit_bytes);
        Ok(this)
    }

    /// The limit in effect.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Runs `command` within the limit and kills it when the thread that spawned it ends, so that a killed run leaves an empty group.
    pub fn confine(&self, command: &mut Command) -> Result<(), Error> {
        let path = self.dir.join("cgroup.procs");
        let group = File::options().write(true).open(&path).context("opening", &path)?;
        let join = move || -> io::Result<()> {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // PID 0 denotes the writing process.
            rustix::io::write(&group, b"0")?;
            Ok(())
        };
        // SAFETY: the closure makes two system calls and neither allocates nor takes a lock.
        unsafe { command.pre_exec(join) };
        Ok(())
    }

    /// Removes the group and reports failures.
    pub fn remove(mut self) -> Result<(), Error> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<(), Error> {
        let Some(recorded) = self.recorded.take() else { return Ok(()) };
        let removed = remove_group(&self.dir);
        if removed.is_err() {
            recorded.keep();
        }
        removed
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // A group that could not be removed stays in the journal.
        let _ = self.take_down();
    }
}

/// Creates a group with an unused name.
fn make(session: &Arc<Session>, parent: &Path) -> Result<(PathBuf, EntryGuard), Error> {
    let mut number = 1;
    loop {
        let dir = parent.join(format!("senesce-{}-{number}", std::process::id()));
        let recorded = session.record(Entry::Cgroup { path: dir.clone() })?;
        match std::fs::create_dir(&dir) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => number += 1,
            result => return result.context("creating the control group", &dir).map(|()| (dir, recorded)),
        }
    }
}

/// Removes a group if it exists. A group with processes cannot be removed.
pub fn remove_group(dir: &Path) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        match std::fs::remove_dir(dir) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) if e.kind() == ErrorKind::ResourceBusy && tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            result => return result.context("removing the control group", dir),
        }
    }
}
