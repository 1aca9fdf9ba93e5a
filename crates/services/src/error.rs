//! The error of a request.

/// The reason why a request failed, in one line without secrets.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);
