//! Errors of experiments. Errors of lower crates are passed on.

use std::path::PathBuf;

/// An error of an experiment.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Error {
    #[error(transparent)]
    Activity(#[from] snapshot::activity::ActivityError),
    #[error(transparent)]
    Workload(workload::Error),
    #[error(transparent)]
    Disk(#[from] disk::Error),
    #[error(transparent)]
    FileSystem(#[from] fs::Error),
    #[error(transparent)]
    Probe(#[from] probe::Error),
    #[error(transparent)]
    Profile(#[from] profile::Error),
    #[error(transparent)]
    Replay(#[from] replay::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    #[error(transparent)]
    Trace(#[from] trace::Error),
    #[error("result store {store}: {source}")]
    Store { store: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("{action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    /// The request cannot be fulfilled.
    #[error("{0}")]
    Refused(String),
    /// Another process is doing the same work.
    #[error("{0}")]
    Busy(String),
    /// The measured file system is damaged, or the measurement is not trustworthy.
    #[error("{0}")]
    Failed(String),
    /// A signal interrupted the run.
    #[error("interrupted; {0}")]
    Interrupted(String),
}

impl From<results::Error> for Error {
    fn from(error: results::Error) -> Error {
        match error {
            results::Error::Store { store, source } => Error::Store { store, source },
            results::Error::Io { action, path, source } => Error::Io { action, path, source },
            results::Error::Refused(why) => Error::Refused(why),
        }
    }
}

impl From<ranks::Error> for Error {
    fn from(error: ranks::Error) -> Error {
        crate::bench::bench_error(error.into())
    }
}

impl results::RunError for Error {
    fn is_interruption(&self) -> bool {
        matches!(self, Error::Interrupted(_))
    }
}

impl From<workload::Error> for Error {
    /// An interrupted workload did not fail.
    fn from(error: workload::Error) -> Error {
        match error {
            workload::Error::Interrupted => interrupted(),
            workload::Error::Refused(why) => Error::Refused(why),
            workload::Error::Failed(why) => Error::Failed(why),
            error => Error::Workload(error),
        }
    }
}

/// The error when a signal interrupts an aging or a measurement.
pub fn interrupted() -> Error {
    Error::Interrupted("results so far are stored; continue with --resume".to_owned())
}

/// After an interrupt, replaces any error by that of the interrupt.
pub fn unless_interrupted<T>(result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(_) if disk::interrupted() => Err(interrupted()),
        result => result,
    }
}

impl Error {
    /// For `map_err` on operations on one file.
    pub fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path, source }
    }
}
