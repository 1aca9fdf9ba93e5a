//! The short-lived files of one directory on one day.

use super::ActivityError;

/// Milliseconds per day.
pub const DAY_MS: u32 = 24 * 60 * 60 * 1000;

/// An action on a short-lived file. Files are numbered from 0 in order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Creates and writes the file.
    Create {
        /// The number of the file.
        file: u32,
        /// The size in bytes at deletion.
        size: u64,
    },
    /// Deletes the file.
    Delete {
        /// The number of the file.
        file: u32,
    },
}

/// A timed action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// Time in milliseconds since midnight; less than [`DAY_MS`].
    pub at_ms: u32,
    /// The action.
    pub action: Action,
}

/// The short-lived files of one directory on one day, without names: each is created and deleted on that day.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ActivityProfile {
    /// The events, in order of time.
    pub events: Vec<Event>,
}

impl ActivityProfile {
    /// Checks that `events` form a profile: ordered by time within a day, files numbered from 0 in order of
    /// creation, each created once and then deleted once.
    ///
    /// # Errors
    /// If they do not.
    pub fn new(events: Vec<Event>) -> Result<ActivityProfile, ActivityError> {
        let mut before_ms = 0;
        let mut live: Vec<bool> = Vec::new();
        for (place, event) in events.iter().enumerate() {
            let wrong = |what| Err(ActivityError::Events { place, what });
            if event.at_ms < before_ms {
                return wrong("it is earlier than the previous event");
            }
            if event.at_ms >= DAY_MS {
                return wrong("it is after midnight");
            }
            before_ms = event.at_ms;
            match event.action {
                Action::Create { file, .. } if file as usize == live.len() => live.push(true),
                Action::Create { .. } => return wrong("files are not numbered in order of creation"),
                Action::Delete { file } => match live.get_mut(file as usize) {
                    Some(live) if *live => *live = false,
                    _ => return wrong("it deletes a file that does not exist"),
                },
            }
        }
        match live.iter().any(|live| *live) {
            true => {
                Err(ActivityError::Events { place: events.len(), what: "a file still exists at midnight" })
            }
            false => Ok(ActivityProfile { events }),
        }
    }

    /// Number of files.
    pub fn files(&self) -> u64 {
        self.events.len() as u64 / 2
    }

    /// Total bytes of the files.
    pub fn bytes(&self) -> u64 {
        let size = |event: &Event| match event.action {
            Action::Create { size, .. } => size,
            Action::Delete { .. } => 0,
        };
        self.events.iter().map(size).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(at_ms: u32, file: u32) -> Event {
        Event { at_ms, action: Action::Create { file, size: 10 } }
    }

    fn delete(at_ms: u32, file: u32) -> Event {
        Event { at_ms, action: Action::Delete { file } }
    }

    #[test]
    fn valid_events_are_accepted() {
        let profile =
            ActivityProfile::new(vec![create(5, 0), create(5, 1), delete(5, 0), delete(DAY_MS - 1, 1)])
                .unwrap();
        assert_eq!((profile.files(), profile.bytes()), (2, 20));
    }

    #[test]
    fn invalid_events_are_rejected_with_index() {
        let cases = [
            (vec![create(5, 0), delete(4, 0)], 1),
            (vec![create(5, 0), delete(DAY_MS, 0)], 1),
            (vec![create(5, 1), delete(6, 1)], 0),
            (vec![create(5, 0), delete(6, 0), create(7, 0), delete(8, 0)], 2),
            (vec![delete(6, 0)], 0),
            (vec![create(5, 0), delete(6, 0), delete(6, 0)], 2),
            (vec![create(5, 0)], 1),
        ];
        for (events, expected) in cases {
            match ActivityProfile::new(events.clone()) {
                Err(ActivityError::Events { place, .. }) => assert_eq!(place, expected, "{events:?}"),
                other => panic!("{other:?}: {events:?}"),
            }
        }
    }
}
