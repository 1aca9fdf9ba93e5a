//! `senesce referee`: modelled disks beside real ones.

use super::held::Held;
use super::{carry_out, judge, spec};
use crate::args::Referee;
use crate::output::{self, number};
use anyhow::Result;
use experiment::AgedImages;
use experiment::referee::{self, Agreement, LineAgreement, Ranks};
use serde_json::json;

pub fn referee(args: &Referee) -> Result<()> {
    let experiment = referee::experiment(args.pulls, args.skip)?;
    let spec = spec(experiment, &args.how, &AgedImages::default())?;
    let held = Held::before([&spec])?;
    let outcome = carry_out(&spec.plan()?)?;
    let agreement = referee::agreement(&outcome);
    if args.how.json {
        output::json(&json!({ "agreement": agreement, "outcome": outcome }))?;
    } else {
        show(&agreement)?;
    }
    judge(&[outcome], &held)
}

fn show(Agreement { lines, ranks }: &Agreement) -> Result<()> {
    let row = |line: &LineAgreement| {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", 100.0 * share))
        };
        let last = line.pulls.last().expect("a line has a measurement");
        vec![
            line.fs.clone(),
            line.disk.clone(),
            line.option.clone(),
            last.pull.to_string(),
            number(last.ratio.real),
            number(last.ratio.modelled),
            percent(line.ratio_error),
            number(line.spearman),
            number(line.score_error),
        ]
    };
    output::table(
        &[
            "fs",
            "disk",
            "setting",
            "pulls",
            "aged/unaged, real",
            "modelled",
            "median error",
            "rank correlation of costs",
            "layout score, error",
        ],
        lines.iter().map(row),
    )?;
    output::line("")?;
    let row = |ranks: &Ranks| {
        let same = if ranks.real == ranks.modelled { "yes" } else { "no" };
        let [real, modelled] = [&ranks.real, &ranks.modelled].map(|order| order.join(", "));
        vec![
            ranks.disk.clone(),
            ranks.option.clone(),
            ranks.pull.to_string(),
            real,
            modelled,
            same.to_owned(),
        ]
    };
    output::table(
        &["disk", "setting", "pulls", "fastest first, real", "modelled", "same"],
        ranks.iter().map(row),
    )
}
