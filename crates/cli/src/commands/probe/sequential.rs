//! `senesce probe sequential`.

use super::rates;
use crate::args;
use crate::output;
use crate::progress::Progress;
use ::probe::SequentialPlan;
use anyhow::Result;
use run::{Rates, Ratios, SequentialSize, SequentialSpec};
use std::collections::BTreeMap;

pub fn run(args: &args::Sequential) -> Result<()> {
    let mut plan = SequentialPlan::published();
    if !args.sizes.is_empty() {
        plan.sizes_bytes.clone_from(&args.sizes);
    }
    plan.total_bytes = args.total.unwrap_or(plan.total_bytes);
    let spec = SequentialSpec {
        on: rates::subject(&args.on)?,
        plan,
        runs: args.on.runs,
        disk: args.on.disk.clone(),
        command: crate::commands::command_line(),
    };
    let mut progress = Progress::new();
    let outcome = run::sequential(&spec, &mut progress)?;
    drop(progress);
    if args.on.json {
        return output::json(&outcome);
    }
    let clocks = rates::headings(&outcome.modelled_disk);
    let headings = ["size", "files", "phase", "side"].into_iter().chain(clocks.iter().map(String::as_str));
    output::table(&headings.collect::<Vec<_>>(), outcome.sizes.iter().flat_map(rows))?;
    output::line(&outcome.kept.message(&outcome.name))
}

/// The table rows of one file size.
fn rows(size: &SequentialSize) -> Vec<Vec<String>> {
    let begin = [input::bytes(size.size_bytes), size.files.to_string()];
    let phase = |name: &str, rates: &BTreeMap<&str, Rates>, ratios: Option<Ratios>| {
        let row = |side: &str, cells: [String; 3]| {
            [&begin[..], &[name.to_owned(), side.to_owned()], &cells].concat()
        };
        let mut rows: Vec<_> = rates.iter().map(|(side, rates)| row(side, rates::row(rates))).collect();
        rows.extend(ratios.map(|ratios| row("aged/unaged", rates::ratios(&ratios))));
        rows
    };
    [phase("create", &size.create, size.create_ratio), phase("read", &size.read, size.read_ratio)].concat()
}
