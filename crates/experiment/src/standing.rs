//! The state of the reproduction in a store: for each figure, whether it was run and which claims hold.

use super::check::Checked;
use super::outcome::Outcome;
use super::spec::Experiment;
use super::works::{Listed, listed};
use results::{Run, Store};
use run::Error;
use serde::Serialize;
use serde_json::{Value, json};

/// The state of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No experiment reproduces it.
    NotBuiltIn,
    /// The store holds no run of it.
    NotRun,
    /// A live process is running it.
    Running,
    /// It was started and ended before it completed, or some of its cells failed.
    BrokenOff,
    /// It was completed by another version of the program or of the experiment.
    OtherVersion,
    /// It is complete.
    Done,
}

impl State {
    /// The state in words.
    pub fn words(self) -> &'static str {
        match self {
            State::NotBuiltIn => "not built in",
            State::NotRun => "not run",
            State::Running => "running",
            State::BrokenOff => "broken off",
            State::OtherVersion => "of another version",
            State::Done => "done",
        }
    }
}

/// The state and verdicts of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The figure.
    #[serde(flatten)]
    pub listed: Listed,
    /// The title.
    pub title: String,
    /// The state.
    pub state: State,
    /// Number of claims that hold.
    pub holds: usize,
    /// Number of claims that do not hold.
    pub fails: usize,
    /// Number of claims that could not be judged.
    pub open: usize,
    /// Whether all claims about the trend hold; `None` if that could not be judged.
    pub trend: Option<bool>,
    /// Number of failed cells.
    pub failed_cells: usize,
    /// Completion time, RFC 3339.
    pub finished: Option<String>,
    /// The claims that do not hold, or could not be judged.
    pub not: Vec<Checked>,
}

/// The state of all figures in a store at a scale. Without a store no figure was run.
pub fn standing(store: Option<&Store>, scale: &str) -> Result<Vec<Standing>, Error> {
    let runs = store.map_or(Ok(Vec::new()), |store| store.runs_of_kind(super::KIND))?;
    listed().into_iter().map(|listed| of(store, &runs, listed, scale)).collect()
}

/// Whether the store holds the complete figure, by this version of the program and of the experiment, without failed cells.
pub fn is_done(store: &Store, experiment: &Experiment, scale: &str) -> Result<bool, Error> {
    let Some(run) = store.last_done(super::KIND, &experiment.figure, &parameters(experiment, scale))? else {
        return Ok(false);
    };
    let outcome: Option<Outcome> = store.document(run, "", super::OUTCOME)?;
    Ok(outcome.is_some_and(|outcome| outcome.failed.is_empty()))
}

/// The parameters that identify a run of a whole experiment in a store.
pub(super) fn parameters(experiment: &Experiment, scale: &str) -> Value {
    json!({ "scale": scale, "experiment": experiment })
}

/// Whether a run has that scale.
pub(super) fn is_at(run: &Run, scale: &str) -> bool {
    run.parameters.get("scale").and_then(Value::as_str) == Some(scale)
}

fn of(store: Option<&Store>, runs: &[Run], listed: Listed, scale: &str) -> Result<Standing, Error> {
    let experiment = if listed.built_in { Some(Experiment::find(&listed.figure)?) } else { None };
    let title = experiment.as_ref().map_or_else(String::new, |experiment| experiment.title.clone());
    let mut standing = Standing {
        state: if listed.built_in { State::NotRun } else { State::NotBuiltIn },
        listed,
        title,
        holds: 0,
        fails: 0,
        open: 0,
        trend: None,
        failed_cells: 0,
        finished: None,
        not: Vec::new(),
    };
    let (Some(store), Some(experiment)) = (store, experiment) else { return Ok(standing) };
    let mut of_it =
        runs.iter().filter(|run| run.name == experiment.figure && is_at(run, scale)).rev().peekable();
    let running = store.running(super::KIND, &experiment.figure)?;
    let (running, begun) = (running.iter().any(|run| is_at(run, scale)), of_it.peek().is_some());
    let done = of_it.find(|run| run.state == "done");
    let outcome: Option<Outcome> = match done {
        Some(run) => store.document(run.id, "", super::OUTCOME)?,
        None => None,
    };
    let same = |run: &Run| run.tool == results::TOOL && run.parameters == parameters(&experiment, scale);
    standing.state = match (&outcome, done) {
        _ if running => State::Running,
        (Some(_), Some(run)) if !same(run) => State::OtherVersion,
        (Some(outcome), Some(_)) if outcome.failed.is_empty() => State::Done,
        _ if begun => State::BrokenOff,
        _ => State::NotRun,
    };
    let Some((outcome, run)) = outcome.zip(done) else { return Ok(standing) };
    let count = |holds| outcome.checks.iter().filter(|check| check.holds == holds).count();
    (standing.holds, standing.fails, standing.open) = (count(Some(true)), count(Some(false)), count(None));
    standing.trend = outcome.trend;
    standing.failed_cells = outcome.failed.len();
    standing.finished = run.finished.clone();
    standing.not = outcome.checks.into_iter().filter(|check| check.holds != Some(true)).collect();
    Ok(standing)
}
