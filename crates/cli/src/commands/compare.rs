//! `senesce compare`.

use crate::args::{self, Compare};
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use lab::{CompareSpec, Manifest, Pair, Stage};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Pairs {
    pairs: Vec<Pair>,
}

pub fn run(args: &Compare) -> Result<()> {
    let names = if args.names.is_empty() { complete(&args.work.work)? } else { args.names.clone() };
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
    let mut progress = Progress::new();
    let pairs = lab::compare(&spec, &mut progress)?;
    drop(progress);
    if args.json { output::json(&Pairs { pairs }) } else { show(&pairs) }
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
        bail!("{} holds no aged file system; `senesce age` makes one", work.display());
    }
    names.sort();
    Ok(names)
}

/// A table of the pairs: one column a side.
pub fn show(pairs: &[Pair]) -> Result<()> {
    for pair in pairs {
        let (aged, unaged) = (&pair.aged, &pair.unaged);
        let row = |name: &str, a: Option<f64>, u: Option<f64>| {
            let ratio = a.zip(u).filter(|(_, u)| *u != 0.0).map(|(a, u)| a / u);
            vec![name.to_owned(), number(a), number(u), number(ratio)]
        };
        let own_time = pair.modelled_disk != lab::HDD_MODEL;
        let name = format!("scan s/GiB, modelled {}", pair.modelled_disk);
        let own_time = own_time.then(|| row(&name, aged.modelled_s_per_gib, unaged.modelled_s_per_gib));
        // Of a file system that is a tree alone.
        let tree = [
            ("key-order layout score", aged.key_order_layout_score, unaged.key_order_layout_score),
            ("leaves full", aged.leaf_occupancy, unaged.leaf_occupancy),
            ("inner nodes full", aged.inner_node_occupancy, unaged.inner_node_occupancy),
            ("bytes written for each given", aged.tree_write_amplification, unaged.tree_write_amplification),
        ];
        let tree = tree.into_iter().filter(|(_, a, u)| a.or(*u).is_some());
        let tree: Vec<_> = tree.map(|(name, a, u)| row(name, a, u)).collect();
        output::table(
            &[&pair.name, "aged", "unaged", "aged/unaged"],
            own_time
                .into_iter()
                .chain([
                    row(
                        "scan s/GiB, modelled 7200 rpm disk",
                        aged.modelled_hdd_s_per_gib,
                        unaged.modelled_hdd_s_per_gib,
                    ),
                    row("scan s/GiB, measured here", aged.scan_s_per_gib, unaged.scan_s_per_gib),
                    row("dynamic layout score", aged.dynamic_layout_score, unaged.dynamic_layout_score),
                    row("layout score", aged.layout_score, unaged.layout_score),
                    row("scan layout score", aged.scan_layout_score, unaged.scan_layout_score),
                    row(
                        "degree of fragmentation",
                        aged.degree_of_fragmentation,
                        unaged.degree_of_fragmentation,
                    ),
                    row("read requests", aged.scan_requests, unaged.scan_requests),
                    row("free extents", aged.free_extents, unaged.free_extents),
                    row("fragments of a new file", aged.new_file_fragments, unaged.new_file_fragments),
                ])
                .chain(tree),
        )?;
    }
    Ok(())
}
