//! The progress of a run, as recorded in the store while it runs, and whether the run is alive.

use crate::{Error, Run, RunId, Store};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The document that holds the progress.
const PROGRESS: &str = "progress";

/// A run without a heartbeat for this long counts as dead, unless the machine was suspended.
const SILENT: Duration = Duration::from_secs(15);

/// The progress of a run. Times are seconds since 1970 by the clock of the machine that runs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Time of this heartbeat.
    pub at_s: f64,
    /// Time when the process started or resumed the run.
    pub begun_s: f64,
    /// Completed and total number of steps; `None` if the run has no steps.
    pub steps: Option<(u64, u64)>,
    /// The current phase.
    pub phase: String,
    /// Completed part of the phase, in units of the phase.
    pub done: u64,
    /// Total size of the phase, if known.
    pub total: Option<u64>,
    /// Recent rate of the phase, in units per second; `None` before the first unit.
    #[serde(default)]
    pub recent_per_s: Option<f64>,
    /// Estimated remaining seconds of the phase at the recent rate; `None` until that is steady.
    #[serde(default)]
    pub steady_left_s: Option<f64>,
}

impl Progress {
    /// The completed share of the phase, from 0 to 1, if known.
    pub fn share(&self) -> Option<f64> {
        let total = self.total.filter(|&total| total > 0)?;
        Some((self.done as f64 / total as f64).min(1.0))
    }

    /// Estimated remaining seconds of the run, with steps of equal length; without steps, of the phase.
    pub fn left_s(&self) -> Option<f64> {
        match self.steps {
            Some((0, _)) => None,
            Some((done, of)) => {
                Some((self.at_s - self.begun_s) / done as f64 * of.saturating_sub(done) as f64)
            }
            None => self.steady_left_s,
        }
    }

    /// Records the progress of a run in the store.
    pub(crate) fn record(&self, store: &Store, run: RunId) -> Result<(), Error> {
        store.record_document(run, "", PROGRESS, self)
    }

    /// The last recorded progress of a run; `None` if the run ended before the first heartbeat.
    pub fn load(store: &Store, run: RunId) -> Result<Option<Progress>, Error> {
        store.document(run, "", PROGRESS)
    }
}

/// The state of a run that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It had a heartbeat within seconds.
    Alive,
    /// It had no heartbeat, but a process still locks its work directory: the process is stopped, or the machine was suspended.
    Silent,
    /// Its process ended.
    Killed,
}

/// The progress and state of the runs that have not ended, at the time `now`. `held` states whether a process locks the work directory.
pub fn liveness(
    store: &Store,
    runs: &[Run],
    held: bool,
    now: SystemTime,
) -> Result<HashMap<i64, (Liveness, Option<Progress>)>, Error> {
    let now_s = since_1970_s(now);
    let mut found = HashMap::new();
    for run in runs.iter().filter(|run| run.state == "running") {
        let progress = Progress::load(store, run.id)?;
        let heard_s = progress.as_ref().map_or_else(|| seconds(&run.started), |progress| Some(progress.at_s));
        let alive = heard_s.is_some_and(|heard_s| now_s - heard_s < SILENT.as_secs_f64());
        found.insert(run.id.0, (if alive { Liveness::Alive } else { Liveness::Killed }, progress));
    }
    // Only one run at a time locks a directory; the other runs are older and were killed.
    if held && found.values().all(|(liveness, _)| *liveness == Liveness::Killed) {
        let heard_s = |progress: &Option<Progress>| progress.as_ref().map_or(0.0, |progress| progress.at_s);
        let last_s = found.values().map(|(_, progress)| heard_s(progress)).fold(0.0, f64::max);
        for (liveness, progress) in found.values_mut() {
            // A process records all its runs, such as a series and its checkpoint, at the same time.
            if last_s > 0.0 && last_s - heard_s(progress) < SILENT.as_secs_f64() {
                *liveness = Liveness::Silent;
            }
        }
    }
    Ok(found)
}

pub(crate) fn since_1970_s(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Parses a time in the format of the store, `2026-01-31T12:00:00Z`, to seconds since 1970.
fn seconds(text: &str) -> Option<f64> {
    humantime::parse_rfc3339(text).ok().map(since_1970_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewRun;

    #[test]
    fn times_follow_the_calendar() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(seconds("2000-02-29T12:30:01Z"), Some(951_827_401.0));
        assert_eq!(seconds("2038-01-19T03:14:07Z"), Some(2_147_483_647.0));
        for broken in ["", "2000", "yesterday, at noon ....", "2000-02-29", "2000–02–29T12:30:01Z"] {
            assert_eq!(seconds(broken), None, "{broken}");
        }
    }

    #[test]
    fn remaining_time_is_that_of_the_phase_or_of_the_steps() {
        let phase = Progress { at_s: 130.0, begun_s: 100.0, done: 50, ..Progress::default() };
        assert_eq!((phase.left_s(), phase.share()), (None, None));
        let known = Progress { total: Some(200), steady_left_s: Some(30.0), ..phase.clone() };
        assert_eq!((known.left_s(), known.share()), (Some(30.0), Some(0.25)));
        assert_eq!(Progress { steps: Some((3, 12)), ..known }.left_s(), Some(90.0));
        assert_eq!(Progress { steps: Some((0, 12)), ..phase }.left_s(), None);
    }

    #[test]
    fn runs_without_heartbeat_are_silent_or_killed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let new = |name| NewRun { kind: "age", name, command: "", seed: None, parameters: "".into() };
        let [old, series, checkpoint] =
            ["old", "series", "checkpoint"].map(|name| store.begin(&new(name)).unwrap());
        let heartbeat = |run, at_s| Progress { at_s, ..Progress::default() }.record(&store, run).unwrap();
        heartbeat(old, 1000.0);
        heartbeat(series, 9000.0);
        heartbeat(checkpoint, 9000.1);
        let runs = store.runs().unwrap();
        let at = |now_s, held| {
            let found = liveness(&store, &runs, held, UNIX_EPOCH + Duration::from_secs(now_s)).unwrap();
            [old, series, checkpoint].map(|run| found[&run.0].0)
        };
        assert_eq!(at(9005, true), [Liveness::Killed, Liveness::Alive, Liveness::Alive]);
        assert_eq!(at(9100, true), [Liveness::Killed, Liveness::Silent, Liveness::Silent]);
        assert_eq!(at(9100, false), [Liveness::Killed; 3]);
    }
}
