//! Collects profiles from creations and deletions of files.

use super::{Action, ActivityProfile, DAY_MS, Event};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// The number of a created file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileNo(u64);

/// Observes creations and deletions of files, and makes profiles of the files that are created and deleted on
/// one day. `D` identifies a directory. Times are milliseconds since 1970 in local time, because working
/// hours matter; a time earlier than the previous one counts as equal to it.
///
/// A file belongs to the directory that it was created in, wherever it is moved. Only the files of one day
/// are in memory.
pub struct Collector<D> {
    files: BTreeMap<FileNo, Tracked>,
    dirs: HashMap<D, u32>,
    next_file: u64,
    next_event: u64,
    now_ms: Option<i64>,
    collected: Collected,
}

/// The result of a collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// The profiles, by day, then by directory in order of its first file.
    pub profiles: Vec<ActivityProfile>,
    /// Number of created files, including those that live on.
    pub created: u64,
    /// Number of times that the clock jumped back by more than a second.
    pub clock_jumps: u64,
}

struct Tracked {
    dir: u32,
    created: EventTime,
    names: u32,
    size: u64,
    gone: Option<EventTime>,
}

/// A creation (with the size) or a deletion: sequence number, time, file and size.
type SeenEvent = (u64, u32, FileNo, Option<u64>);

/// The time and sequence number of an event.
#[derive(Clone, Copy)]
struct EventTime {
    ms: u32,
    order: u64,
}

impl<D: Hash + Eq> Collector<D> {
    /// A collector without observations.
    #[expect(clippy::new_without_default, reason = "a default collector has no use")]
    pub fn new() -> Collector<D> {
        Collector {
            files: BTreeMap::new(),
            dirs: HashMap::new(),
            next_file: 0,
            next_event: 0,
            now_ms: None,
            collected: Collected::default(),
        }
    }

    /// Records the creation of an empty file in `dir`.
    pub fn created(&mut self, at_ms: i64, dir: D) -> FileNo {
        let created = self.at(at_ms);
        let next = self.dirs.len() as u32;
        let dir = *self.dirs.entry(dir).or_insert(next);
        let file = FileNo(self.next_file);
        self.next_file += 1;
        self.collected.created += 1;
        self.files.insert(file, Tracked { dir, created, names: 1, size: 0, gone: None });
        file
    }

    /// Records the size of a file; also valid after its deletion, because a size may be observed late.
    pub fn sized(&mut self, file: FileNo, bytes: u64) {
        if let Some(tracked) = self.files.get_mut(&file) {
            tracked.size = bytes;
        }
    }

    /// The last recorded size.
    pub fn size(&self, file: FileNo) -> u64 {
        self.files.get(&file).map_or(0, |tracked| tracked.size)
    }

    /// Records an additional hard link.
    pub fn linked(&mut self, file: FileNo) {
        if let Some(tracked) = self.files.get_mut(&file) {
            tracked.names += 1;
        }
    }

    /// Records the removal of a name; removing the last one deletes the file.
    pub fn unlinked(&mut self, at_ms: i64, file: FileNo) {
        let gone = self.at(at_ms);
        if let Some(tracked) = self.files.get_mut(&file).filter(|tracked| tracked.gone.is_none()) {
            tracked.names -= 1;
            if tracked.names == 0 {
                tracked.gone = Some(gone);
            }
        }
    }

    /// Stops tracking the file, which counts as living on.
    pub fn lost(&mut self, file: FileNo) {
        if self.files.get(&file).is_some_and(|tracked| tracked.gone.is_none()) {
            self.files.remove(&file);
        }
    }

    /// Ends the collection.
    pub fn finish(mut self) -> Collected {
        self.end_day();
        self.collected
    }

    /// The time and sequence number of the next event. The first event of a new day ends the previous day.
    fn at(&mut self, at_ms: i64) -> EventTime {
        let before = self.now_ms.unwrap_or(at_ms);
        if at_ms < before - 1000 {
            self.collected.clock_jumps += 1;
        }
        let now = before.max(at_ms);
        let day = |ms: i64| ms.div_euclid(i64::from(DAY_MS));
        if day(now) != day(before) {
            self.end_day();
        }
        self.now_ms = Some(now);
        self.next_event += 1;
        EventTime { ms: now.rem_euclid(i64::from(DAY_MS)) as u32, order: self.next_event }
    }

    /// Makes profiles of the events of the day, and discards the events.
    fn end_day(&mut self) {
        let mut dirs: BTreeMap<u32, Vec<SeenEvent>> = BTreeMap::new();
        for (file, tracked) in std::mem::take(&mut self.files) {
            if let Some(gone) = tracked.gone {
                let events = dirs.entry(tracked.dir).or_default();
                events.push((tracked.created.order, tracked.created.ms, file, Some(tracked.size)));
                events.push((gone.order, gone.ms, file, None));
            }
        }
        self.dirs.clear();
        self.collected.profiles.extend(dirs.into_values().map(profile));
    }
}

/// The profile of one directory: its events in order, with files renumbered.
fn profile(mut seen: Vec<SeenEvent>) -> ActivityProfile {
    seen.sort_unstable();
    let mut numbers = HashMap::new();
    let events = seen.into_iter().map(|(_, at_ms, file, size)| {
        let next = numbers.len() as u32;
        let number = *numbers.entry(file).or_insert(next);
        let action = match size {
            Some(size) => Action::Create { file: number, size },
            None => Action::Delete { file: number },
        };
        Event { at_ms, action }
    });
    ActivityProfile::new(events.collect())
        .expect("times are ordered, and files are deleted after their creation")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: i64 = DAY_MS as i64;

    #[test]
    fn same_day_files_are_collected_by_directory() {
        let mut seen = Collector::new();
        let stays = seen.created(DAY + 10, "a");
        let goes = seen.created(DAY + 20, "a");
        let other = seen.created(DAY + 20, "b");
        seen.sized(goes, 100);
        seen.linked(other);
        seen.unlinked(DAY + 30, other);
        seen.unlinked(DAY + 40, goes);
        seen.sized(goes, 120);
        seen.unlinked(DAY + 50, other);
        // On the next day, a file of the day before is not short-lived.
        seen.unlinked(2 * DAY, stays);
        let next = seen.created(2 * DAY + 1, "a");
        // A clock that runs backwards.
        seen.unlinked(DAY, next);
        let collected = seen.finish();
        let event = |at_ms, action| Event { at_ms, action };
        let expected = [
            vec![event(20, Action::Create { file: 0, size: 120 }), event(40, Action::Delete { file: 0 })],
            vec![event(20, Action::Create { file: 0, size: 0 }), event(50, Action::Delete { file: 0 })],
            vec![event(1, Action::Create { file: 0, size: 0 }), event(1, Action::Delete { file: 0 })],
        ];
        let found: Vec<Vec<Event>> = collected.profiles.into_iter().map(|profile| profile.events).collect();
        assert_eq!(found, expected);
        assert_eq!((collected.created, collected.clock_jumps), (4, 1));
    }

    proptest! {
        #[test]
        fn any_observations_give_valid_profiles(
            seen in prop::collection::vec((0u8..6, 0i64..3 * DAY, 0u64..12), 0..200),
        ) {
            let mut collector = Collector::new();
            for (what, at_ms, file) in seen {
                match what {
                    0 | 1 => { collector.created(at_ms, file % 3); }
                    2 => collector.linked(FileNo(file)),
                    3 => collector.lost(FileNo(file)),
                    _ => collector.unlinked(at_ms, FileNo(file)),
                }
            }
            collector.finish();
        }
    }
}
