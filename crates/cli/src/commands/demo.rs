//! `senesce demo`: ages and compares small file systems and writes the report.

use super::compare::Compared;
use crate::args::Demo;
use crate::messages::note;
use crate::output;
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use results::Watch as _;
use run::{AgeSpec, CompareSpec, Location, Replicates, VolumeConfig};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use workload::Method;
use workload::profile::ByProfile;

/// The profile of the demonstration: Windows desktops of 2004.
const PROFILE: &str = "agrawal";

/// Target fullness, lowered for file systems that do not support it.
const FULLNESS: f64 = 0.6;

/// The JSON document of a demonstration.
#[derive(Serialize)]
struct Demonstrated<'a> {
    #[serde(flatten)]
    compared: Compared<'a>,
    /// The page.
    report: &'a Path,
}

pub fn run(args: &Demo) -> Result<()> {
    let mut progress = Progress::new();
    let work = std::path::absolute(&args.work).context("finding the work directory")?;
    let mut kinds = Vec::new();
    for kind in fs::kinds() {
        // Skips file systems that need a virtual machine, which is slow.
        if !fs::can_mount(*kind) {
            continue;
        }
        match fs::ready(*kind) {
            Ok(()) => kinds.push(*kind),
            Err(why) => progress.say(&format!("{} skipped: {why}", kind.name())),
        }
    }
    if kinds.is_empty() {
        bail!("no file system can be made on this machine; `senesce doctor` shows what is missing");
    }
    let mut agings = Vec::new();
    for number in 0..args.agings {
        for kind in &kinds {
            agings.push(spec(args, &work, *kind, number)?);
        }
    }
    agings.iter().try_for_each(run::discard)?;
    let comparison = CompareSpec {
        aged: Vec::new(),
        work: work.clone(),
        repeat: args.repeat,
        reader: probe::Reader::Grep,
        disk: None,
        new_file: true,
        resume: false,
        command: super::command_line(),
    };
    let pairs = run::replicate(&agings, &comparison, false, &mut progress)?;
    drop(progress);
    let conditions = Replicates::group(&pairs);
    if !args.json {
        super::compare::show(&conditions)?;
    }
    let page = work.join("report.html");
    let names: Vec<String> = agings.into_iter().map(|spec| spec.name).collect();
    super::report::write(&results::StoreLocation::of_work_dir(&work), &names, &page)?;
    if args.json {
        return output::json(&Demonstrated { compared: Compared::of(&conditions, &pairs), report: &page });
    }
    note(&format!("\nThe report: {}", page.display()));
    Ok(())
}

/// The aging with this number. The first has the name of its file system and stays.
fn spec(args: &Demo, work: &Path, kind: &dyn fs::FileSystem, number: u64) -> Result<AgeSpec> {
    let seed = args.seed.checked_add(number).context("--seed plus --agings exceeds 2^64")?;
    let is_first = number == 0;
    let name = if is_first { kind.name().to_owned() } else { format!("{}-{seed}", kind.name()) };
    let image = Location::Image(work.join(format!("{name}.img")));
    let volume = VolumeConfig {
        mkfs_opts: kind.advised_mkfs_opts(args.size).iter().map(|opt| (*opt).to_owned()).collect(),
        ..VolumeConfig::new(image, kind.name(), args.size)
    };
    let workload = ByProfile {
        profile: profile::load(PROFILE)?,
        method: Method::Planned,
        fullness: Some(FULLNESS.min(kind.max_fullness(args.size))),
        overwrites: None,
        churn: None,
    };
    let command = super::command_line();
    let spec = AgeSpec::new(&name, work.to_owned(), volume, Arc::new(workload), seed, &command);
    Ok(AgeSpec { replicate: !is_first, ..spec })
}
