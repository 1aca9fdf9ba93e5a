//! How far a run is, as the store has it while it runs, and whether it still lives.

use crate::{Error, Run, RunId, Store};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The document that holds it.
const PROGRESS: &str = "progress";

/// A run that was not heard of for this long does not live, unless the machine stood still.
const SILENT: Duration = Duration::from_secs(15);

/// How far a run is. Times are seconds since 1970 by the clock of the machine that runs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// When this was noted: the run lived then.
    pub at_s: f64,
    /// When the process that runs it began or resumed it.
    pub begun_s: f64,
    /// Steps done and all of them; none where it has no steps.
    pub steps: Option<(u64, u64)>,
    /// What is being done.
    pub phase: String,
    /// When that began.
    pub phase_begun_s: f64,
    /// How much of it is done, in units of its own.
    pub done: u64,
    /// How much there is to do, where known.
    pub total: Option<u64>,
}

impl Progress {
    /// Units of the phase done a second; none before the first.
    pub fn per_s(&self) -> Option<f64> {
        let took_s = self.at_s - self.phase_begun_s;
        (self.done > 0 && took_s > 0.0).then(|| self.done as f64 / took_s)
    }

    /// How much of the phase is done, from 0 to 1, where that is known.
    pub fn share(&self) -> Option<f64> {
        let total = self.total.filter(|&total| total > 0)?;
        Some((self.done as f64 / total as f64).min(1.0))
    }

    /// Seconds that the phase will still take at the rate so far, where that can be told.
    pub fn phase_left_s(&self) -> Option<f64> {
        let left = self.total?.saturating_sub(self.done);
        Some(left as f64 / self.per_s()?)
    }

    /// Seconds that all will still take: steps take about as long as each other. Without steps that of the phase.
    pub fn left_s(&self) -> Option<f64> {
        match self.steps {
            Some((0, _)) => None,
            Some((done, of)) => {
                Some((self.at_s - self.begun_s) / done as f64 * of.saturating_sub(done) as f64)
            }
            None => self.phase_left_s(),
        }
    }

    /// Writes it to the store as that of a run.
    pub(crate) fn record(&self, store: &Store, run: RunId) -> Result<(), Error> {
        store.record_document(run, "", PROGRESS, self)
    }

    /// What was last noted of a run; none of one that was over before anything was.
    pub fn load(store: &Store, run: RunId) -> Result<Option<Progress>, Error> {
        store.document(run, "", PROGRESS)
    }
}

/// Whether a run that has not ended lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It was heard of within seconds.
    Lives,
    /// It was not heard of, but a process still holds its work directory: it is stopped, or the machine stood still.
    Silent,
    /// Its process is gone.
    Killed,
}

/// What is noted of the runs that have not ended, and whether they live: at `now`, where `held` says whether a process holds the
/// work directory.
pub fn lives(
    store: &Store,
    runs: &[Run],
    held: bool,
    now: SystemTime,
) -> Result<HashMap<i64, (Life, Option<Progress>)>, Error> {
    let now_s = since_1970_s(now);
    let mut found = HashMap::new();
    for run in runs.iter().filter(|run| run.state == "running") {
        let progress = Progress::load(store, run.id)?;
        let heard_s = progress.as_ref().map_or_else(|| seconds(&run.started), |progress| Some(progress.at_s));
        let lives = heard_s.is_some_and(|heard_s| now_s - heard_s < SILENT.as_secs_f64());
        found.insert(run.id.0, (if lives { Life::Lives } else { Life::Killed }, progress));
    }
    // A directory is held by one run at a time, of which the others are older ones that were killed.
    if held && found.values().all(|(life, _)| *life == Life::Killed) {
        let heard_s = |progress: &Option<Progress>| progress.as_ref().map_or(0.0, |progress| progress.at_s);
        let last_s = found.values().map(|(_, progress)| heard_s(progress)).fold(0.0, f64::max);
        for (life, progress) in found.values_mut() {
            // What one process runs, a series and its checkpoint, it notes together.
            if last_s > 0.0 && last_s - heard_s(progress) < SILENT.as_secs_f64() {
                *life = Life::Silent;
            }
        }
    }
    Ok(found)
}

pub(crate) fn since_1970_s(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds since 1970 of a time as the store writes it, `2026-01-31T12:00:00Z`.
fn seconds(text: &str) -> Option<f64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    // Days of the civil calendar, counted in years that begin with March (Hinnant, chrono-compatible low-level date algorithms).
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let days =
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewRun;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(seconds("2000-02-29T12:30:01Z"), Some(951_827_401.0));
        assert_eq!(seconds("2038-01-19T03:14:07Z"), Some(2_147_483_647.0));
        for broken in ["", "2000", "yesterday, at noon ....", "2000-02-29", "2000–02–29T12:30:01Z"] {
            assert_eq!(seconds(broken), None, "{broken}");
        }
    }

    #[test]
    fn what_is_left_follows_from_what_took_how_long() {
        let phase =
            Progress { at_s: 130.0, begun_s: 100.0, phase_begun_s: 120.0, done: 50, ..Progress::default() };
        assert_eq!((phase.per_s(), phase.left_s(), phase.share()), (Some(5.0), None, None));
        let known = Progress { total: Some(200), ..phase.clone() };
        assert_eq!((known.left_s(), known.share()), (Some(30.0), Some(0.25)));
        let steps = Progress { steps: Some((3, 12)), ..known };
        assert_eq!((steps.left_s(), steps.phase_left_s()), (Some(90.0), Some(30.0)));
        assert_eq!(Progress { steps: Some((0, 12)), ..phase }.left_s(), None);
    }

    #[test]
    fn a_run_that_is_not_heard_of_lives_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let new = |name| NewRun { kind: "age", name, command: "", seed: None, parameters: "".into() };
        let [old, series, checkpoint] =
            ["old", "series", "checkpoint"].map(|name| store.begin(&new(name)).unwrap());
        let noted = |run, at_s| Progress { at_s, ..Progress::default() }.record(&store, run).unwrap();
        noted(old, 1000.0);
        noted(series, 9000.0);
        noted(checkpoint, 9000.1);
        let runs = store.runs().unwrap();
        let at = |now_s, held| {
            let found = lives(&store, &runs, held, UNIX_EPOCH + Duration::from_secs(now_s)).unwrap();
            [old, series, checkpoint].map(|run| found[&run.0].0)
        };
        assert_eq!(at(9005, true), [Life::Killed, Life::Lives, Life::Lives]);
        assert_eq!(at(9100, true), [Life::Killed, Life::Silent, Life::Silent]);
        assert_eq!(at(9100, false), [Life::Killed; 3]);
    }
}
