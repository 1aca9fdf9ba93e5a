//! From files that come and go to profiles.

use crate::{Action, ActivityProfile, DAY_MS, Event};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A file that was seen to be created.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileNo(u64);

/// Is told which files come and go, and makes profiles of those that do both on one day. A directory is anything that tells
/// it from others. Times are milliseconds since 1970 in local time, as the hours of work are what matters; one that is earlier
/// than the one before is taken for as late as that.
///
/// Files count for the directory that they were created in, wherever they are moved. It remembers the files of one day only.
pub struct Collector<D> {
    files: BTreeMap<FileNo, Tracked>,
    dirs: HashMap<D, u32>,
    next_file: u64,
    next_event: u64,
    now_ms: Option<i64>,
    collected: Collected,
}

/// What was collected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// The profiles, by day and then by directory, in order of their first file.
    pub profiles: Vec<ActivityProfile>,
    /// How many files were created, those that live on included.
    pub created: u64,
    /// How often the clock jumped back by more than a second.
    pub clock_jumps: u64,
}

struct Tracked {
    dir: u32,
    created: At,
    names: u32,
    size: u64,
    gone: Option<At>,
}

/// A creation, with the size, or a deletion: its place in the order, when, and of which file.
type Seen = (u64, u32, FileNo, Option<u64>);

/// When, and in which order.
#[derive(Clone, Copy)]
struct At {
    ms: u32,
    order: u64,
}

impl<D: Hash + Eq> Collector<D> {
    /// Nothing was seen yet.
    #[expect(clippy::new_without_default, reason = "nothing makes one by default")]
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

    /// A file was created in `dir`, empty.
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

    /// Its size is known; also after it is gone, for who looks at sizes may come late.
    pub fn sized(&mut self, file: FileNo, bytes: u64) {
        if let Some(tracked) = self.files.get_mut(&file) {
            tracked.size = bytes;
        }
    }

    /// Its size, as far as that is known.
    pub fn size(&self, file: FileNo) -> u64 {
        self.files.get(&file).map_or(0, |tracked| tracked.size)
    }

    /// It has a further name.
    pub fn linked(&mut self, file: FileNo) {
        if let Some(tracked) = self.files.get_mut(&file) {
            tracked.names += 1;
        }
    }

    /// It has lost a name; with the last it is gone.
    pub fn unlinked(&mut self, at_ms: i64, file: FileNo) {
        let gone = self.at(at_ms);
        if let Some(tracked) = self.files.get_mut(&file).filter(|tracked| tracked.gone.is_none()) {
            tracked.names -= 1;
            if tracked.names == 0 {
                tracked.gone = Some(gone);
            }
        }
    }

    /// It is seen no more: it is taken to live on.
    pub fn lost(&mut self, file: FileNo) {
        if self.files.get(&file).is_some_and(|tracked| tracked.gone.is_none()) {
            self.files.remove(&file);
        }
    }

    /// What there is, when all was seen.
    pub fn finish(mut self) -> Collected {
        self.end_day();
        self.collected
    }

    /// The next place in the order of events. A new day ends the one before.
    fn at(&mut self, at_ms: i64) -> At {
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
        At { ms: now.rem_euclid(i64::from(DAY_MS)) as u32, order: self.next_event }
    }

    /// Makes profiles of what was seen on the day, and forgets it.
    fn end_day(&mut self) {
        let mut dirs: BTreeMap<u32, Vec<Seen>> = BTreeMap::new();
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

/// The profile of one directory: what happened in its order, files numbered anew.
fn profile(mut seen: Vec<Seen>) -> ActivityProfile {
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
    ActivityProfile::new(events.collect()).expect("times never run back, and files go after they came")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: i64 = DAY_MS as i64;

    #[test]
    fn files_that_come_and_go_on_one_day_are_collected_by_directory() {
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
        // On the next day a file of the day before is not short-lived.
        seen.unlinked(2 * DAY, stays);
        let next = seen.created(2 * DAY + 1, "a");
        // A clock that runs back.
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
        fn whatever_is_seen_is_a_profile(
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
