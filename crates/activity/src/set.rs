//! Many profiles, to choose from.

use crate::{Action, ActivityProfile, Event};

/// Profiles, and where they are from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActivitySet {
    /// The profiles, each of one directory on one day.
    pub profiles: Vec<ActivityProfile>,
    /// Where they are from, in words: what was watched and when, which log was read, which model made them.
    pub source: String,
}

impl ActivitySet {
    /// The set that needs no recording: profiles made after a model.
    pub fn builtin() -> ActivitySet {
        let events = [(0, Action::Create { file: 0, size: 4096 }), (30_000, Action::Delete { file: 0 })]
            .map(|(after_ms, action)| Event { at_ms: 14 * 3_600_000 + after_ms, action });
        let profile = ActivityProfile::new(events.to_vec()).expect("it is the day of a short-lived file");
        ActivitySet { profiles: vec![profile], source: "built in".to_owned() }
    }
}
