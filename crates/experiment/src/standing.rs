//! The state of the reproduction in a store: for each figure, whether it was run and which claims hold.

use super::claim::Claim;
use super::judge::{FigureVerdict, Judged, Verdict};
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
    /// It was started and ended before it completed, or some of its cells failed or were left out.
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
    /// Number of claims that hold in their trend only.
    pub trend_only: usize,
    /// Number of claims that do not hold.
    pub fails: usize,
    /// Number of claims that cannot be told.
    pub open: usize,
    /// The verdict on the figure; `None` if it was not run.
    pub verdict: Option<FigureVerdict>,
    /// Number of failed cells.
    pub failed_cells: usize,
    /// Completion time, RFC 3339.
    pub finished: Option<String>,
    /// All claims. Those of a figure that was not run cannot be told.
    pub claims: Vec<Judged>,
}

impl Standing {
    /// Sets the claims and their numbers.
    fn set_claims(&mut self, claims: Vec<Judged>) {
        let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        self.holds = count(Verdict::Holds);
        self.trend_only = count(Verdict::TrendOnly);
        self.fails = count(Verdict::DoesNotHold);
        self.open = count(Verdict::CannotBeTold);
        self.claims = claims;
    }
}

/// The state of all figures in a store at a scale. Without a store no figure was run. `experiments` are the built-in ones, with the number of
/// agings that is asked for.
pub fn standing(
    store: Option<&Store>,
    scale: &str,
    experiments: &[Experiment],
) -> Result<Vec<Standing>, Error> {
    let runs = store.map_or(Ok(Vec::new()), |store| store.runs_of_kind(super::KIND))?;
    let of_figure = |listed: Listed| {
        let experiment = experiments.iter().find(|experiment| experiment.figure == listed.figure);
        of(store, &runs, listed, experiment, scale)
    };
    listed().into_iter().map(of_figure).collect()
}

/// A claim of a figure, with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Indexed<'s> {
    /// The publication, as a reference.
    pub work: &'s str,
    /// The figure that judges it.
    pub figure: &'s str,
    /// The claim and its verdict.
    #[serde(flatten)]
    pub judged: &'s Judged,
}

/// All claims of these figures, in the order of their publications.
pub fn claims(standing: &[Standing]) -> Vec<Indexed<'_>> {
    let mut claims = Vec::new();
    for Standing { listed, claims: judged, .. } in standing {
        let index = |judged| Indexed { work: &listed.work, figure: &listed.figure, judged };
        claims.extend(judged.iter().map(index));
    }
    claims
}

/// Whether the store holds the complete figure, by this version of the program and of the experiment.
pub fn is_done(store: &Store, experiment: &Experiment, scale: &str) -> Result<bool, Error> {
    let Some(run) = store.last_done(super::KIND, &experiment.figure, &parameters(experiment, scale))? else {
        return Ok(false);
    };
    let outcome: Option<Outcome> = store.document(run, "", super::OUTCOME)?;
    Ok(outcome.is_some_and(|outcome| outcome.is_complete()))
}

/// The claims of a figure that hold in its last run in the store that ended, at this scale.
pub(super) fn held(store: &Store, figure: &str, scale: &str) -> Result<Vec<Claim>, Error> {
    let runs = store.runs_of_kind(super::KIND)?;
    let ended = last_ended(store, &runs, figure, scale)?;
    let claims = ended.into_iter().flat_map(|(_, outcome)| outcome.claims);
    Ok(claims.filter(|judged| judged.verdict == Verdict::Holds).map(|judged| judged.claim).collect())
}

/// The claims among those that held before which new measurements refute, or leave in their trend only. What cannot be told refutes nothing.
pub fn no_longer_hold<'j>(held: &[Claim], now: &'j [Judged]) -> Vec<&'j Judged> {
    let refuted = |judged: &&Judged| matches!(judged.verdict, Verdict::DoesNotHold | Verdict::TrendOnly);
    now.iter().filter(refuted).filter(|judged| held.contains(&judged.claim)).collect()
}

/// The last run of a figure at a scale that ended, if it has an outcome.
fn last_ended<'r>(
    store: &Store,
    runs: &'r [Run],
    figure: &str,
    scale: &str,
) -> Result<Option<(&'r Run, Outcome)>, Error> {
    let ended = |run: &&Run| run.name == figure && run.state == "done" && is_at(run, scale);
    let Some(run) = runs.iter().rev().find(ended) else { return Ok(None) };
    let outcome: Option<Outcome> = store.document(run.id, "", super::OUTCOME)?;
    Ok(outcome.map(|outcome| (run, outcome)))
}

/// The parameters that identify a run of a whole experiment in a store.
pub(super) fn parameters(experiment: &Experiment, scale: &str) -> Value {
    json!({ "scale": scale, "experiment": experiment })
}

/// Whether a run has that scale.
pub(super) fn is_at(run: &Run, scale: &str) -> bool {
    run.parameters.get("scale").and_then(Value::as_str) == Some(scale)
}

fn of(
    store: Option<&Store>,
    runs: &[Run],
    listed: Listed,
    experiment: Option<&Experiment>,
    scale: &str,
) -> Result<Standing, Error> {
    let title = experiment.map_or_else(String::new, |experiment| experiment.title.clone());
    let mut standing = Standing {
        state: if listed.built_in { State::NotRun } else { State::NotBuiltIn },
        listed,
        title,
        holds: 0,
        trend_only: 0,
        fails: 0,
        open: 0,
        verdict: None,
        failed_cells: 0,
        finished: None,
        claims: Vec::new(),
    };
    let Some(experiment) = experiment else { return Ok(standing) };
    standing.set_claims(experiment.claim.iter().map(Judged::unmeasured).collect());
    let Some(store) = store else { return Ok(standing) };
    let begun = runs.iter().any(|run| run.name == experiment.figure && is_at(run, scale));
    let running = store.running(super::KIND, &experiment.figure)?.iter().any(|run| is_at(run, scale));
    let ended = last_ended(store, runs, &experiment.figure, scale)?;
    let same = |run: &Run| run.tool == results::TOOL && run.parameters == parameters(experiment, scale);
    standing.state = match &ended {
        _ if running => State::Running,
        Some((run, _)) if !same(run) => State::OtherVersion,
        Some((_, outcome)) if outcome.is_complete() => State::Done,
        _ if begun => State::BrokenOff,
        _ => State::NotRun,
    };
    let Some((run, outcome)) = ended else { return Ok(standing) };
    standing.verdict = outcome.verdict;
    standing.failed_cells = outcome.failed.len();
    standing.finished = run.finished.clone();
    standing.set_claims(outcome.claims);
    Ok(standing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_held_and_is_refuted_no_longer_holds() {
        let claim = |states: &str| Claim { states: states.to_owned(), ..Claim::default() };
        let judged = |states: &str, verdict| Judged { claim: claim(states), verdict, lines: Vec::new() };
        let held = ["same", "refuted", "weaker", "open"].map(claim);
        let now = [
            judged("same", Verdict::Holds),
            judged("refuted", Verdict::DoesNotHold),
            judged("weaker", Verdict::TrendOnly),
            judged("open", Verdict::CannotBeTold),
            judged("never held", Verdict::DoesNotHold),
        ];
        let found: Vec<_> = no_longer_hold(&held, &now).iter().map(|of| of.claim.states.as_str()).collect();
        assert_eq!(found, ["refuted", "weaker"]);
    }
}
