//! Errors of profiles. Each message says what failed, on what, why, and what to do.

use std::path::PathBuf;

/// An error from loading, checking or capturing a profile.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No built-in profile has this name, and no file has this path.
    #[error(
        "no profile named {name:?}, and no such file; `senesce profile list` shows the built-in ones ({known})"
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of the built-in profiles.
        known: String,
    },
    /// A file or directory could not be read.
    #[error("reading {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The text is not a profile.
    #[error("{place} is not a profile: {why}")]
    Syntax {
        /// The file or other origin of the text.
        place: String,
        /// The position and the problem.
        why: String,
    },
    /// A histogram is invalid.
    #[error("profile {profile}: [{section}] {why}")]
    Histogram {
        /// The profile's name.
        profile: String,
        /// `age`, `size` or `depth`.
        section: &'static str,
        /// The problem and the requirement.
        why: String,
    },
    /// The tree contains no files.
    #[error("{}: no readable regular file, so there is nothing to capture", .0.display())]
    NoFiles(PathBuf),
}
