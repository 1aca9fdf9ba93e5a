//! The options of a replay.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Shard;

/// The default of [`Options::write_back_bytes`].
const WRITE_BACK_BYTES: u64 = 32 << 20;
/// The default of [`Options::space_wait_ms`].
const SPACE_WAIT_MS: u64 = 5000;

/// How a trace is replayed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of threads that apply operations. With one, all work runs on the calling thread.
    pub threads: usize,
    /// How files get their blocks if the trace leaves it open ([`trace::Content::Auto`]).
    pub data: Data,
    /// Maximum size of files that [`Data::Auto`] writes, because the file system may store them inside their inode
    /// (Btrfs does), whereas preallocation would give them blocks. Larger files are preallocated.
    pub inline_limit_bytes: u64,
    /// Maximum size of files that [`Data::Auto`] allocates as if they were written, because the file system may allocate
    /// small written files differently from preallocated ones (ext4 does, up to 16 blocks).
    pub grouped_limit_bytes: u64,
    /// What to do when the file system is full.
    pub on_full: OnFull,
    /// How long an operation that finds no space is retried, in milliseconds, before it counts as failed. Freed space may not be
    /// available yet, because the file system frees space and inodes in the background (XFS does) or because
    /// another thread is behind, especially on a busy machine. Once the file system is known to be full, each
    /// operation is retried once, without waiting.
    pub space_wait_ms: u64,
    /// Bytes written or preallocated between two syncs. Without syncs the kernel would keep data in memory, and
    /// freed blocks unavailable, for many seconds, in which a replay does the work of months: files would be deleted before
    /// they got blocks, and freed blocks could not be reused.
    pub write_back_bytes: u64,
    /// The seed of the file contents, see [`crate::contents()`].
    pub seed: u64,
    /// The first operations that an interrupted replay may already have applied. The result is correct
    /// if every file they use is created by one of them. For an older file,
    /// appends may be applied twice, and a rename may lose it if its number is reused.
    pub redo_first: u64,
    /// The part of the trace that this process applies. [`OnFull::Stop`] needs a single process, because others would not notice.
    #[serde(rename = "share")]
    pub shard: Shard,
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
            shard: Shard::WHOLE,
        }
    }
}

/// How files get their blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// The fastest method that gives a created file the layout of a written one: preallocation; up to
    /// [`Options::grouped_limit_bytes`] allocation by a deliberately failing write; up to
    /// [`Options::inline_limit_bytes`], and if preallocation is unsupported, writing. Writes and appends are written, because
    /// a file system may move blocks that are overwritten.
    Auto,
    /// Creates, writes and appends preallocate blocks and write no data. Syncs
    /// every [`Options::write_back_bytes`], so that the file system does not hold back blocks freed by deletions.
    Fallocate,
    /// Data is written, and synced every [`Options::write_back_bytes`], so that files get blocks before they are deleted.
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
    /// Skip the file that does not fit, with all later operations on it, and continue.
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
