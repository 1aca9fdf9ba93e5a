//! What a replay can be told.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Share;

/// What [`Options::write_back_bytes`] is unless told.
const WRITE_BACK_BYTES: u64 = 32 << 20;
/// What [`Options::space_wait_ms`] is unless told.
const SPACE_WAIT_MS: u64 = 5000;

/// How a trace is replayed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How many threads apply operations. With one, nothing runs beside the caller.
    pub threads: usize,
    /// How files get their blocks where the trace leaves it open ([`trace::Content::Auto`]).
    pub data: Data,
    /// Up to this size [`Data::Auto`] writes files, because the file system may keep them inside their inode
    /// (Btrfs does) and preallocation would give them blocks instead. Larger ones are preallocated.
    pub inline_limit_bytes: u64,
    /// Up to this size [`Data::Auto`] has files allocated as if they were written, because the file system may serve
    /// small written files in another way than preallocated ones (ext4 does, up to 16 blocks).
    pub grouped_limit_bytes: u64,
    /// What to do when the file system is full.
    pub on_full: OnFull,
    /// How long an operation that finds no space is retried, in milliseconds, before it counts as failed: space that was
    /// freed may not be available yet, because the file system frees in the background (XFS does, inodes too) or because
    /// another thread is behind, and far behind on a busy machine. Once the file system is known to be full, each
    /// operation is retried once, without waiting.
    pub space_wait_ms: u64,
    /// After this many bytes written or preallocated all is forced to disk. The kernel would leave data in memory, and
    /// freed blocks out of use, for many seconds, in which a replay does what took months: files would be deleted before
    /// they had been given blocks, and the blocks of those that had would not be there to be used again.
    pub write_back_bytes: u64,
    /// What the contents of files are made from, see [`crate::contents()`].
    pub seed: u64,
    /// This many operations at the start may have been applied before, by a replay that was cut short: what they
    /// would do may be done already. All comes out right if every file they work on is created by one of them. Of a
    /// file from before them, appends may be done twice, and it may be lost by a rename if its number is used again.
    pub redo_first: u64,
    /// What of the trace this process applies. [`OnFull::Stop`] is for one process: others would not know.
    pub share: Share,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            data: Data::Auto,
            inline_limit_bytes: 2048,
            grouped_limit_bytes: 0,
            on_full: OnFull::Skip,
            space_wait_ms: SPACE_WAIT_MS,
            write_back_bytes: WRITE_BACK_BYTES,
            seed: 0,
            redo_first: 0,
            share: Share::WHOLE,
        }
    }
}

/// How files get their blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// Whatever is fastest and gives a created file the layout of a written one: preallocation; up to
    /// [`Options::grouped_limit_bytes`] allocation by a write that fails on purpose; up to
    /// [`Options::inline_limit_bytes`], and where nothing can be preallocated, writing. Writes and appends are written, because
    /// a file system may move blocks that are overwritten.
    Auto,
    /// Blocks are preallocated, by creates, writes and appends alike, and no byte is written. All is forced to disk
    /// every [`Options::write_back_bytes`], lest the file system hold back the blocks that deletions have freed.
    Fallocate,
    /// Bytes are written, and forced to disk every [`Options::write_back_bytes`], lest files be deleted before they get blocks.
    Write,
}

impl FromStr for Data {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Self, String> {
        match word {
            "auto" => Ok(Data::Auto),
            "fallocate" => Ok(Data::Fallocate),
            "write" => Ok(Data::Write),
            _ => Err(format!("unknown allocation method `{word}`; use auto, fallocate or write")),
        }
    }
}

/// What to do when the file system is full (`ENOSPC`, `EDQUOT`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFull {
    /// Leave out the file that does not fit, with all that the trace does to it later, and go on.
    Skip,
    /// End the run.
    Stop,
}

impl FromStr for OnFull {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Self, String> {
        match word {
            "skip" => Ok(OnFull::Skip),
            "stop" => Ok(OnFull::Stop),
            _ => Err(format!("unknown action `{word}` on a full file system; use skip or stop")),
        }
    }
}
