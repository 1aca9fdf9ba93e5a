//! How many directories may be open at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No more than this: beyond it an open directory saves less than it costs the kernel in memory.
const MOST: u64 = 4096;
/// Left to the rest of the program.
const SLACK: u64 = 128;

/// Raises the limit of open files as far as allowed and says how many directories may be open.
pub(crate) fn open_directories() -> usize {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: now.maximum, maximum: now.maximum };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    };
    // No limit is as good as a high one; of a low one half is left to the rest.
    let limit = limit.unwrap_or(u64::MAX);
    (limit - SLACK.min(limit / 2)).min(MOST) as usize
}
