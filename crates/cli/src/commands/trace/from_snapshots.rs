//! `senesce trace from-snapshots`: converts the changes between snapshots to a trace with labels.

use crate::args::FromSnapshots;
use crate::messages::note;
use crate::output;
use crate::progress::Progress;
use ::trace::{Error, Op, TraceInfo, save_labelled};
use anyhow::Result;
use results::Watch as _;
use serde::Serialize;
use workload::snapshots::{ChangeCounts, Extracted, Summary, snapshot_files};

/// The JSON document of a generated trace.
#[derive(Serialize)]
struct Generated<'m> {
    operations: u64,
    sha256: String,
    #[serde(flatten)]
    summary: &'m Summary,
}

pub fn run(args: &FromSnapshots) -> Result<()> {
    disk::catch_interrupts();
    super::check_labelled(&args.output)?;
    let options = args.options()?;
    let files = snapshot_files(&args.snapshots)?;
    let short_lived = options.short_lived.as_ref();
    let info = TraceInfo {
        tool: results::TOOL.to_owned(),
        seed: Some(options.seed),
        source: "snapshots".to_owned(),
        parameters: serde_json::json!({
            "snapshots": files.len(),
            "place": options.placement,
            "deletions": options.deletions,
            "updates": options.updates,
            "renames": options.renames,
            "links": options.links,
            "symlinks": options.symlinks,
            "holes": options.holes,
            "write_back_ns": options.write_back_ns,
            "short_lived": short_lived.map(|short| &short.set.source),
            "bytes_per_profile": short_lived.map(|short| short.bytes_per_profile),
        })
        .to_string(),
        block_size: workload::BLOCK_BYTES,
    };
    let mut progress = Progress::new();
    progress.phase("reading snapshots", None);
    let mut workload = Extracted::new(Box::new(files), options)?;
    let labels = workload.labels();
    progress.phase("generating operations", None);
    let mut operations = 0;
    let mut watch = |batch: &[Op]| {
        operations += batch.len() as u64;
        progress.at(operations);
        match disk::interrupted() {
            true => Err(Error::Source("interrupted; no trace was written".to_owned())),
            false => Ok(()),
        }
    };
    let written = save_labelled(&mut workload, &*labels, false, &args.output, &info, &mut watch)?;
    drop(progress);
    let summary = workload.summary();
    if args.json {
        let (operations, sha256) = (written.operations, written.sha256);
        return output::json(&Generated { operations, sha256, summary });
    }
    show(summary)
}

fn show(summary: &Summary) -> Result<()> {
    let headings = [
        "",
        "creates",
        "deletes",
        "modifies",
        "replaces",
        "renames",
        "links",
        "unlinks",
        "mkdirs",
        "rmdirs",
        "short-lived",
        "out of time",
        "by inode alone",
        "left out",
    ];
    let row = |name: String, counts: &ChangeCounts| {
        let numbers = [
            counts.creates,
            counts.deletes,
            counts.modifies,
            counts.replaces,
            counts.renames,
            counts.links,
            counts.unlinks,
            counts.mkdirs,
            counts.rmdirs,
            counts.short_lived,
            counts.out_of_time,
            counts.by_inode_alone,
            counts.left_out,
        ];
        std::iter::once(name).chain(numbers.map(|number| number.to_string())).collect()
    };
    let pairs = summary.pairs.iter().enumerate();
    let pairs = pairs.map(|(index, counts)| row(format!("{index} → {}", index + 1), counts));
    summary.warnings.iter().for_each(|warning| note(warning));
    output::table(&headings, std::iter::once(row("fill".to_owned(), &summary.fill)).chain(pairs))
}
