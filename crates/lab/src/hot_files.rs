//! The benchmark of hot files (Smith & Seltzer 1997, §4) on real file systems: those that were modified last are read, and
//! overwritten in place, aged beside unaged or alone.

use crate::Error;
use crate::kept::{Kept, Restored};
use crate::manifest::Manifest;
use crate::sides::{self, Access, On, Side, Sides, Task};
use crate::throughput::{Rates, Ratios, settled};
use fs::Target;
use probe::{Age, Heat, HotFiles, HotLayout, Transfer};
use results::{Watch, number};
use serde::Serialize;
use std::collections::BTreeMap;

/// The days within which a hot file of the published file system was modified.
pub const PUBLISHED_DAYS: f64 = 30.0;

/// The share of all files that was hot in the published file system.
pub const PUBLISHED_SHARE: f64 = 0.095;

/// What a benchmark of hot files is asked to be.
#[derive(Clone, Debug)]
pub struct HotFilesSpec {
    /// What it runs on.
    pub on: On,
    /// Which files are hot; without it those modified in the last [`PUBLISHED_DAYS`], or, on an aged file system, whose times are
    /// those of its aging, the youngest [`PUBLISHED_SHARE`].
    pub chosen: Option<Chosen>,
    /// Whether files are overwritten where that cannot be undone. On aged images and modelled disks they always are.
    pub overwrite: bool,
    /// How many times each phase is measured.
    pub runs: u64,
    /// The model whose time is told: a built-in name or a TOML file. Without one it is that of the disk that the file system
    /// lies on, or else [`crate::HDD_MODEL`].
    pub disk: Option<String>,
    /// The full command line, for the record.
    pub command: String,
}

/// Which files are hot, as users say it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Chosen {
    /// Those modified within so many days before a moment.
    Days {
        /// How many.
        days: f64,
        /// The moment, in seconds since 1970; without one that of the newest modification.
        now_unix_s: Option<f64>,
    },
    /// The youngest share of all files.
    Share(f64),
}

/// What a benchmark of hot files gave.
#[derive(Clone, Debug, Serialize)]
pub struct HotFilesOutcome {
    /// What it ran on: the name of an aged file system, or a path.
    pub name: String,
    /// How that came to be afterwards what it was before.
    #[serde(flatten)]
    pub kept: Restored,
    /// What was measured.
    #[serde(flatten)]
    pub measured: HotFilesMeasured,
}

/// What was measured of hot files.
#[derive(Clone, Debug, Serialize)]
pub struct HotFilesMeasured {
    /// The model whose time is told.
    pub modelled_disk: String,
    /// How many times each phase was measured.
    pub runs: u64,
    /// Which files were hot.
    pub heat: Heat,
    /// How many they are.
    pub files: u64,
    /// The sum of their sizes.
    pub bytes: u64,
    /// Their share of all files.
    pub share_of_files: Option<f64>,
    /// Their share of the space that files take on disk.
    pub share_of_space: Option<f64>,
    /// What each side gave: `aged` and `unaged`, or `alone`.
    pub sides: BTreeMap<&'static str, HotFilesSide>,
    /// Aged over unaged of reading; none where there is one side.
    pub read_ratio: Option<Ratios>,
    /// Aged over unaged of overwriting.
    pub overwrite_ratio: Option<Ratios>,
}

/// What one side gave.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HotFilesSide {
    /// How the hot files lay before any was overwritten; none where the file system does not tell.
    pub layout: Option<HotLayout>,
    /// Rates of reading them from a cold cache.
    pub read: Rates,
    /// Rates of overwriting them, until all is on disk; none where they were not.
    pub overwrite: Option<Rates>,
}

/// Runs the benchmark of `spec`.
pub fn hot_files(spec: &HotFilesSpec, watch: &mut dyn Watch) -> Result<HotFilesOutcome, Error> {
    let (heat, restored) = match &spec.on {
        On::Aged { work, name } => of_aged(&Manifest::load_aged(work, name)?, spec.chosen)?,
        On::Alone { .. } => {
            let usual = Chosen::Days { days: PUBLISHED_DAYS, now_unix_s: None };
            (heat(spec.chosen.unwrap_or(usual), Age::Modified), false)
        }
    };
    let overwrites = spec.overwrite || restored;
    let task = Task {
        benchmark: "hot-files",
        on: &spec.on,
        access: if overwrites { Access::Overwrites } else { Access::Reads },
        disk: spec.disk.as_deref(),
        options: serde_json::json!({"heat": heat, "runs": spec.runs, "overwrites": overwrites}),
        command: &spec.command,
    };
    let done = sides::run(&task, watch, |sides| measure(sides, &heat, spec.runs, overwrites))?;
    Ok(HotFilesOutcome { name: done.name, kept: done.kept, measured: done.gave })
}

/// Measures the hot files on all sides. They are found on the first; the other has the same tree.
fn measure(sides: &mut Sides, heat: &Heat, runs: u64, overwrites: bool) -> Result<HotFilesMeasured, Error> {
    let hot = HotFiles::of(sides.sides[0].target().root(), heat)?;
    if hot.files() == 0 {
        return Err(Error::Refused("no file is hot; use a larger share or more days".to_owned()));
    }
    if matches!(heat, Heat::Days { .. }) && hot.share_of_files() == Some(1.0) {
        sides
            .watch
            .say("all files are hot: if the file times are not the history of this tree, give a share");
    }
    let layout = |side: &Side| {
        let target = side.target();
        if !target.maps_files() {
            return Ok(None);
        }
        hot.layout(target.root(), target.block_bytes(), target.max_extent_bytes())
    };
    let layouts: Vec<Option<HotLayout>> = sides.sides.iter().map(layout).collect::<Result<_, _>>()?;
    record(sides, &hot, &layouts)?;
    let read = rates(sides, "read", runs, |target| Ok(hot.read(target.root())?))?;
    let overwrite = |target: &dyn Target| settled(target, hot.overwrite(target.root())?);
    let overwrite = overwrites.then(|| rates(sides, "overwrite", runs, overwrite)).transpose()?;
    let of_side = |side: usize| HotFilesSide {
        layout: layouts[side],
        read: read[side],
        overwrite: overwrite.as_ref().map(|rates| rates[side]),
    };
    let named = sides.sides.iter().enumerate().map(|(n, side)| (side.name(), of_side(n)));
    let measured = HotFilesMeasured {
        modelled_disk: sides.model.name().to_owned(),
        runs,
        heat: *heat,
        files: hot.files(),
        bytes: hot.bytes(),
        share_of_files: hot.share_of_files(),
        share_of_space: hot.share_of_space(),
        sides: named.collect(),
        read_ratio: sides.ratio(&read),
        overwrite_ratio: overwrite.as_ref().and_then(|rates| sides.ratio(rates)),
    };
    sides.record_document("hot_files", &measured)?;
    Ok(measured)
}

/// Records which files are hot, and how they lie.
fn record(sides: &Sides, hot: &HotFiles, layouts: &[Option<HotLayout>]) -> Result<(), results::Error> {
    let mut numbers = vec![
        number("", "hot_files", "files", 1, hot.files() as f64),
        number("", "hot_bytes", "B", 1, hot.bytes() as f64),
    ];
    let one = |subject: &str, measure: &str, value: Option<f64>| {
        value.map(|value| number(subject, measure, "share", 1, value))
    };
    numbers.extend(one("", "hot_share_of_files", hot.share_of_files()));
    numbers.extend(one("", "hot_share_of_space", hot.share_of_space()));
    for (side, layout) in sides.sides.iter().zip(layouts) {
        numbers.extend(one(side.subject, "hot_layout_score", layout.and_then(|layout| layout.layout_score)));
    }
    sides.record(&numbers)
}

/// The rates of a phase by side.
fn rates(
    sides: &mut Sides,
    phase: &str,
    runs: u64,
    work: impl Fn(&dyn Target) -> Result<Transfer, Error>,
) -> Result<Vec<Rates>, Error> {
    let all = sides.repeat(&format!("{phase} hot files"), runs, |sides, side, repetition| {
        sides.cold(side, &format!("hot_{phase}"), repetition, &work)
    })?;
    Ok(all.iter().map(|once| Rates::of(once)).collect())
}

/// Which files of an aged file system are hot, and whether what is written to it is undone.
fn of_aged(manifest: &Manifest, chosen: Option<Chosen>) -> Result<(Heat, bool), Error> {
    if !manifest.fill {
        return Err(Error::Refused(format!(
            "{} was not filled with data (--no-fill), so its files have no data to read; age one with data",
            manifest.name
        )));
    }
    // Filling modifies the files of a profile after all of them were made; of other workloads times are as they came.
    let age = if manifest.aged_by.is_some() { Age::Modified } else { Age::Born };
    let chosen = chosen.unwrap_or(Chosen::Share(PUBLISHED_SHARE));
    let undone = Kept::at(&manifest.made.home) != Kept::CleanedUp;
    Ok((heat(chosen, age), undone))
}

fn heat(chosen: Chosen, by: Age) -> Heat {
    match chosen {
        Chosen::Days { days, now_unix_s } => Heat::Days { days, now_unix_s },
        Chosen::Share(share) => Heat::Youngest { share, by },
    }
}
