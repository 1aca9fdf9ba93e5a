//! Errors of the laboratory.

use thiserror::Error;

/// An error of the laboratory. Lack of space for an operation is counted and is not an error.
#[derive(Debug, Error)]
pub enum Error {
    /// The image is too small or too large.
    #[error("a simulated disk must have {least} to {most} bytes, not {size_bytes}; give another size")]
    #[allow(missing_docs, reason = "the message explains them")]
    Size { size_bytes: u64, least: u64, most: u64 },
    /// Unknown policy.
    #[error("no policy {name} on {file_system}; known: {known}")]
    #[allow(missing_docs, reason = "the message explains them")]
    Policy { name: String, file_system: &'static str, known: String },
    /// The trace contains an impossible operation.
    #[error("operation {index}, {op}, is impossible: {why}; check the trace with `senesce trace stat`")]
    #[allow(missing_docs, reason = "the message explains them")]
    Impossible { index: u64, op: String, why: &'static str },
    /// The files of the sequential benchmark do not fit into the free space.
    #[error(
        "no space for the sequential benchmark: {all_bytes} bytes in files of {file_bytes} bytes do not fit; use a \
         larger or a less full file system"
    )]
    #[allow(missing_docs, reason = "the message explains them")]
    BenchmarkSpace { all_bytes: u64, file_bytes: u64 },
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] trace::Error),
}
