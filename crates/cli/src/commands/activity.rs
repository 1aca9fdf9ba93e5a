//! `senesce activity`.

use crate::args::{ActivityAction, LogFormat, WatchBy};
use crate::messages::note;
use crate::output;
use crate::progress::Progress;
use anyhow::Result;
use probe::activity::{RecordingGaps, Watcher, utc_offset_s, watch};
use results::Watch as _;
use serde::Serialize;
use snapshot::activity::{ActivitySet, ActivityStat, BPFTRACE_SCRIPT, Collected, Format};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub fn run(action: &ActivityAction) -> Result<()> {
    match action {
        ActivityAction::Record { tree, output, time, by, json } => record(tree, output, *time, *by, *json),
        ActivityAction::Import { from, logs, output, json } => import(*from, logs, output, *json),
        ActivityAction::Script => output::line(BPFTRACE_SCRIPT.trim_end()),
        ActivityAction::Show { set, json } => show(set, *json),
    }
}

/// The JSON document of a recording.
#[derive(Serialize)]
struct Recording {
    watcher: &'static str,
    /// Why fanotify is not used.
    why: Option<String>,
    watched_s: f64,
    overflows: u64,
    without_size: u64,
    unwatched: u64,
    #[serde(flatten)]
    collected: Numbers,
}

/// Counts of the collected profiles.
#[derive(Serialize)]
struct Numbers {
    profiles: usize,
    created: u64,
    short_lived: u64,
    bytes: u64,
    clock_jumps: u64,
}

impl Numbers {
    fn of(collected: &Collected) -> Numbers {
        Numbers {
            profiles: collected.profiles.len(),
            created: collected.created,
            short_lived: collected.profiles.iter().map(|profile| profile.files()).sum(),
            bytes: collected.profiles.iter().map(|profile| profile.bytes()).fold(0, u64::saturating_add),
            clock_jumps: collected.clock_jumps,
        }
    }

    fn print(&self) -> Result<()> {
        let Numbers { profiles, created, short_lived, bytes, .. } = *self;
        let bytes = input::bytes(bytes);
        output::line(&format!(
            "{short_lived} of {created} new files were short-lived: {bytes}, {profiles} profiles"
        ))?;
        warn(
            self.clock_jumps,
            "backward jumps of the clock; events in between have the time before the jump",
        );
        Ok(())
    }
}

fn warn(count: u64, what: &str) {
    if count > 0 {
        note(&format!("{count} {what}"));
    }
}

fn record(tree: &Path, to: &Path, time: Duration, by: Option<WatchBy>, json: bool) -> Result<()> {
    // Checks the output path before the recording, which may take a day.
    ActivitySet::check_path(to)?;
    disk::catch_interrupts();
    let by = by.map(|by| match by {
        WatchBy::Fanotify => Watcher::Fanotify,
        WatchBy::Inotify => Watcher::Inotify,
    });
    let watching = watch(tree, by)?;
    let watcher = watching.watcher().name();
    let why = watching.fallback_reason().map(str::to_owned);
    if let Some(why) = &why {
        note(&format!("{why}: using inotify, which misses very short-lived files in new directories"));
    }
    note(&format!(
        "recording {} with {watcher} for {} s; Ctrl-C stops and keeps the recording",
        tree.display(),
        time.as_secs()
    ));
    let mut progress = Progress::new();
    progress.phase("recording, seconds", Some(time.as_secs()));
    let recorded = watching.record(time, &mut |elapsed| {
        progress.at(elapsed.as_secs());
        disk::interrupted()
    })?;
    drop(progress);
    let watched_s = recorded.duration.as_secs_f64();
    let source = format!("recorded by {watcher} in {watched_s:.0} s");
    let collected = Numbers::of(&recorded.collected);
    ActivitySet { profiles: recorded.collected.profiles, source }.save(to)?;
    let RecordingGaps { overflows, without_size, unwatched } = recorded.gaps;
    if json {
        return output::json(&Recording {
            watcher,
            why,
            watched_s,
            overflows,
            without_size,
            unwatched,
            collected,
        });
    }
    collected.print()?;
    warn(
        overflows,
        "overflows of the kernel queue (files are missing); raise fs.inotify.max_queued_events or fs.fanotify.max_queued_events",
    );
    warn(without_size, "files were deleted before their size was read; the last known size is used");
    warn(
        unwatched,
        "directories could not be watched; raise fs.inotify.max_user_watches, or run as root to use fanotify",
    );
    Ok(())
}

fn import(from: LogFormat, logs: &[PathBuf], to: &Path, json: bool) -> Result<()> {
    let (format, name) = match from {
        LogFormat::Strace => (Format::Strace, "strace"),
        LogFormat::Bpftrace => (Format::Bpftrace, "bpftrace"),
        LogFormat::Nfsdump => (Format::Nfsdump, "nfsdump"),
    };
    ActivitySet::check_path(to)?;
    let imported = snapshot::activity::import(format, logs, &utc_offset_s)?;
    let numbers = Numbers::of(&imported.collected);
    let source = format!("imported from {name}, {} lines", imported.lines);
    ActivitySet { profiles: imported.collected.profiles, source }.save(to)?;
    warn(imported.incomplete_lines, "incomplete last lines skipped");
    if json {
        return output::json(&numbers);
    }
    numbers.print()
}

fn show(set: &Path, json: bool) -> Result<()> {
    let stat = ActivityStat::of(&ActivitySet::load(set)?);
    if json {
        return output::json(&stat);
    }
    let bytes = |bytes: Option<f64>| bytes.map_or("–".to_owned(), |bytes| input::bytes(bytes as u64));
    let rows = [
        ("source", stat.source.clone()),
        ("profiles", stat.profiles.to_string()),
        ("files", stat.files.to_string()),
        ("bytes", input::bytes(stat.bytes)),
        ("files of the largest profile", stat.files_of_largest_profile.to_string()),
        ("lifetime, median (s)", output::number(stat.lifetime_median_s)),
        ("lifetime, mean (s)", output::number(stat.lifetime_mean_s)),
        ("size, median", bytes(stat.size_median_bytes.map(|bytes| bytes as f64))),
        ("size, mean", bytes(stat.size_mean_bytes)),
        ("peak hour", stat.peak_hour.map_or("–".to_owned(), |hour| format!("{hour}:00 to {}:00", hour + 1))),
    ];
    output::table(&["", ""], rows.map(|(name, value)| vec![name.to_owned(), value]))?;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    output::table(
        &["lives less than", "files", "bytes"],
        stat.lifetimes
            .iter()
            .map(|share| vec![format!("{} s", share.below_s), percent(share.files), percent(share.bytes)]),
    )?;
    // The last class has no upper bound.
    let sizes = stat.sizes.iter().filter(|share| share.below_bytes < u64::MAX);
    output::table(
        &["smaller than", "files", "bytes"],
        sizes.map(|share| {
            vec![format!("{} B", share.below_bytes), percent(share.files), percent(share.bytes)]
        }),
    )
}
