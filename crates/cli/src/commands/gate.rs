//! `senesce gate`.

mod formats;
mod words;

use super::age::{self, absolute};
use super::compare::{self, Pairs};
use super::vm_dispatch;
use crate::args::{self, Gate, SEED};
use crate::failure::Regressed;
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use results::{StoreLocation, measures};
use run::gate::{Baseline, Judgement, Moved, Movement, Place, Recipe, Rules, Visible};
use run::{Pair, fact};
use serde::Serialize;
use std::path::{Path, PathBuf};
use vm::Kernel;

/// The JSON document of a gate.
#[derive(Serialize)]
struct Document<'a> {
    baseline: &'a Path,
    #[serde(flatten)]
    found: Found,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Found {
    Learnt { pairs: usize, agings: u64, false_alarms: f64, visible: Vec<Visible> },
    Judged(Judgement),
}

/// Series of agings by one recipe, told apart by a part of their names.
struct Plan {
    recipe: Recipe,
    parts: &'static [&'static str],
    seeds: Vec<u64>,
    /// Whether agings in the store are reused.
    reuse: bool,
}

/// The two series of a baseline.
const SERIES: [&str; 2] = ["first", "second"];

pub fn run(args: &Gate) -> Result<()> {
    if let Some(guest) = vm::guest_environment() {
        let plan = if args.learn.is_some() { to_learn(args)? } else { to_test(args, &load(args)?)? };
        return output::json(&Pairs { pairs: age_here(&plan, args, Some(guest.kernel))? });
    }
    match (args.learn, &args.new) {
        (Some(_), _) => learn(args),
        (None, Some(new)) => test(args, &load(args)?, &measured(args, new)?),
        (None, None) => {
            let baseline = load(args)?;
            let pairs = age(&to_test(args, &baseline)?, args)?;
            test(args, &baseline, &pairs)
        }
    }
}

fn load(args: &Gate) -> Result<Baseline> {
    Ok(Baseline::load(&args.against)?)
}

fn learn(args: &Gate) -> Result<()> {
    let path = args.against.display();
    if args.against.exists() {
        bail!("{path} exists: name another file, or remove it");
    }
    // Hours of aging must not end here.
    let dir = absolute(&args.against)?.parent().map(Path::to_owned);
    if !dir.is_some_and(|dir| dir.is_dir()) {
        bail!("{path}: its directory does not exist; make it first");
    }
    let plan = to_learn(args)?;
    let pairs = age(&plan, args)?;
    let series = SERIES.map(|part| {
        let begin = format!("{}-{part}-", plan.recipe.name);
        pairs.iter().filter(|pair| pair.name.starts_with(&begin)).cloned().collect::<Vec<_>>()
    });
    let baseline = Baseline::learn(plan.recipe, [&series[0], &series[1]])?;
    baseline.save(&args.against)?;
    let visible = run::gate::visible(&baseline, args.agings, args.false_alarms);
    if args.json {
        let (pairs, agings, false_alarms) = (baseline.seeds.len(), args.agings, args.false_alarms);
        let found = Found::Learnt { pairs, agings, false_alarms, visible };
        return output::json(&Document { baseline: &args.against, found });
    }
    output::table(
        &["", "side", "baseline", "change seen above"],
        visible.iter().map(|of| {
            let bound = words::unsigned(of.scale, of.bound);
            vec![measures::label(&of.measure), of.side.clone(), number(Some(of.baseline)), bound]
        }),
    )?;
    output::line(&format!(
        "\n{path}: {} pairs; test a change with `senesce gate --against {path}`",
        baseline.seeds.len()
    ))
}

/// Prints and writes what the gate finds.
fn test(args: &Gate, baseline: &Baseline, pairs: &[Pair]) -> Result<()> {
    let rules = Rules {
        false_alarms: args.false_alarms,
        changed: [args.changed.clone(), changed_by_options(args)].concat(),
        measures: args.measures.clone(),
    };
    let judgement = run::gate::judge(baseline, pairs, &rules)?;
    let name = &baseline.recipe.name;
    if let Some(path) = &args.junit {
        write(path, &formats::junit(name, &judgement)?)?;
    }
    if let Some(path) = &args.tap {
        write(path, &formats::tap(&judgement))?;
    }
    if let Some(path) = &args.markdown {
        write(path, &formats::markdown(name, &judgement))?;
    }
    let summary = words::summary(&judgement);
    let regressed = judgement.regressed;
    if args.json {
        output::json(&Document { baseline: &args.against, found: Found::Judged(judgement) })?;
    } else {
        show(&judgement)?;
        if !regressed {
            output::line(&summary)?;
        }
    }
    if regressed { Err(Regressed(summary).into()) } else { Ok(()) }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Prints what moved, the largest changes first.
fn show(judgement: &Judgement) -> Result<()> {
    let moved = |of: &&Moved| of.movement != Movement::Unchanged;
    let mut rows: Vec<&Moved> = judgement.measures.iter().filter(moved).collect();
    if rows.is_empty() {
        return Ok(());
    }
    // By how many times the change exceeds chance, regressions first.
    let key = |of: &Moved| (of.movement != Movement::Regressed, -(of.change / of.bound).abs());
    rows.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("a change is a number"));
    output::table(&words::HEADINGS, rows.into_iter().map(words::row))
}

/// The facts that the options change.
fn changed_by_options(args: &Gate) -> Vec<String> {
    let mut changed = Vec::new();
    changed.extend(args.mkfs_opts.is_some().then_some(fact::MKFS_OPTIONS));
    changed.extend(args.mount_opts.is_some().then_some(fact::MOUNT_OPTIONS));
    changed.extend(args.kernel.kernel.is_some().then_some(fact::KERNEL));
    changed.into_iter().map(str::to_owned).collect()
}

/// Comparisons that were made before: in a file, or by their name in the store.
fn measured(args: &Gate, new: &str) -> Result<Vec<Pair>> {
    let file = Path::new(new);
    if file.is_file() {
        let text = std::fs::read(file).with_context(|| format!("reading {new}"))?;
        let Pairs { pairs } = serde_json::from_slice(&text)
            .with_context(|| format!("{new} is not what `senesce compare --json` prints"))?;
        return Ok(pairs);
    }
    let store = StoreLocation::of_work_dir(&args.work.work).open_read_only()?;
    Ok(run::gate::measured(&store, new)?)
}

fn to_learn(args: &Gate) -> Result<Plan> {
    let (of, pairs) = (&args.recipe, args.learn.expect("to learn"));
    let fs = fs::find(args.fs.as_deref().expect("--learn requires --fs"))?.name().to_owned();
    let aging = age::planned(of.profile.as_deref(), of.fullness, of.overwrites, of.churn)?;
    let profile = &aging.profile.name;
    let name = format!("gate-{fs}-{profile}");
    if !run::can_name(&name) {
        bail!("the profile {profile:?} cannot name a file; use letters, digits and dashes");
    }
    let first = of.seed.unwrap_or(SEED);
    let last = first.checked_add(pairs - 1).context("--seed plus --learn exceeds 2^64")?;
    let recipe = Recipe {
        name,
        fs,
        mkfs_opts: age::mkfs_opts(args.mkfs_opts.as_deref().unwrap_or_default()),
        mount_opts: age::mount_opts(args.mount_opts.as_deref().unwrap_or_default()),
        size_bytes: age::size_or_default(of.size)?,
        memory: of.memory,
        aging,
        repeat: of.repeat.unwrap_or(1),
        reader: compare::reader(of.reader.unwrap_or(args::Reader::Grep)),
        disk: of.disk.clone(),
        new_file: !of.no_new_file,
    };
    Ok(Plan { recipe, parts: &SERIES, seeds: (first..=last).collect(), reuse: args.resume })
}

fn to_test(args: &Gate, baseline: &Baseline) -> Result<Plan> {
    let have = baseline.seeds.len();
    let seeds: Vec<u64> = baseline.seeds.iter().copied().take(usize::try_from(args.agings)?).collect();
    if (seeds.len() as u64) < args.agings {
        bail!("--agings {}: the baseline has {have} seeds; learn one with more pairs", args.agings);
    }
    let mut recipe = baseline.recipe.clone();
    if let Some(options) = &args.mkfs_opts {
        recipe.mkfs_opts = age::mkfs_opts(options);
    }
    if let Some(options) = &args.mount_opts {
        recipe.mount_opts = age::mount_opts(options);
    }
    Ok(Plan { recipe, parts: &["new"], seeds, reuse: false })
}

/// Ages and compares, in a virtual machine or here.
fn age(plan: &Plan, args: &Gate) -> Result<Vec<Pair>> {
    match vm_dispatch::for_gate(args, &plan.recipe)? {
        None => age_here(plan, args, None),
        Some(dispatch) => Ok(vm_dispatch::run_json::<Pairs>(&dispatch)?.pairs),
    }
}

fn age_here(plan: &Plan, args: &Gate, kernel: Option<Kernel>) -> Result<Vec<Pair>> {
    let work = args.work.work.clone();
    let images = if plan.recipe.memory { PathBuf::from(age::MEMORY) } else { absolute(&work)? };
    let place = Place { work, images, kernel, command: super::command_line() };
    let comparison = plan.recipe.comparison(&place);
    let mut progress = Progress::new();
    let mut pairs = Vec::new();
    for part in plan.parts {
        let agings = plan.recipe.agings(&plan.seeds, part, &place);
        if !plan.reuse {
            // What a killed gate left may be of another kernel.
            agings.iter().try_for_each(run::discard)?;
        }
        pairs.extend(run::replicate(&agings, &comparison, plan.reuse, &mut progress)?);
    }
    Ok(pairs)
}
