//! `senesce compare`.

mod across;
pub mod first;
mod matrix;

use super::vm_dispatch;
use crate::args::{self, Across, Compare};
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use results::measures::{self, MODELLED_S_PER_GIB, Topic};
use results::{Estimate, Measure, STORE_FILE, StoreLocation};
use run::{CompareSpec, Contrast, Headline, Manifest, Matrix, Means, Pair, Replicates, Stage};
use serde::{Deserialize, Serialize};
use std::path::Path;
use vm::Kernel;

/// The comparisons of all agings, in a JSON document of this command or of a virtual machine.
#[derive(Serialize, Deserialize)]
pub struct Pairs {
    pub pairs: Vec<Pair>,
}

/// The JSON document of a comparison.
#[derive(Serialize)]
pub struct Compared<'a> {
    /// The results by condition.
    conditions: &'a [Replicates],
    /// The conditions compared with each other.
    contrasts: Vec<Contrast>,
    /// The conditions by the facts that they differ in.
    #[serde(skip_serializing_if = "Option::is_none")]
    matrix: Option<Matrix>,
    /// The comparisons of all agings.
    pairs: &'a [Pair],
}

impl<'a> Compared<'a> {
    pub fn of(conditions: &'a [Replicates], pairs: &'a [Pair]) -> Compared<'a> {
        let (contrasts, matrix) = (Contrast::of_all(conditions), Matrix::of(conditions));
        Compared { conditions, contrasts, matrix, pairs }
    }
}

pub fn run(args: &Compare) -> Result<()> {
    let named = if args.ages_first() || args.recorded { Vec::new() } else { named(args)? };
    let pairs = match vm::guest_environment() {
        _ if args.recorded => recorded(args)?,
        Some(guest) => compare_here(args, named, Some(&guest.kernel))?,
        None => compare_on_all_kernels(args, &named)?,
    };
    let conditions = Replicates::group(&pairs);
    if args.json {
        return output::json(&Compared::of(&conditions, &pairs));
    }
    if let Some(shard) = args.first.shard {
        return output::line(&format!(
            "part {} of {}: {} agings are compared; when all parts are, put them together with\n  senesce store \
             merge PART… --into DIR/{STORE_FILE}\n  senesce compare --recorded --work DIR",
            shard.number,
            shard.of,
            pairs.len()
        ));
    }
    let is_matrix = args.recorded || !args.first.matrix.is_empty();
    match (Matrix::of(&conditions), args.kernels.across) {
        (Some(matrix), _) if is_matrix => matrix::show(&matrix),
        (_, None) => show(&conditions),
        (_, Some(Across::Kernel)) => across::show(&conditions),
    }
}

/// The last comparison of each name in the store, or of those that are asked for, with or without their seeds.
fn recorded(args: &Compare) -> Result<Vec<Pair>> {
    let store = StoreLocation::of_work_dir(&args.work.work).open_existing()?;
    let runs = store.runs()?;
    let all = run::last_compared(&runs).into_iter().map(|run| Pair::load(&store, run));
    let mut pairs = all.collect::<Result<Vec<_>, _>>()?;
    let is = |name: &String, pair: &Pair| [&pair.name, &pair.name_without_seed()].contains(&name);
    if let Some(missing) = args.names.iter().find(|name| !pairs.iter().any(|pair| is(name, pair))) {
        bail!("{} has no comparison of {missing}", args.work.work.display());
    }
    pairs.retain(|pair| args.names.is_empty() || args.names.iter().any(|name| is(name, pair)));
    if pairs.is_empty() {
        bail!("{} has no comparisons; make some with `senesce compare --fs ext4`", args.work.work.display());
    }
    Ok(pairs)
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
    let here = named.into_iter().filter(|manifest| manifest.volume.kernel.as_ref() == kernel);
    let spec = CompareSpec {
        aged: here.map(|manifest| manifest.name).collect(),
        work: args.work.work.clone(),
        repeat: args.repeat,
        reader: reader(args.reader),
        disk: args.disk.clone(),
        new_file: !args.no_new_file,
        resume: args.resume,
        command: super::command_line(),
    };
    if !args.ages_first() {
        return Ok(run::compare(&spec, &mut progress)?);
    }
    let mut agings = first::agings(args, kernel)?;
    if !args.first.matrix.is_empty() {
        agings = run::makeable(agings, &mut progress)?;
    }
    if let Some(shard) = args.first.shard {
        agings = shard.part_of(agings);
    }
    Ok(run::replicate(&agings, &spec, true, &mut progress)?)
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
    let entries = match std::fs::read_dir(work) {
        // An empty directory has nothing to compare either.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        entries => Some(entries.with_context(|| format!("reading the work directory {}", work.display()))?),
    };
    let mut aged = Vec::new();
    for entry in entries.into_iter().flatten() {
        let name = entry?.file_name();
        let Some(name) = name.to_str().and_then(|n| n.strip_suffix(".json")).filter(|n| !n.starts_with('.'))
        else {
            continue;
        };
        aged.extend(Manifest::load(work, name)?.filter(|manifest| manifest.stage == Stage::Done));
    }
    if aged.is_empty() {
        bail!(
            "{} contains no aged file system; create one with `senesce age`, or age and compare with `senesce compare --fs ext4`",
            work.display()
        );
    }
    aged.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(aged)
}

/// The measures to show of some conditions: those that every comparison shows, and those of a tree.
fn shown(condition: &Replicates) -> impl Iterator<Item = &'static Measure> {
    let is_measured = |measure: &Measure| condition.means(measure).is_some();
    // Another measure already shows the 7200 rpm disk.
    let is_wanted =
        |measure: &Measure| *measure != MODELLED_S_PER_GIB || condition.modelled_disk() != run::HDD_MODEL;
    measures::compared().filter(move |measure| {
        let is_of_tree = measure.topic == Some(Topic::Tree) && is_measured(measure);
        (measure.always && is_wanted(measure)) || is_of_tree
    })
}

fn label(measure: &Measure, condition: &Replicates) -> String {
    match *measure {
        MODELLED_S_PER_GIB => format!("{} {}", measure.label, condition.modelled_disk()),
        _ => measure.label.to_owned(),
    }
}

/// The aged and the unaged side.
fn sides(means: Option<&Means>) -> [Option<&Estimate>; 2] {
    means.map_or([None; 2], |means| [means.aged.as_ref(), means.unaged.as_ref()])
}

/// The mean over the agings.
fn mean(estimate: Option<&Estimate>) -> String {
    number(estimate.map(|estimate| estimate.mean))
}

/// A ratio with its interval.
fn with_interval(estimate: Option<&Estimate>) -> String {
    match estimate.and_then(Estimate::ends) {
        Some((low, high)) => format!("{} [{} – {}]", mean(estimate), number(Some(low)), number(Some(high))),
        None => mean(estimate),
    }
}

/// Prints one table for each condition, with a column for each side, and what it tells; then how the conditions differ.
pub fn show(conditions: &[Replicates]) -> Result<()> {
    for condition in conditions {
        let row = |measure: &Measure| {
            let means = condition.means(measure);
            let [aged, unaged] = sides(means);
            let ratio = means.and_then(|means| means.ratio.as_ref());
            vec![label(measure, condition), mean(aged), mean(unaged), with_interval(ratio)]
        };
        let columns = |first| [first, "aged", "unaged", "aged/unaged"];
        output::table(&columns(&condition.name), shown(condition).map(row))?;
        let causes: Vec<_> =
            measures::of_topic(Topic::Causes).filter(|measure| condition.means(measure).is_some()).collect();
        if !causes.is_empty() {
            let title = format!("modelled {}", condition.modelled_disk());
            output::table(&columns(&title), causes.into_iter().map(row))?;
        }
        for headline in [&condition.modelled, &condition.measured].into_iter().flatten() {
            output::line(&format!("aged against unaged, {}", in_words(headline)))?;
        }
        output::line("")?;
    }
    for contrast in Contrast::of_all(conditions) {
        let Contrast { name, against, aged, unaged, .. } = &contrast;
        output::line(&format!(
            "{name} against {against} ({}), {}:",
            contrast.differing_in_words(),
            aged.how
        ))?;
        output::line(&format!("  aged    {}", aged.verdict.text))?;
        output::line(&format!("  unaged  {}", unaged.verdict.text))?;
    }
    Ok(())
}

fn in_words(headline: &Headline) -> String {
    format!("{}: {}", headline.how, headline.verdict.text)
}
