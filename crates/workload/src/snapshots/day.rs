//! The short-lived files of a day: activity profiles, randomly distributed among the directories with the most
//! changes on that day, as many directories as profiles, and shifted so that the peak of each profile coincides with that of its directory (Smith and
//! Seltzer 1997, §3.2).

use std::collections::HashMap;
use std::ops::Range;

use snapshot::activity::{Action, ActivityProfile, DAY_MS};
use trace::DirId;

use super::options::ShortLived;
use crate::random::Random;

pub(super) const DAY_NS: i64 = DAY_MS as i64 * MS_NS;
const MS_NS: i64 = 1_000_000;
const HOURS: usize = 24;

/// The creation or deletion of a short-lived file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Short {
    /// Time in nanoseconds since 1970.
    pub at: i64,
    /// The directory that the file is in.
    pub dir: DirId,
    /// The number of the file on this day, from 0.
    pub file: u64,
    /// The size, for a creation.
    pub size: Option<u64>,
}

/// Divides the time between two snapshots into days of equal length.
pub(super) fn days(from: i64, to: i64) -> Vec<Range<i64>> {
    let span = i128::from(to) - i128::from(from);
    let count = ((span + i128::from(DAY_NS) / 2) / i128::from(DAY_NS)).max(1);
    let edge = |day: i128| (i128::from(from) + span * day / count) as i64;
    (0..count).map(|day| edge(day)..edge(day + 1)).collect()
}

/// The number of profiles per day; the fractional remainder carries over to the next day.
pub(super) struct Quota {
    profiles_a_day: f64,
    left: f64,
}

impl Quota {
    pub fn new(capacity_bytes: u64, short_lived: &ShortLived) -> Quota {
        Quota { profiles_a_day: capacity_bytes as f64 / short_lived.bytes_per_profile as f64, left: 0.0 }
    }

    pub fn next(&mut self, day: &Range<i64>) -> usize {
        self.left += self.profiles_a_day * ((day.end - day.start) as f64 / DAY_NS as f64);
        let whole = self.left as usize;
        self.left -= whole as f64;
        whole
    }
}

/// Changes per directory and hour of a day.
pub(super) struct DirectoryActivity {
    day: Range<i64>,
    dirs: HashMap<DirId, (u64, [u32; HOURS])>,
}

impl DirectoryActivity {
    pub fn new(day: Range<i64>) -> DirectoryActivity {
        DirectoryActivity { day, dirs: HashMap::new() }
    }

    pub fn count(&mut self, at: i64, dir: DirId) {
        let (all, hours) = self.dirs.entry(dir).or_insert((0, [0; HOURS]));
        *all += 1;
        hours[hour(at, &self.day)] += 1;
    }

    /// The day's short-lived files, in order of time: distributes `profiles` profiles at random among as many
    /// directories, the busiest; `life` is the lifetime of a directory.
    pub fn short_lived(
        &self,
        profiles: usize,
        set: &[ActivityProfile],
        life: impl Fn(DirId) -> Range<i64>,
        random: &mut Random,
    ) -> Vec<Short> {
        let mut busiest: Vec<(&DirId, &(u64, [u32; HOURS]))> = self.dirs.iter().collect();
        busiest.sort_unstable_by_key(|(dir, (all, _))| (std::cmp::Reverse(*all), **dir));
        let mut events = Vec::new();
        let mut files = 0;
        busiest.truncate(profiles);
        if set.is_empty() || busiest.is_empty() {
            return events;
        }
        for _ in 0..profiles {
            let (dir, (_, hours)) = busiest[random.below(busiest.len())];
            let profile = &set[random.below(set.len())];
            let life = life(*dir);
            let (first, last) = (self.day.start.max(life.start), self.day.end.min(life.end) - 1);
            if profile.events.is_empty() || first > last {
                continue;
            }
            let shift = middle(peak(hours), &self.day) - middle_of_profile(profile);
            let time = |at_ms: u32| i64::from(at_ms) * MS_NS;
            let (earliest, latest) =
                (time(profile.events[0].at_ms), time(profile.events[profile.events.len() - 1].at_ms));
            // Shift all events into the day, as far as they fit.
            let shift = shift.min(last - latest).max(first - earliest);
            for event in &profile.events {
                let (file, size) = match event.action {
                    Action::Create { file, size } => (file, Some(size)),
                    Action::Delete { file } => (file, None),
                };
                let at = (time(event.at_ms) + shift).min(last);
                events.push(Short { at, dir: *dir, file: files + u64::from(file), size });
            }
            files += profile.files();
        }
        events.sort_by_key(|event| event.at);
        events
    }
}

fn hour(at: i64, day: &Range<i64>) -> usize {
    let span = i128::from(day.end - day.start).max(1);
    let hour = i128::from(at - day.start) * HOURS as i128 / span;
    hour.clamp(0, HOURS as i128 - 1) as usize
}

/// The hour with the most changes, the first of several.
fn peak(hours: &[u32; HOURS]) -> usize {
    (0..HOURS).rev().max_by_key(|hour| hours[*hour]).expect("a day has hours")
}

fn middle(hour: usize, day: &Range<i64>) -> i64 {
    day.start + ((day.end - day.start) as i128 * (2 * hour as i128 + 1) / (2 * HOURS as i128)) as i64
}

/// The middle of the busiest hour of a profile, in nanoseconds since midnight.
fn middle_of_profile(profile: &ActivityProfile) -> i64 {
    let midnight_to_midnight = 0..DAY_NS;
    let mut hours = [0; HOURS];
    profile
        .events
        .iter()
        .for_each(|event| hours[hour(i64::from(event.at_ms) * MS_NS, &midnight_to_midnight)] += 1);
    middle(peak(&hours), &midnight_to_midnight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use snapshot::activity::Event;

    const HOUR_NS: i64 = DAY_NS / 24;
    const A: DirId = DirId(1);
    const B: DirId = DirId(2);

    fn profile(at_ms: &[(u32, u32)]) -> ActivityProfile {
        let mut events = Vec::new();
        for (file, (from_ms, to_ms)) in at_ms.iter().enumerate() {
            let file = file as u32;
            events.push(Event { at_ms: *from_ms, action: Action::Create { file, size: 7 } });
            events.push(Event { at_ms: *to_ms, action: Action::Delete { file } });
        }
        ActivityProfile::new(events).unwrap()
    }

    #[test]
    fn profiles_go_to_random_busy_directories_at_their_peaks() {
        let mut busy = DirectoryActivity::new(0..DAY_NS);
        for at in [15 * HOUR_NS, 15 * HOUR_NS + 5, 3 * HOUR_NS] {
            busy.count(at, A);
        }
        busy.count(9 * HOUR_NS, B);
        let noon = 12 * 3_600_000;
        let set = [profile(&[(noon + 60_000, noon + 120_000)])];
        let minute = HOUR_NS / 60;
        let shorts = busy.short_lived(200, &set, |_| 0..DAY_NS, &mut Random::new(1, 1));
        let created = |dir| shorts.iter().filter(|short| short.dir == dir && short.size.is_some()).count();
        assert_eq!(created(A) + created(B), 200);
        assert!((70..130).contains(&created(A)), "{} of 200 are in one of two directories", created(A));
        for short in &shorts {
            let peak = if short.dir == A { 15 } else { 9 };
            let minutes = if short.size.is_some() { 1 } else { 2 };
            assert_eq!(short.at, peak * HOUR_NS + minutes * minute);
        }
        assert!(shorts.is_sorted_by_key(|short| short.at));
        // A single profile goes to the busiest directory.
        for seed in 0..20 {
            let shorts = busy.short_lived(1, &set, |_| 0..DAY_NS, &mut Random::new(seed, 1));
            assert_eq!(shorts.iter().map(|short| short.dir).collect::<Vec<_>>(), [A, A]);
        }
    }

    #[test]
    fn short_lived_files_stay_within_the_life_of_their_directory() {
        let mut busy = DirectoryActivity::new(0..DAY_NS);
        busy.count(DAY_NS - 1, A);
        let set = [profile(&[(0, 1), (10, DAY_MS - 1)])];
        for life in [0..DAY_NS, 5..DAY_NS / 2, DAY_NS - 10..DAY_NS, 7..7] {
            let shorts = busy.short_lived(1, &set, |_| life.clone(), &mut Random::new(1, 1));
            assert!(shorts.iter().all(|short| life.contains(&short.at)), "{shorts:?} in {life:?}");
            assert_eq!(shorts.is_empty(), life.is_empty());
        }
    }

    #[test]
    fn days_are_cut_and_their_quota_adds_up() {
        assert_eq!(days(0, DAY_NS / 24), std::slice::from_ref(&(0..DAY_NS / 24)));
        assert_eq!(days(5, 5 + 3 * DAY_NS).len(), 3);
        let set = snapshot::activity::ActivitySet::builtin();
        let short_lived = ShortLived { set, bytes_per_profile: 100 };
        let mut quota = Quota::new(250, &short_lived);
        let count: Vec<usize> = days(0, 4 * DAY_NS).iter().map(|day| quota.next(day)).collect();
        assert_eq!(count, [2, 3, 2, 3]);
    }
}
