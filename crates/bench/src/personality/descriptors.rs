//! How many files this process may hold open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept free for all else that the program opens.
const OTHERS: u64 = 128;

/// How many more files may be open beside `reserved`, once as many are allowed as may be.
pub(super) fn left(reserved: u64) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let most = if raised.is_ok() { limit.maximum } else { limit.current };
    most.unwrap_or(u64::MAX).saturating_sub(reserved + OTHERS).try_into().unwrap_or(usize::MAX)
}
