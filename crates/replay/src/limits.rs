//! The limit of open directories.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Upper limit: more open directories cost the kernel more memory than they save time.
const MOST: u64 = 4096;
/// Descriptors reserved for the rest of the program.
const SLACK: u64 = 128;

/// Raises the limit of open files to the maximum and returns how many directories may be open.
pub(crate) fn open_directories() -> usize {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: now.maximum, maximum: now.maximum };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    };
    // Of a low limit, half is reserved for the rest of the program.
    let limit = limit.unwrap_or(u64::MAX);
    (limit - SLACK.min(limit / 2)).min(MOST) as usize
}
