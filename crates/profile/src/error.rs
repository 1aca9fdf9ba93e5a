//! What can go wrong with a profile. Each message says what was tried, on what, why it failed and what to do.

use std::path::PathBuf;

/// An error of loading, checking or capturing a profile.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No built-in profile has this name, and it is no file.
    #[error(
        "no profile named {name:?}, and no such file; `senesce profile list` shows the built-in ones ({known})"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in ones.
        known: String,
    },
    /// The file could not be read.
    #[error("reading {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not a profile.
    #[error("{place} is not a profile: {why}")]
    Syntax {
        /// The file, or what else the text came from.
        place: String,
        /// Where in it and what is wrong.
        why: String,
    },
    /// A histogram makes no sense.
    #[error("profile {profile}: [{section}] {why}")]
    Histogram {
        /// The profile.
        profile: String,
        /// `age`, `size` or `depth`.
        section: &'static str,
        /// What is wrong and how it should be.
        why: String,
    },
    /// The tree contains no files.
    #[error("{}: no readable regular file, so there is nothing to capture", .0.display())]
    Nothing(PathBuf),
}
