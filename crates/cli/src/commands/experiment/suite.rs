//! All figures: lists them, shows their status in a store, and runs them.

use super::held::Held;
use crate::args::HowToRun;
use crate::messages::note;
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, bail};
use experiment::{
    AgedImages, AllDone, Experiment, FigureVerdict, Indexed, Listed, RunSpec, Shard, Standing, State, Verdict,
};
use results::StoreLocation;
use serde_json::json;

/// Lists all figures, tables and listings.
pub fn list(json: bool) -> Result<()> {
    let all = experiment::listed();
    let mut rows = Vec::new();
    for listed in &all {
        let experiment = if listed.built_in { Some(Experiment::find(&listed.figure)?) } else { None };
        rows.push((listed, experiment));
    }
    if json {
        let of = |(listed, experiment): &(&Listed, Option<Experiment>)| {
            let mut object = json!(listed);
            if let Some(experiment) = experiment {
                object["title"] = experiment.title.as_str().into();
                object["source"] = experiment.source.as_str().into();
                object["version"] = experiment.digest().into();
                let expected =
                    experiment.scale.iter().map(|(name, scale)| (name.clone(), json!(scale.expected_s)));
                object["expected_s"] = serde_json::Value::Object(expected.collect());
            }
            object
        };
        return output::json(&json!({ "figures": rows.iter().map(of).collect::<Vec<_>>() }));
    }
    output::table(
        &["figure", "description"],
        rows.iter().map(|(listed, experiment)| {
            let title = experiment.as_ref().map_or("not built in", |experiment| experiment.title.as_str());
            vec![listed.figure.clone(), title.to_owned()]
        }),
    )?;
    let count = |kind: &str| all.iter().filter(|listed| listed.kind == kind).count();
    let built_in = all.iter().filter(|listed| listed.built_in).count();
    output::line(&format!(
        "{} in total: {} figures, {} tables, {} listing; {built_in} built in",
        all.len(),
        count("figure"),
        count("table"),
        count("listing")
    ))
}

/// Shows the status and verdict of each figure in the store.
pub fn status(how: &HowToRun, markdown: bool) -> Result<()> {
    let at = how.store.or_of(&how.work);
    let standing = standing(&at, how)?;
    if how.json {
        return output::json(&document(&at, &how.scale, &standing));
    }
    show(&at, &how.scale, &standing, if markdown { output::markdown } else { output::table })
}

/// Shows every claim, with its verdict if the store has its figure.
pub fn claims(how: &HowToRun, markdown: bool) -> Result<()> {
    let standing = standing(&how.store.or_of(&how.work), how)?;
    let claims = experiment::claims(&standing);
    if how.json {
        return output::json(&json!({ "scale": how.scale, "claims": claims }));
    }
    let table: Print = if markdown { output::markdown } else { output::table };
    let row = |indexed: &Indexed| {
        let judged = indexed.judged;
        let [section, states] = [&judged.claim.section, &judged.claim.states].map(String::clone);
        let verdict = judged.verdict.words().to_owned();
        vec![indexed.figure.to_owned(), section, states, judged.published(), judged.measured(), verdict]
    };
    table(&["figure", "where", "claim", "published", "measured", ""], claims.iter().map(row).collect())
}

/// The status of each figure in a store, which may not exist yet.
fn standing(at: &StoreLocation, how: &HowToRun) -> Result<Vec<Standing>> {
    Ok(experiment::standing(at.open_if_exists()?.as_ref(), &how.scale, &built_in(how)?)?)
}

fn built_in(how: &HowToRun) -> Result<Vec<Experiment>> {
    Experiment::builtin().map(|name| super::with_agings(Experiment::find(name)?, how)).collect()
}

/// Runs all figures that are missing in the store, or one shard of them.
pub fn all(how: &HowToRun, shard: Shard) -> Result<()> {
    if how.repo.is_some() {
        bail!("--repo needs named figures: most figures use no repository");
    }
    // Frees memory that images of an earlier, killed run still occupy.
    disk::cleanup()?;
    let mut experiments = built_in(how)?;
    if !how.fs.is_empty() {
        experiments.retain(|one| one.fs.iter().any(|name| how.fs.contains(name)));
    }
    let aged_images = AgedImages::default();
    let spec = |experiment: Experiment| {
        let fs = how.fs.iter().filter(|name| experiment.fs.contains(name)).cloned().collect();
        Ok(RunSpec { fs, resume: true, ..super::spec(experiment, how, &aged_images)? })
    };
    let specs = shard.of_all(experiments, &how.scale)?.into_iter().map(spec).collect::<Result<Vec<_>>>()?;
    let held = Held::before(&specs)?;
    let all = experiment::reproduce_all(&specs, &mut Progress::new())?;
    let at = how.store.or_of(&how.work);
    let mine =
        |standing: &Standing| specs.iter().any(|spec| spec.experiment.figure == standing.listed.figure);
    let mut standing = standing(&at, how)?;
    standing.retain(mine);
    if how.json {
        output::json(&document(&at, &how.scale, &standing))?;
    } else {
        show(&at, &how.scale, &standing, output::table)?;
    }
    judge(&all)?;
    held.check(standing.iter().map(|one| (&*one.listed.figure, &*one.claims)))
}

fn judge(all: &AllDone) -> Result<()> {
    let AllDone { done, already, elsewhere, failed } = all;
    note(&format!(
        "{} figures done, {} done earlier, {} running in other processes, {} failed",
        done.len(),
        already.len(),
        elsewhere.len(),
        failed.len()
    ));
    if failed.is_empty() {
        return Ok(());
    }
    let failed: Vec<String> = failed.iter().map(|(figure, why)| format!("{figure} ({why})")).collect();
    bail!("{} figures failed; the results of the others are stored: {}", failed.len(), failed.join("; "))
}

fn count_done(all: &[Standing]) -> usize {
    all.iter().filter(|one| one.state == State::Done).count()
}

fn count(all: &[Standing], verdict: FigureVerdict) -> usize {
    all.iter().filter(|one| one.verdict == Some(verdict)).count()
}

fn document(at: &StoreLocation, scale: &str, all: &[Standing]) -> serde_json::Value {
    json!({
        "store": at.to_string(), "scale": scale, "of": all.len(), "done": count_done(all),
        "hold": count(all, FigureVerdict::Holds), "trend_only": count(all, FigureVerdict::TrendOnly), "figures": all,
    })
}

/// A function that prints a table from headings and rows.
type Print = fn(&[&str], Vec<Vec<String>>) -> Result<()>;

fn show(at: &StoreLocation, scale: &str, all: &[Standing], table: Print) -> Result<()> {
    let number = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    let headings =
        ["figure", "state", "verdict", "claims", "hold", "trend only", "do not hold", "cannot be told"];
    table(
        &headings,
        all.iter()
            .map(|one| {
                let verdict = one.verdict.map_or("–", FigureVerdict::words);
                let mut row =
                    vec![one.listed.figure.clone(), one.state.words().to_owned(), verdict.to_owned()];
                let counts = [one.claims.len(), one.holds, one.trend_only, one.fails, one.open];
                row.extend(counts.map(number));
                row
            })
            .collect(),
    )?;
    let mut rows = Vec::new();
    for one in all.iter().filter(|one| one.verdict.is_some()) {
        for judged in one.claims.iter().filter(|judged| judged.verdict < Verdict::TrendOnly) {
            let mut row = vec![one.listed.figure.clone()];
            row.extend(super::claim_row(judged));
            row.push(judged.claim.why.clone());
            rows.push(row);
        }
    }
    if !rows.is_empty() {
        output::line("")?;
        table(&["figure", "claim", "published", "measured", "", "why"], rows)?;
    }
    output::line(&format!(
        "\n{} of {} done at scale {scale} in {at}: {} hold, {} in their trend only",
        count_done(all),
        all.len(),
        count(all, FigureVerdict::Holds),
        count(all, FigureVerdict::TrendOnly),
    ))
}
