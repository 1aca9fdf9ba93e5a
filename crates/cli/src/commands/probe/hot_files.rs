//! `senesce probe hot-files`.

use super::rates;
use crate::args;
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::Result;
use run::{Chosen, HotFilesOutcome, HotFilesSpec, Rates, Ratios};

pub fn run(args: &args::HotFiles) -> Result<()> {
    let days = args.days.or(args.now.map(|_| run::PUBLISHED_DAYS));
    let days = days.map(|days| Chosen::Days { days, now_unix_s: args.now });
    let spec = HotFilesSpec {
        on: rates::subject(&args.on)?,
        chosen: args.share.map(Chosen::Share).or(days),
        overwrite: args.overwrite,
        runs: args.on.runs,
        disk: args.on.disk.clone(),
        command: crate::commands::command_line(),
    };
    let mut progress = Progress::new();
    let outcome = run::hot_files(&spec, &mut progress)?;
    drop(progress);
    if args.on.json { output::json(&outcome) } else { show(&outcome) }
}

fn show(outcome: &HotFilesOutcome) -> Result<()> {
    let measured = &outcome.measured;
    let percent =
        |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let (of_files, of_space) = (percent(measured.share_of_files), percent(measured.share_of_space));
    let bytes = input::bytes(measured.bytes);
    output::line(&format!(
        "{} hot files of {bytes}: {of_files} of the files, {of_space} of the space",
        measured.files
    ))?;
    output::table(
        &["side", "layout score", "degree of fragmentation"],
        measured.sides.iter().map(|(name, side)| {
            let score = side.layout.and_then(|layout| layout.layout_score);
            let degree = side.layout.and_then(|layout| layout.degree_of_fragmentation);
            vec![(*name).to_owned(), number(score), number(degree)]
        }),
    )?;
    let clocks = rates::headings(&measured.modelled_disk);
    let headings = ["phase", "side"].into_iter().chain(clocks.iter().map(String::as_str));
    let row = |phase: &str, side: &str, cells: [String; 3]| {
        [&[phase.to_owned(), side.to_owned()][..], &cells].concat()
    };
    let sides = |phase: &str, rates: &dyn Fn(&run::HotFilesSide) -> Option<Rates>, ratios: Option<Ratios>| {
        let of_side = |(side, gave): (&&str, &run::HotFilesSide)| {
            rates(gave).map(|rates| row(phase, side, rates::row(&rates)))
        };
        let mut rows: Vec<_> = measured.sides.iter().filter_map(of_side).collect();
        rows.extend(ratios.map(|ratios| row(phase, "aged/unaged", rates::ratios(&ratios))));
        rows
    };
    let read = sides("read", &|side| Some(side.read), measured.read_ratio);
    let overwrite = sides("overwrite", &|side| side.overwrite, measured.overwrite_ratio);
    output::table(&headings.collect::<Vec<_>>(), [read, overwrite].concat())?;
    output::line(&outcome.kept.message(&outcome.name))
}
