//! Counts failed operations by type of operation and error.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use trace::Op;

use crate::{FailureCause, OnFull};

/// Operations of one type that failed for the same reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The type of operation, one of [`Op::KINDS`].
    pub kind: String,
    /// The error, such as `ENOSPC`, or why the operation was skipped.
    pub error: String,
    /// Number of failures.
    pub count: u64,
    /// The text of one of the first failed operations.
    pub first: String,
}

/// All failures of a replay. Failures are rare, so one lock serves all threads.
pub(crate) struct Ledger {
    entries: Mutex<Vec<(usize, FailureCause, Failure)>>,
    errors: AtomicU64,
    stop_when_full: bool,
    full: AtomicBool,
}

impl Ledger {
    pub fn new(on_full: OnFull) -> Self {
        Self {
            entries: Mutex::default(),
            errors: AtomicU64::new(0),
            stop_when_full: on_full == OnFull::Stop,
            full: AtomicBool::new(false),
        }
    }

    /// Records that `op` failed.
    #[cold]
    pub fn record(&self, op: &Op, cause: FailureCause) {
        if cause != FailureCause::NotCreated {
            self.errors.fetch_add(1, Relaxed);
        }
        if cause.is_full() && self.stop_when_full {
            self.full.store(true, Relaxed);
        }
        let mut entries = self.entries.lock().expect("no thread panics with the lock");
        match entries.iter_mut().find(|(kind, why, _)| *kind == op.kind() && *why == cause) {
            Some((.., failure)) => failure.count += 1,
            None => {
                let (kind, error) = (Op::KINDS[op.kind()].to_string(), name(cause));
                entries.push((op.kind(), cause, Failure { kind, error, count: 1, first: op.to_string() }));
            }
        }
    }

    /// Number of operations that failed in a system call, without those skipped as a consequence.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Whether the file system is full and the run must stop.
    pub fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// Clears the full state at the start of a new run, because space may have been freed.
    pub fn try_again(&self) {
        self.full.store(false, Relaxed);
    }

    /// All failures, ordered by their first occurrence.
    pub fn failures(&self) -> Vec<Failure> {
        let entries = self.entries.lock().expect("no thread panics with the lock");
        entries.iter().map(|(.., failure)| failure.clone()).collect()
    }
}

/// The error's name in `errno.h`, for errors of file systems.
fn name(cause: FailureCause) -> String {
    let FailureCause::Os(errno) = cause else {
        return "skipped: file was never made".into();
    };
    let name = match errno {
        Errno::ACCESS => "EACCES",
        Errno::BUSY => "EBUSY",
        Errno::DQUOT => "EDQUOT",
        Errno::EXIST => "EEXIST",
        Errno::FBIG => "EFBIG",
        Errno::INVAL => "EINVAL",
        Errno::IO => "EIO",
        Errno::ISDIR => "EISDIR",
        Errno::LOOP => "ELOOP",
        Errno::MFILE => "EMFILE",
        Errno::MLINK => "EMLINK",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::NFILE => "ENFILE",
        Errno::NOENT => "ENOENT",
        Errno::NOMEM => "ENOMEM",
        Errno::NOSPC => "ENOSPC",
        Errno::NOSYS => "ENOSYS",
        Errno::NOTDIR => "ENOTDIR",
        Errno::NOTEMPTY => "ENOTEMPTY",
        Errno::NXIO => "ENXIO",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::PERM => "EPERM",
        Errno::ROFS => "EROFS",
        Errno::STALE => "ESTALE",
        Errno::TXTBSY => "ETXTBSY",
        Errno::UCLEAN => "EUCLEAN",
        Errno::XDEV => "EXDEV",
        other => return format!("errno {}", other.raw_os_error()),
    };
    name.into()
}
