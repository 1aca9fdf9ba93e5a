//! How far the reproduction has come in a store: of each figure whether it was run, and what of it holds.

use super::check::Checked;
use super::outcome::Outcome;
use super::spec::Experiment;
use super::works::{Listed, listed};
use crate::Error;
use results::{Run, Store};
use serde::Serialize;
use serde_json::{Value, json};

/// How far a figure has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// There is no experiment that reproduces it.
    NotBuiltIn,
    /// Nothing of it is in the store.
    NotRun,
    /// It is being run, by a process that lives.
    Running,
    /// It was begun, and ended before it was done, or parts of it failed.
    BrokenOff,
    /// It was done by another version of the program or of the experiment.
    OtherVersion,
    /// It is done.
    Done,
}

impl State {
    /// In words.
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

/// Where a figure stands.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The figure.
    #[serde(flatten)]
    pub listed: Listed,
    /// What it shows.
    pub title: String,
    /// How far it has come.
    pub state: State,
    /// How many of its claims hold.
    pub holds: usize,
    /// How many do not.
    pub fails: usize,
    /// How many could not be judged.
    pub open: usize,
    /// Whether what was published holds in its trend; `None` where that could not be judged.
    pub trend: Option<bool>,
    /// How many of its cells failed.
    pub failed_cells: usize,
    /// When it was done, RFC 3339.
    pub finished: Option<String>,
    /// The claims that do not hold, or could not be judged.
    pub not: Vec<Checked>,
}

/// Where all figures stand in a store at a scale. Without a store nothing has been run.
pub fn standing(store: Option<&Store>, scale: &str) -> Result<Vec<Standing>, Error> {
    let runs = store.map_or(Ok(Vec::new()), |store| store.runs_of_kind(super::KIND))?;
    listed().into_iter().map(|listed| of(store, &runs, listed, scale)).collect()
}

/// Whether the figure is done in the store, by this version of the program and of the experiment, with no cell failed.
pub fn is_done(store: &Store, experiment: &Experiment, scale: &str) -> Result<bool, Error> {
    let Some(run) = store.last_done(super::KIND, &experiment.figure, &parameters(experiment, scale))? else {
        return Ok(false);
    };
    let outcome: Option<Outcome> = store.document(run, "", super::OUTCOME)?;
    Ok(outcome.is_some_and(|outcome| outcome.failed.is_empty()))
}

/// What an experiment as a whole is known by in a store.
pub(super) fn parameters(experiment: &Experiment, scale: &str) -> Value {
    json!({ "scale": scale, "experiment": experiment })
}

/// Whether a run is of that scale.
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
