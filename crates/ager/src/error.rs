//! Why an aging cannot be planned. Each message says what was asked, why it cannot be and what to do.

/// An error of planning.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The conditions contradict themselves or the profile.
    #[error("cannot plan the aging: {0}")]
    Conditions(String),
    /// The profile is not a valid one.
    #[error(transparent)]
    Profile(#[from] profile::Error),
    /// Operations could not be made again for a resume.
    #[error(transparent)]
    Trace(#[from] trace::Error),
}
