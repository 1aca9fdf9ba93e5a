//! Page data of one run in any state: the figures so far, as for a finished run.

use crate::data::{MeasureInfo, Page};
use crate::{from_experiment, from_metadata, from_series, from_store, from_verify};
use experiment::Outcome;
use results::{Run, Store};
use run::{Error, Manifest, Pair, Replicates, RoundsResult};

/// The figures of a run; a page without figures if there are none yet, or none for its kind.
pub fn from_run(store: &Store, run: &Run) -> Result<Page, Error> {
    let (mut comparisons, mut experiments) = (Vec::new(), Vec::new());
    match run.kind.as_str() {
        "compare" if store.document::<Manifest>(run.id, "", "manifest")?.is_some() => {
            for of in Replicates::group(&[Pair::load(store, run)?]) {
                comparisons.push(from_store::comparison(store, &of)?);
            }
        }
        "experiment" => {
            let outcome: Option<Outcome> = store.document(run.id, "", "outcome")?;
            experiments.extend(outcome.map(|outcome| from_experiment::shown(run, outcome)));
        }
        "age" => {
            let aged: Option<RoundsResult> = store.document(run.id, "", "outcome")?;
            let measured = aged.filter(|aged| !aged.checkpoints.is_empty());
            experiments.extend(measured.map(|aged| from_series::series(run, &aged)));
        }
        "metadata" => {
            let phases = from_metadata::phases(store, run)?;
            experiments.extend((!phases.is_empty()).then(|| from_metadata::metadata(run, &phases)));
        }
        "verify" => {
            experiments
                .extend(run::verified(store, run.id)?.map(|verified| from_verify::verify(run, &verified)));
        }
        _ => {}
    }
    Ok(Page {
        title: run.name.clone(),
        made: run.finished.clone().unwrap_or_else(|| run.started.clone()),
        tool: run.tool.clone(),
        measures: MeasureInfo::of(&comparisons, &experiments),
        comparisons,
        experiments,
        ..Page::default()
    })
}
