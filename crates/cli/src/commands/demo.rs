//! `senesce demo`: ages and compares small file systems and writes the report.

use crate::args::Demo;
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use results::{STORE_FILE, Watch as _};
use run::{AgeSpec, CompareSpec, Location, Manifest, VolumeConfig};
use std::path::Path;
use std::sync::Arc;
use workload::Method;
use workload::profile::ByProfile;

/// The profile of the demonstration: Windows desktops of 2004.
const PROFILE: &str = "agrawal";

/// Target fullness, lowered for file systems that do not support it.
const FULLNESS: f64 = 0.6;

pub fn run(args: &Demo) -> Result<()> {
    let mut progress = Progress::new();
    let work = std::path::absolute(&args.work).context("finding the work directory")?;
    let mut names = Vec::new();
    for kind in fs::kinds() {
        // Skips file systems that need a virtual machine, which is slow, and zfs-fuse, which is outdated.
        if !fs::can_mount(*kind) || kind.in_pool() {
            continue;
        }
        if let Err(why) = fs::ready(*kind) {
            progress.say(&format!("{} skipped: {why}", kind.name()));
            continue;
        }
        let name = kind.name().to_owned();
        discard(&work, &name)?;
        progress.say(&format!("== aging {name}, {}, as {PROFILE}", input::bytes(args.size)));
        run::age(&spec(args, &work, *kind)?, &mut progress)?;
        names.push(name);
    }
    if names.is_empty() {
        bail!("no file system can be made on this machine; `senesce doctor` shows what is missing");
    }
    let comparison = CompareSpec {
        aged: names.clone(),
        work: work.clone(),
        repeat: args.repeat,
        reader: probe::Reader::Grep,
        disk: None,
        new_file: true,
        resume: false,
        command: super::command_line(),
    };
    progress.say("== comparing each with its unaged copy");
    let pairs = run::compare(&comparison, &mut progress)?;
    drop(progress);
    super::compare::show(&pairs)?;
    let page = work.join("report.html");
    super::report::write(&results::StoreLocation::of_work_dir(&work), &names, &page)?;
    eprintln!("\nThe report: {}", page.display());
    Ok(())
}

fn spec(args: &Demo, work: &Path, kind: &dyn fs::FileSystem) -> Result<AgeSpec> {
    let name = kind.name();
    let volume = VolumeConfig {
        mkfs_opts: kind.advised_mkfs_opts(args.size).iter().map(|opt| (*opt).to_owned()).collect(),
        ..VolumeConfig::new(Location::Image(work.join(format!("{name}.img"))), name, args.size)
    };
    let workload = ByProfile {
        profile: profile::load(PROFILE)?,
        method: Method::Planned,
        fullness: Some(FULLNESS.min(kind.max_fullness(args.size))),
        overwrites: None,
    };
    let command = super::command_line();
    Ok(AgeSpec::new(name, work.to_owned(), volume, Arc::new(workload), args.seed, &command))
}

/// Removes the images and the manifest of an earlier demonstration with this name, and nothing else.
fn discard(work: &Path, name: &str) -> Result<()> {
    if !work.join(STORE_FILE).is_file() || Manifest::load(work, name)?.is_none() {
        return Ok(());
    }
    // Fails if another run uses the work directory.
    let _lock = disk::WorkLock::take(work)?;
    for file in [format!("{name}.img"), format!("{name}.unaged.img"), format!("{name}.json")] {
        let path = work.join(file);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("removing {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}
