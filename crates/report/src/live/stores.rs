//! The stores to show.

use results::{Liveness, Progress, Run, RunId, Store, StoreLocation, liveness};
use run::Error;
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

/// The location of a store.
#[derive(Clone, Debug)]
pub struct Place {
    at: StoreLocation,
    shown: String,
}

impl Place {
    /// A store given by itself.
    pub fn store(at: StoreLocation) -> Place {
        Place { shown: at.to_string(), at }
    }

    /// The store of a work directory.
    pub fn work(dir: &Path) -> Place {
        Place { at: StoreLocation::of_work_dir(dir), shown: dir.display().to_string() }
    }

    /// The name on the page.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether the file exists. A server database counts as existing.
    pub fn is_there(&self) -> bool {
        self.file().is_none_or(Path::is_file)
    }

    fn file(&self) -> Option<&Path> {
        match &self.at {
            StoreLocation::File(path) => Some(path),
            StoreLocation::Postgres(_) => None,
        }
    }

    /// Opens the store read-only.
    pub fn open(&self) -> Result<Opened, Error> {
        let store = self.at.open_read_only()?;
        let runs = store.runs()?;
        let held = self.file().and_then(Path::parent).is_some_and(disk::WorkLock::is_held);
        let liveness = liveness(&store, &runs, held, SystemTime::now())?;
        Ok(Opened { store, runs, liveness })
    }
}

/// An open store.
pub struct Opened {
    pub store: Store,
    pub runs: Vec<Run>,
    liveness: HashMap<i64, (Liveness, Option<Progress>)>,
}

impl Opened {
    pub fn run(&self, id: i64) -> Option<&Run> {
        // Runs are sorted by number.
        self.runs.binary_search_by_key(&id, |run| run.id.0).ok().map(|at| &self.runs[at])
    }

    /// The progress of a run; for an ended run, the last recorded one.
    pub fn progress(&self, run: &Run) -> Option<Progress> {
        match self.liveness.get(&run.id.0) {
            Some((_, progress)) => progress.clone(),
            None => None,
        }
    }

    /// The state of a run: the stored one, except for a run that neither ended nor is alive.
    pub fn state<'r>(&self, run: &'r Run) -> &'r str {
        match self.liveness.get(&run.id.0) {
            Some((Liveness::Killed, _)) => "killed",
            Some((Liveness::Silent, _)) => "silent",
            _ => &run.state,
        }
    }

    /// The kinds of file systems of a run, if recorded.
    pub fn file_systems(&self, run: &Run) -> String {
        let at = |path: &str| run.parameters.pointer(path);
        let told = ["/made/fs", "/experiment/fs", "/fs"].iter().find_map(|path| at(path));
        match told {
            Some(serde_json::Value::String(fs)) => fs.clone(),
            Some(serde_json::Value::Array(all)) => {
                all.iter().filter_map(|fs| fs.as_str()).collect::<Vec<_>>().join(", ")
            }
            _ => {
                let aged =
                    at("/aged_run").and_then(serde_json::Value::as_i64).filter(|aged| *aged < run.id.0);
                aged.and_then(|aged| self.run(aged)).map_or_else(String::new, |aged| self.file_systems(aged))
            }
        }
    }
}

/// The identifier of a run in one of the stores, for URLs and for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunAt {
    /// The number of the store, from 0.
    pub place: usize,
    /// The run in that store.
    pub run: RunId,
}

impl RunAt {
    /// Parses `STORE/RUN`, with stores counted from 1.
    pub fn parse(text: &str) -> Option<RunAt> {
        let (place, run) = text.split_once('/')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let place = place.parse::<usize>().ok().filter(|_| digits(place))?.checked_sub(1)?;
        Some(RunAt { place, run: RunId(run.parse().ok().filter(|_| digits(run))?) })
    }

    /// The URL of the run's page.
    pub fn address(self) -> String {
        format!("/run/{}", self.name())
    }

    /// The name in the format of [`RunAt::parse`].
    pub fn name(self) -> String {
        format!("{}/{}", self.place + 1, self.run.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_names_round_trip() {
        let at = RunAt { place: 1, run: RunId(17) };
        assert_eq!(RunAt::parse(&at.name()), Some(at));
        for bad in ["", "1", "0/1", "1/", "1/-2", "+1/2", "1/2/3", "1/9999999999999999999", "a/b"] {
            assert_eq!(RunAt::parse(bad), None, "{bad}");
        }
    }
}
