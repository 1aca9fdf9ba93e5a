//! `senesce compare`.

mod across;
mod first;

use super::vm_dispatch;
use crate::args::{self, Across, Compare};
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use results::Measure;
use results::measures::{self, MODELLED_S_PER_GIB, Topic};
use run::{CompareSpec, Manifest, Pair, Stage};
use serde::{Deserialize, Serialize};
use std::path::Path;
use vm::Kernel;

/// The JSON document of a comparison.
#[derive(Serialize, Deserialize)]
struct Pairs {
    pairs: Vec<Pair>,
}

pub fn run(args: &Compare) -> Result<()> {
    let named = if args.first.fs.is_empty() { named(args)? } else { Vec::new() };
    let pairs = match vm::guest_environment() {
        Some(guest) => compare_here(args, named, Some(&guest.kernel))?,
        None => compare_on_all_kernels(args, &named)?,
    };
    match (args.json, args.kernels.across) {
        (true, _) => output::json(&Pairs { pairs }),
        (false, None) => show(&pairs),
        (false, Some(Across::Kernel)) => across::show(&pairs),
    }
}

/// Compares on each required kernel: in virtual machines, and here.
fn compare_on_all_kernels(args: &Compare, named: &[Manifest]) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for dispatch in vm_dispatch::for_compare(args, named)? {
        pairs.extend(match dispatch {
            None => compare_here(args, named.to_vec(), None)?,
            Some(dispatch) => vm_dispatch::run_json::<Pairs>(&dispatch)?.pairs,
        });
    }
    Ok(pairs)
}

/// Compares the file systems of the running kernel: `kernel` in a virtual machine, `None` outside.
fn compare_here(args: &Compare, named: Vec<Manifest>, kernel: Option<&Kernel>) -> Result<Vec<Pair>> {
    let mut progress = Progress::new();
    let aged = if args.first.fs.is_empty() {
        let here = named.into_iter().filter(|manifest| manifest.volume.kernel.as_ref() == kernel);
        here.map(|manifest| manifest.name).collect()
    } else {
        first::age(args, kernel, &mut progress)?
    };
    let spec = CompareSpec {
        aged,
        work: args.work.work.clone(),
        repeat: args.repeat,
        reader: reader(args.reader),
        disk: args.disk.clone(),
        new_file: !args.no_new_file,
        resume: args.resume,
        command: super::command_line(),
    };
    Ok(run::compare(&spec, &mut progress)?)
}

/// The manifests of the file systems to compare.
fn named(args: &Compare) -> Result<Vec<Manifest>> {
    if args.names.is_empty() {
        return complete(&args.work.work);
    }
    Ok(args.names.iter().map(|name| Manifest::load_aged(&args.work.work, name)).collect::<Result<_, _>>()?)
}

/// The program that reads in a scan.
pub fn reader(reader: args::Reader) -> probe::Reader {
    match reader {
        args::Reader::Grep => probe::Reader::Grep,
        args::Reader::Builtin => probe::Reader::Builtin,
    }
}

/// The manifests of all file systems in the work directory whose aging is complete, by name.
pub fn complete(work: &Path) -> Result<Vec<Manifest>> {
    let entries =
        std::fs::read_dir(work).with_context(|| format!("reading the work directory {}", work.display()))?;
    let mut aged = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let Some(name) = name.to_str().and_then(|n| n.strip_suffix(".json")).filter(|n| !n.starts_with('.'))
        else {
            continue;
        };
        aged.extend(Manifest::load(work, name)?.filter(|manifest| manifest.stage == Stage::Done));
    }
    if aged.is_empty() {
        bail!("{} contains no aged file system; create one with `senesce age`", work.display());
    }
    aged.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(aged)
}

/// The measures to show for a pair: those that every comparison shows, and those of a tree.
fn shown(pair: &Pair) -> impl Iterator<Item = &'static Measure> {
    let is_measured = |measure: &Measure| pair.aged.value(measure).or(pair.unaged.value(measure)).is_some();
    // Another measure already shows the 7200 rpm disk.
    let is_wanted =
        |measure: &Measure| *measure != MODELLED_S_PER_GIB || pair.modelled_disk != run::HDD_MODEL;
    measures::compared().filter(move |measure| {
        let is_of_tree = measure.topic == Some(Topic::Tree) && is_measured(measure);
        (measure.always && is_wanted(measure)) || is_of_tree
    })
}

fn label(measure: &Measure, pair: &Pair) -> String {
    match *measure {
        MODELLED_S_PER_GIB => format!("{} {}", measure.label, pair.modelled_disk),
        _ => measure.label.to_owned(),
    }
}

/// The ratio of two numbers; `None` if one is missing or the divisor is zero.
fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).filter(|(_, b)| *b != 0.0).map(|(a, b)| a / b)
}

/// Prints one table for each pair, with a column for each side.
pub fn show(pairs: &[Pair]) -> Result<()> {
    for pair in pairs {
        let rows = shown(pair).map(|measure| {
            let (aged, unaged) = (pair.aged.value(measure), pair.unaged.value(measure));
            vec![label(measure, pair), number(aged), number(unaged), number(ratio(aged, unaged))]
        });
        output::table(&[&pair.name, "aged", "unaged", "aged/unaged"], rows)?;
    }
    Ok(())
}
