//! File systems that are written to for a measurement, and are afterwards what they were, as far as that can be.

use crate::Error;
use crate::manifest::{Home, Made};
use disk::{Scratch, Session};
use fs::Target;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file system is afterwards what it was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// Its modelled disk was rolled back to a snapshot.
    RolledBack,
    /// A copy of its image was written to.
    Copied,
    /// Not to the block: what was made on it is deleted, and that is all. On devices and directories.
    CleanedUp,
    /// It was only read.
    Untouched,
}

impl Kept {
    /// What that means, for people.
    pub fn said_of(self, name: &str) -> String {
        match self {
            Kept::RolledBack => format!("{name} is rolled back to what it was"),
            Kept::Copied => format!("{name} is what it was: a copy was used, and is gone"),
            Kept::CleanedUp => {
                format!("{name} itself was written to: it cannot be rolled back, only cleaned up")
            }
            Kept::Untouched => format!("{name} was only read"),
        }
    }

    /// How a file system that lives there is kept when it is written to.
    pub(crate) fn at(home: &Home) -> Kept {
        match home {
            Home::Image(_) => Kept::Copied,
            Home::Modelled { .. } => Kept::RolledBack,
            Home::Device(_) | Home::Dir(_) => Kept::CleanedUp,
        }
    }
}

/// A file system that is kept.
pub(crate) struct Keeping {
    // Dropped before the copy that it may be.
    pub(crate) target: Box<dyn Target>,
    restoring: Restoring,
}

/// How it is made what it was.
enum Restoring {
    /// By a snapshot, which a file names as long as that is to be done.
    Snapshot { snapshot: String, note: PathBuf },
    /// By removing the copy that it is, with the directory that holds it.
    Copy(Scratch),
    /// By whoever wrote to it.
    Cleanup,
    /// Nothing is to be done.
    Untouched,
}

impl Keeping {
    /// Opens what `made` describes to be written to. What is to be done in the end is noted beside it, under this name in
    /// `dir`.
    pub(crate) fn open(
        session: &Arc<Session>,
        dir: &Path,
        name: &str,
        made: &Made,
    ) -> Result<Keeping, Error> {
        let open = |made: &Made| crate::age::open(session, made);
        Ok(match &made.home {
            Home::Image(image) => {
                let image = std::fs::canonicalize(image).map_err(Error::io("opening", image))?;
                let beside = image.parent().unwrap_or(Path::new("/"));
                let scratch = Scratch::make(session, beside, "senesce-benchmark")?;
                let copy = scratch.path().join("copy.img");
                copy_image(&image, &copy)?;
                let target = open(&Made { home: Home::Image(copy), ..made.clone() })?;
                Keeping { target, restoring: Restoring::Copy(scratch) }
            }
            Home::Modelled { .. } => {
                let mut target = open(made)?;
                let note = dir.join(format!("{name}.benchmark"));
                let snapshot = match std::fs::read_to_string(&note) {
                    // A benchmark that was killed has left its files.
                    Ok(snapshot) => {
                        target.rollback(&snapshot)?;
                        snapshot
                    }
                    Err(_) => {
                        let snapshot = new_name(target.as_ref())?;
                        target.snapshot(&snapshot)?;
                        std::fs::write(&note, &snapshot).map_err(Error::io("writing", &note))?;
                        snapshot
                    }
                };
                Keeping { target, restoring: Restoring::Snapshot { snapshot, note } }
            }
            Home::Device(_) | Home::Dir(_) => Keeping { target: open(made)?, restoring: Restoring::Cleanup },
        })
    }

    /// Opens what `made` describes to be read and no more.
    pub(crate) fn read_only(session: &Arc<Session>, made: &Made) -> Result<Keeping, Error> {
        let mount_opts = [&made.mount_opts[..], &["ro".to_owned()]].concat();
        let target = crate::age::open(session, &Made { mount_opts, ..made.clone() })?;
        Ok(Keeping { target, restoring: Restoring::Untouched })
    }

    /// Takes a target that whoever writes to it cleans up.
    pub(crate) fn of(target: Box<dyn Target>, writes: bool) -> Keeping {
        let restoring = if writes { Restoring::Cleanup } else { Restoring::Untouched };
        Keeping { target, restoring }
    }

    /// Makes it what it was, and closes it.
    pub(crate) fn restore(self) -> Result<Kept, Error> {
        let Keeping { mut target, restoring } = self;
        match restoring {
            Restoring::Snapshot { snapshot, note } => {
                target.rollback(&snapshot)?;
                target.close()?;
                std::fs::remove_file(&note).map_err(Error::io("removing", &note))?;
                Ok(Kept::RolledBack)
            }
            Restoring::Copy(scratch) => {
                target.close()?;
                drop(scratch);
                Ok(Kept::Copied)
            }
            Restoring::Cleanup => target.close().map(|()| Kept::CleanedUp).map_err(Error::from),
            Restoring::Untouched => target.close().map(|()| Kept::Untouched).map_err(Error::from),
        }
    }
}

/// A name that no snapshot has.
fn new_name(target: &dyn Target) -> Result<String, Error> {
    let taken = target.modelled().expect("it lies on a modelled disk").snapshots()?;
    let mut names = (1..).map(|number| format!("before-benchmark-{number}"));
    let free = |name: &String| taken.iter().all(|snapshot| snapshot.name != *name);
    Ok(names.find(free).expect("numbers do not end"))
}

/// Copies an image, holes as holes, and where the file system below can share blocks, without copying them.
fn copy_image(image: &Path, copy: &Path) -> Result<(), Error> {
    let mut cp = disk::command("cp");
    let copied = disk::run_tool(
        cp.args(["--reflink=auto", "--sparse=always", "--"]).arg(image).arg(copy),
        "coreutils",
    );
    match copied {
        Ok(output) if output.status.success() => Ok(()),
        failed => {
            let why = String::from_utf8_lossy(&failed?.stderr).trim().to_owned();
            Err(Error::Failed(format!("the benchmark runs on a copy of {}: {why}", image.display())))
        }
    }
}
