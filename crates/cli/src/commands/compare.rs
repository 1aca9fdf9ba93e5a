//! `senesce compare`.

mod across;
mod first;

use super::outside;
use crate::args::{self, Across, Compare};
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use lab::{CompareSpec, Manifest, Pair, Side, Stage};
use serde::{Deserialize, Serialize};
use std::path::Path;
use vm::Kernel;

/// What is printed as JSON.
#[derive(Serialize, Deserialize)]
struct Pairs {
    pairs: Vec<Pair>,
}

pub fn run(args: &Compare) -> Result<()> {
    let pairs = match vm::inside() {
        Some(inside) => here(args, Some(&inside.kernel))?,
        None => everywhere(args)?,
    };
    match (args.json, args.kernels.across) {
        (true, _) => output::json(&Pairs { pairs }),
        (false, None) => show(&pairs),
        (false, Some(Across::Kernel)) => across::show(&pairs),
    }
}

/// Compares on all kernels that it takes.
fn everywhere(args: &Compare) -> Result<Vec<Pair>> {
    let named = if args.first.fs.is_empty() { named(args)? } else { Vec::new() };
    let mut pairs = Vec::new();
    for place in outside::of_compare(args, &named)? {
        pairs.extend(match place {
            None => here(args, None)?,
            Some(place) => outside::json::<Pairs>(&place)?.pairs,
        });
    }
    Ok(pairs)
}

/// Compares what belongs to this kernel: that of a virtual machine, or this machine's own.
fn here(args: &Compare, kernel: Option<&Kernel>) -> Result<Vec<Pair>> {
    let mut progress = Progress::new();
    let names = if args.first.fs.is_empty() {
        let of_here = |manifest: &Manifest| manifest.made.kernel.as_ref() == kernel;
        named(args)?.into_iter().filter(of_here).map(|manifest| manifest.name).collect()
    } else {
        first::age(args, kernel, &mut progress)?
    };
    let spec = CompareSpec {
        names,
        work: args.work.work.clone(),
        repeat: args.repeat,
        reader: reader(args.reader),
        disk: args.disk.clone(),
        new_file: !args.no_new_file,
        resume: args.resume,
        command: super::command_line(),
    };
    Ok(lab::compare(&spec, &mut progress)?)
}

/// What is to be compared.
fn named(args: &Compare) -> Result<Vec<Manifest>> {
    let names = if args.names.is_empty() { complete(&args.work.work)? } else { args.names.clone() };
    Ok(names.iter().map(|name| Manifest::load_aged(&args.work.work, name)).collect::<Result<_, _>>()?)
}

/// What reads in a scan.
pub fn reader(reader: args::Reader) -> probe::Reader {
    match reader {
        args::Reader::Grep => probe::Reader::Grep,
        args::Reader::Builtin => probe::Reader::Builtin,
    }
}

/// The names of all file systems in the work directory whose aging is complete.
pub fn complete(work: &Path) -> Result<Vec<String>> {
    let entries =
        std::fs::read_dir(work).with_context(|| format!("reading the work directory {}", work.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let Some(name) = name.to_str().and_then(|n| n.strip_suffix(".json")).filter(|n| !n.starts_with('.'))
        else {
            continue;
        };
        if Manifest::load(work, name)?.is_some_and(|manifest| manifest.stage == Stage::Done) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        bail!("{} contains no aged file system; create one with `senesce age`", work.display());
    }
    names.sort();
    Ok(names)
}

/// The value of a measure on a side.
type Of = fn(&Side) -> Option<f64>;

/// A measure: its name, and its value.
type Measure = (String, Of);

/// What is told of a pair.
fn measures(pair: &Pair) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    let mut add = |name: &str, of: Of| measures.push((name.to_owned(), of));
    if pair.modelled_disk != lab::HDD_MODEL {
        add(&format!("scan s/GiB, modelled {}", pair.modelled_disk), |side| side.modelled_s_per_gib);
    }
    add("scan s/GiB, modelled 7200 rpm disk", |side| side.modelled_hdd_s_per_gib);
    add("scan s/GiB, measured here", |side| side.scan_s_per_gib);
    add("dynamic layout score", |side| side.dynamic_layout_score);
    add("layout score", |side| side.layout_score);
    add("scan layout score", |side| side.scan_layout_score);
    add("degree of fragmentation", |side| side.degree_of_fragmentation);
    add("read requests", |side| side.scan_requests);
    add("free extents", |side| side.free_extents);
    add("fragments of a new file", |side| side.new_file_fragments);
    // Of a file system that is a tree alone.
    let tree: [(&str, Of); 4] = [
        ("key-order layout score", |side| side.key_order_layout_score),
        ("leaves full", |side| side.leaf_occupancy),
        ("inner nodes full", |side| side.inner_node_occupancy),
        ("write amplification", |side| side.tree_write_amplification),
    ];
    for (name, of) in tree {
        if of(&pair.aged).or(of(&pair.unaged)).is_some() {
            add(name, of);
        }
    }
    measures
}

/// One number over another, where both are there.
fn over(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).filter(|(_, b)| *b != 0.0).map(|(a, b)| a / b)
}

/// A table of the pairs: one column a side.
pub fn show(pairs: &[Pair]) -> Result<()> {
    for pair in pairs {
        let rows = measures(pair).into_iter().map(|(name, of)| {
            let (aged, unaged) = (of(&pair.aged), of(&pair.unaged));
            vec![name, number(aged), number(unaged), number(over(aged, unaged))]
        });
        output::table(&[&pair.name, "aged", "unaged", "aged/unaged"], rows)?;
    }
    Ok(())
}
