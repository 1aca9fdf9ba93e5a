//! What can go wrong with profiles of activity.

/// What was wrong, where, and what to do, on one line.
#[derive(Debug, thiserror::Error)]
pub enum ActivityError {
    /// The events are not those of short-lived files.
    #[error("event {place} of a profile: {what}")]
    Events {
        /// Its place among the events, from 0.
        place: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}
