//! Starts the ranks of a run, on any machines, and runs it.

use super::backend::Backend;
use super::error::Error;
use super::interface::Interface;
use super::outcome::PhaseOutcome;
use super::run::{PhaseObserver, run};
use super::settings::{Phase, Settings};
use ranks::{Group, ProcessRank, Processes, ThreadRank, threads};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;

/// The kind and number of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ranks {
    /// Threads of this process.
    Threads(u32),
    /// This process, and processes that it starts.
    Processes(u32),
    /// Processes that MPI has started on any machines, including this one.
    Mpi(u32),
}

impl Ranks {
    /// Number of ranks.
    pub fn number(self) -> u32 {
        match self {
            Ranks::Threads(number) | Ranks::Processes(number) | Ranks::Mpi(number) => number,
        }
    }
}

/// The description of a run, as serializable data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The settings of each rank.
    pub settings: Settings,
    /// The ranks.
    pub ranks: Ranks,
    /// The object storage.
    #[serde(rename = "keeper")]
    pub backend: Backend,
    /// The file through which another job continues the phases; see [`run`].
    pub run_info: Option<PathBuf>,
}

impl Task {
    /// Returns an error for an impossible task, as far as can be told before anything is created.
    pub fn check(&self) -> Result<(), Error> {
        self.settings.check(self.ranks.number())?;
        self.backend.check(self.ranks).map_err(|error| Error::Settings(error.0))
    }
}

/// A complete run.
pub struct Launch<'a> {
    /// The description of the run.
    pub task: &'a Task,
    /// Whether a signal requested the end.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// The command that starts a rank as a process; it calls [`rank_main`].
    pub rank_command: &'a (dyn Fn() -> Command + Sync),
}

/// The message that starts a rank in another process.
#[derive(Serialize, Deserialize)]
struct Job {
    settings: Settings,
    #[serde(rename = "keeper")]
    backend: Backend,
}

impl Launch<'_> {
    /// Runs the task and reports progress to `observer`.
    pub fn run(&self, observer: &mut dyn PhaseObserver) -> Result<(), Error> {
        self.task.check()?;
        match self.task.ranks {
            Ranks::Threads(ranks) => self.run_threads(ranks, observer),
            Ranks::Processes(ranks) => self.run_processes(ranks, observer),
            Ranks::Mpi(_) => Err(Error::Settings("ranks of MPI are started by mpirun".to_owned())),
        }
    }

    fn run_threads(&self, ranks: u32, observer: &mut dyn PhaseObserver) -> Result<(), Error> {
        let mut groups = threads(ranks).into_iter();
        let first = groups.next().expect("a run has a rank");
        std::thread::scope(|scope| {
            let others: Vec<_> =
                groups.map(|group| scope.spawn(move || self.thread(group, &mut NoObserver))).collect();
            let done = self.thread(first, observer);
            let others = others.into_iter().map(|other| match other.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            let failed = others.filter_map(Result::err).find(|error| !is_lost(error));
            match done {
                // The lost rank knows the reason best.
                Err(error) if is_lost(&error) && failed.is_some() => Err(failed.expect("checked above")),
                done => done,
            }
        })
    }

    fn thread(&self, mut group: ThreadRank, observer: &mut dyn PhaseObserver) -> Result<(), Error> {
        let done = self.rank(&mut group, observer);
        if done.is_ok() {
            group.end();
        }
        done
    }

    fn run_processes(&self, ranks: u32, observer: &mut dyn PhaseObserver) -> Result<(), Error> {
        let job = Job { settings: self.task.settings.clone(), backend: self.task.backend.clone() };
        let job = serde_json::to_vec(&job).expect("the data is serializable");
        let mut group = Processes::start(ranks, self.rank_command, &job)?;
        self.rank(&mut group, observer)
    }

    fn rank(&self, group: &mut dyn Group, observer: &mut dyn PhaseObserver) -> Result<(), Error> {
        let rank = group.rank();
        let mut interface =
            self.task.backend.open().map_err(|error| ranks::Error::Rank { rank, why: error.0 })?;
        let Task { settings, run_info, .. } = self.task;
        run(settings, group, interface.as_mut(), run_info.as_deref(), self.interrupted, observer)
    }
}

fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Group(ranks::Error::Lost { .. }))
}

/// Runs one rank of a run that another process has started.
pub fn rank_main(interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
    let (mut group, job) = ProcessRank::join()?;
    let job: Job = serde_json::from_slice(&job).map_err(|e| {
        Error::Settings(format!("ranks cannot be started by hand, only by the benchmark: {e}"))
    })?;
    let mut interface = match job.backend.open() {
        Ok(interface) => interface,
        Err(error) => {
            group.fail(&error.0);
            return Ok(());
        }
    };
    if let Err(error) = follow(&job.settings, &mut group, interface.as_mut(), interrupted) {
        group.fail(&error.to_string());
    }
    Ok(())
}

/// Runs one rank other than 0. Returns only errors that rank 0 does not know yet.
pub fn follow(
    settings: &Settings,
    group: &mut dyn Group,
    interface: &mut dyn Interface,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), Error> {
    match run(settings, group, interface, None, interrupted, &mut NoObserver) {
        // Rank 0 sent these errors itself.
        Err(Error::Group(ranks::Error::Rank { .. }) | Error::Interrupted) => Ok(()),
        done => done,
    }
}

struct NoObserver;

impl PhaseObserver for NoObserver {
    fn phase_started(&mut self, _: Phase, _: u32) {}

    fn phase_ended(&mut self, _: &PhaseOutcome) -> Result<(), Error> {
        Ok(())
    }
}
