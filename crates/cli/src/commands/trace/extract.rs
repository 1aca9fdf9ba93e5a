//! `senesce trace extract`: converts the history of a repository to a trace with labels.

use crate::args::{Extract, Order};
use crate::messages::note;
use crate::output;
use crate::progress::Progress;
use ::trace::{Error, Op, TraceInfo, save_labelled};
use anyhow::Result;
use results::Watch as _;
use serde::Serialize;
use workload::git::{ExtractOptions, Extracted, History};

/// The JSON document of an extraction.
#[derive(Serialize)]
struct Summary {
    pulls: u64,
    operations: u64,
    sha256: String,
}

pub fn run(extract: &Extract) -> Result<()> {
    super::check_labelled(&extract.output)?;
    disk::catch_interrupts();
    let order = match extract.order {
        Order::FirstParent => workload::git::Order::FirstParent,
        Order::Full => workload::git::Order::Full,
    };
    let history = History::open(&workload::git::local(&extract.git, note)?, order)?;
    let options = ExtractOptions {
        pulls: extract.pulls,
        every: extract.every.unwrap_or(u64::MAX),
        objects: extract.objects,
    };
    let mut extracted = Extracted::new(&history, options)?;
    let (pulls, labels) = (extracted.pulls(), extracted.labels());
    let info = TraceInfo {
        tool: results::TOOL.to_owned(),
        seed: None,
        source: "git".to_owned(),
        parameters: serde_json::json!({
            "order": order,
            "pulls": pulls,
            "every": extract.every,
            "objects": extract.objects,
            "first": history.commit(1),
            "last": history.commit(pulls),
        })
        .to_string(),
        block_size: workload::BLOCK_BYTES,
    };
    let mut progress = Progress::new();
    progress.phase("extracting operations", None);
    let mut operations = 0;
    let mut watch = |batch: &[Op]| {
        operations += batch.len() as u64;
        progress.at(operations);
        match disk::interrupted() {
            true => Err(Error::Source("interrupted; no trace was written".to_owned())),
            false => Ok(()),
        }
    };
    let to = &extract.output;
    let written = save_labelled(&mut extracted, &*labels, extract.with_contents, to, &info, &mut watch)?;
    drop(progress);
    let summary = Summary { pulls, operations: written.operations, sha256: written.sha256 };
    if extract.json {
        return output::json(&summary);
    }
    output::line(&format!("{} pulls, {} operations", summary.pulls, summary.operations))
}
