//! `senesce bench fio`.

use super::subject::{self, interval};
use crate::args::{self, Against};
use crate::commands::vm_dispatch;
use crate::output;
use crate::progress::Progress;
use anyhow::Result;
use run::{FioOutcome, FioSpec};

pub fn run(args: &args::Fio) -> Result<()> {
    let spec = FioSpec {
        job: args.job.clone(),
        on: subject::find(&args.subject)?,
        against: args.subject.against == Against::Unaged,
        disk: args.subject.disk.clone(),
        repeat: args.subject.repeat,
        command: crate::commands::command_line(),
    };
    if let Some(dispatch) = vm_dispatch::for_bench(&spec.on)? {
        return vm_dispatch::run(&dispatch);
    }
    let mut progress = Progress::new();
    let outcome = run::fio(&spec, &mut progress)?;
    drop(progress);
    if args.subject.json { output::json(&outcome) } else { show(&outcome) }
}

fn show(outcome: &FioOutcome) -> Result<()> {
    if let Some(disk) = &outcome.modelled_disk {
        output::line(&format!("on a modelled {disk} with real-time service times"))?;
    }
    let rows = outcome.jobs.iter().flat_map(|job| {
        let row = |side: &str, cells: [String; 4]| {
            [&[job.job.clone(), job.direction.clone(), side.to_owned()][..], &cells].concat()
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (name, side) in &job.sides {
            let cells = [Some(side.iops), Some(side.bytes_per_s), side.p99_us, side.max_us].map(interval);
            rows.push(row(name, cells));
        }
        let ratio = job.iops_ratio.map(|ratio| {
            let dash = || "–".to_owned();
            row("aged/unaged", [interval(Some(ratio)), dash(), dash(), dash()])
        });
        rows.extend(ratio);
        rows
    });
    output::table(&["job", "direction", "side", "operations/s", "bytes/s", "p99 in µs", "longest"], rows)?;
    output::line(&outcome.kept.message(&outcome.name))
}
