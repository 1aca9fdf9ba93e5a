//! Errors of a group.

/// An error that ends a group.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rank cannot continue.
    #[error("rank {rank}: {why}")]
    Rank {
        /// The rank.
        rank: u32,
        /// The cause.
        why: String,
    },
    /// A rank ended before the others; it reports the reason itself.
    #[error("rank {rank} ended before the others")]
    Lost {
        /// The rank.
        rank: u32,
    },
    /// A message is damaged, or does not come from a rank.
    #[error("{0}")]
    Message(String),
}
