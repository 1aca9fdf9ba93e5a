//! A limit on memory, and with it on the page cache: a control group of our own, for what the processes in it read
//! is charged to it. Conway et al. 2017 (Figure 7) limited the memory of a whole machine; a group limits that of one
//! reader, without a boot.

mod place;

use crate::error::{Error, IoContext};
use crate::registry::{Entry, Recorded, Session};
use place::{Place, place};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How often a group that looks busy is tried again, for a process leaves it a moment after it was waited for.
const TRIES: u32 = 200;

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// A control group whose processes together have so much memory and no more. Dropping it removes it.
#[derive(Debug)]
pub struct MemoryLimit {
    dir: PathBuf,
    limit_bytes: u64,
    recorded: Option<Recorded>,
}

impl MemoryLimit {
    /// Whether this system has control groups that limit memory, or why not. Making one takes root besides.
    pub fn available() -> Result<(), Error> {
        place().map(drop)
    }

    /// Makes a group with a limit, inside of our own (cgroup v1) or beside it (v2, where a group with processes may
    /// have no groups with limits), so that limits that hold for us go on holding.
    pub fn new(session: &Arc<Session>, limit_bytes: u64) -> Result<MemoryLimit, Error> {
        let Place { parent, limit_file } = place()?;
        let (dir, recorded) = make(session, &parent)?;
        let mut this = MemoryLimit { dir, limit_bytes, recorded: Some(recorded) };
        let file = this.dir.join(limit_file);
        std::fs::write(&file, limit_bytes.to_string()).context("limiting memory through", &file)?;
        // The kernel rounds to whole pages.
        let set = std::fs::read_to_string(&file).context("reading", &file)?;
        this.limit_bytes = set.trim().parse().unwrap_or(limit_bytes);
        Ok(this)
    }

    /// The limit, as the kernel holds it.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Makes `command` run within the limit, and end when the thread that starts it does, so that a killed run leaves
    /// an empty group.
    pub fn confine(&self, command: &mut Command) -> Result<(), Error> {
        let path = self.dir.join("cgroup.procs");
        let group = File::options().write(true).open(&path).context("opening", &path)?;
        let join = move || -> io::Result<()> {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Process 0 is the one that writes.
            rustix::io::write(&group, b"0")?;
            Ok(())
        };
        // SAFETY: the closure makes two system calls and neither allocates nor takes a lock.
        unsafe { command.pre_exec(join) };
        Ok(())
    }

    /// Removes the group, and says if that fails.
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
        // What stays is in the journal.
        let _ = self.take_down();
    }
}

/// Makes a group with a name that is still free.
fn make(session: &Arc<Session>, parent: &Path) -> Result<(PathBuf, Recorded), Error> {
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

/// Removes a group, if there is one; only an empty one can be.
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
