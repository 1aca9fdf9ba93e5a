//! The limit of open files of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for the rest of the program.
const OTHERS: u64 = 128;

/// Raises the limit of open files to its maximum; returns how many are left besides `reserved`.
pub(super) fn left(reserved: u64) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let most = if raised.is_ok() { limit.maximum } else { limit.current };
    most.unwrap_or(u64::MAX).saturating_sub(reserved + OTHERS).try_into().unwrap_or(usize::MAX)
}
