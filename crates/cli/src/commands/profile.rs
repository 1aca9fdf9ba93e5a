//! `senesce profile`.

use crate::args::{AgeBy, ProfileAction};
use crate::messages::note;
use crate::output;
use anyhow::{Context as _, Result, bail};
use profile::Profile;
use serde::Serialize;
use std::path::Path;

pub fn run(action: &ProfileAction) -> Result<()> {
    match action {
        ProfileAction::List(args) => list(args.json),
        ProfileAction::Show { name, plot, json } => show(name, *plot, *json),
        ProfileAction::Check { name, json } => check(name, *json),
        ProfileAction::Capture { path, output, name, age_by, threads, json } => {
            let threads = threads.map_or_else(default_threads, usize::from);
            capture(path, output, name.as_deref(), *age_by, threads, *json)
        }
    }
}

/// A profile in a list.
#[derive(Serialize)]
struct Summary {
    name: String,
    year: u16,
    title: String,
    source: String,
    bound_operations_per_file: f64,
    bound_overwrites: f64,
}

impl Summary {
    fn of(profile: &Profile) -> Summary {
        Summary {
            name: profile.name.clone(),
            year: profile.year,
            title: profile.title.clone(),
            source: profile.source.clone(),
            bound_operations_per_file: profile.bound_operations_per_file(),
            bound_overwrites: profile.bound_overwrites(profile.fullness.unwrap_or(0.8)),
        }
    }
}

fn list(json: bool) -> Result<()> {
    let summaries =
        profile::builtin().map(|name| Ok(Summary::of(&profile::load(name)?))).collect::<Result<Vec<_>>>()?;
    if json {
        return output::json(&summaries);
    }
    output::table(
        &["profile", "year", "operations/file", "overwrites", "what"],
        summaries.into_iter().map(|s| {
            let (operations, overwrites) = (s.bound_operations_per_file, s.bound_overwrites);
            vec![s.name, s.year.to_string(), format!("{operations:.1}"), format!("{overwrites:.1}"), s.title]
        }),
    )
}

fn show(name: &Path, plot: bool, json: bool) -> Result<()> {
    let profile = profile::load(name)?;
    if json {
        output::json(&profile)
    } else if plot {
        output::line(profile::plot(&profile).trim_end())
    } else {
        output::line(profile.to_toml().trim_end())
    }
}

fn check(name: &Path, json: bool) -> Result<()> {
    let summary = Summary::of(&profile::load(name)?);
    if json {
        return output::json(&summary);
    }
    output::line(&format!(
        "{}: valid profile; its age distribution needs {:.1} operations per file, {:.1} overwrites",
        summary.name, summary.bound_operations_per_file, summary.bound_overwrites
    ))
}

/// Two threads per processor: a directory walk mostly waits for the disk.
fn default_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

fn capture(
    path: &Path,
    to: &Path,
    name: Option<&str>,
    age_by: AgeBy,
    threads: usize,
    json: bool,
) -> Result<()> {
    let stem = to.file_stem().map(|s| s.to_string_lossy().into_owned());
    let Some(name) = name.map(str::to_owned).or(stem) else { bail!("{} is not a file name", to.display()) };
    let age_by = match age_by {
        AgeBy::Birth => profile::AgeBy::Birth,
        AgeBy::Modification => profile::AgeBy::Modification,
    };
    let captured = profile::capture(path, &name, age_by, threads)?;
    for (path, why) in &captured.unreadable_examples {
        note(&format!("cannot read {}: {why}", path.display()));
    }
    std::fs::write(to, captured.profile.to_toml()).with_context(|| format!("writing {}", to.display()))?;
    if json {
        return output::json(&serde_json::json!({
            "files": captured.files,
            "directories": captured.directories,
            "bytes": captured.bytes,
            "hard_links": captured.hard_links,
            "other": captured.other,
            "without_birth": captured.without_birth,
            "other_file_systems": captured.other_file_systems,
            "unreadable": captured.unreadable,
            "merged_ages": captured.merged_ages,
            "profile": captured.profile,
        }));
    }
    output::line(&format!(
        "{} files, {} directories, {}; the age distribution needs {:.1} operations per file",
        captured.files,
        captured.directories,
        input::bytes(captured.bytes),
        captured.profile.bound_operations_per_file()
    ))?;
    let counts = [
        (captured.hard_links, "hard links (files counted once)"),
        (captured.other, "special files (left out)"),
        (captured.without_birth, "files without a creation time (modification time used)"),
        (captured.other_file_systems, "mount points (not entered)"),
        (captured.unreadable, "unreadable entries"),
        (captured.merged_ages as u64, "youngest age bins merged, to limit the operations needed"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        output::line(&format!("{count} {what}"))?;
    }
    Ok(())
}
