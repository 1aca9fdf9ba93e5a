//! The benchmark of hot files (Smith & Seltzer 1997, §4) on real file systems: those that were modified last are read, and
//! overwritten in place, aged beside unaged or alone.

use crate::Error;
use crate::aged_pair::{self, Access, AgedPair, Plan, RunPlan, Subject, Timing, named};
use crate::manifest::Manifest;
use crate::rollback::{Restored, RollbackMethod};
use crate::throughput::{Rates, Ratios, settled};
use fs::Target;
use probe::{Age, Heat, HotFiles, HotLayout, Transfer};
use results::Watch;
use results::measures::{self, Measure};
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
    pub on: Subject,
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
        Subject::Aged { work, name } => of_aged(&Manifest::load_aged(work, name)?, spec.chosen)?,
        Subject::Alone { .. } => {
            let usual = Chosen::Days { days: PUBLISHED_DAYS, now_unix_s: None };
            (heat(spec.chosen.unwrap_or(usual), Age::Modified), false)
        }
    };
    let overwrites = spec.overwrite || restored;
    let plan = Plan {
        run: Some(RunPlan {
            kind: "probe",
            seed: None,
            parameters: serde_json::json!({
                "benchmark": "hot-files",
                "disk": spec.disk,
                "options": {"heat": heat, "runs": spec.runs, "overwrites": overwrites},
            }),
            command: &spec.command,
        }),
        subject: &spec.on,
        unaged: true,
        access: if overwrites { Access::Overwrites } else { Access::Reads },
        rewinds: false,
        timing: Timing::Priced(spec.disk.as_deref()),
    };
    let measured = aged_pair::measure(&plan, watch, |pair| measure(pair, &heat, spec.runs, overwrites))?;
    Ok(HotFilesOutcome { name: measured.name, kept: measured.restored, measured: measured.result })
}

/// Measures the hot files on all sides. They are found on the first; the other has the same tree.
fn measure(pair: &mut AgedPair, heat: &Heat, runs: u64, overwrites: bool) -> Result<HotFilesMeasured, Error> {
    let (_, first) = pair.targets().next().expect("there is a side");
    let hot = HotFiles::of(first.root(), heat)?;
    if hot.files() == 0 {
        return Err(Error::Refused("no file is hot; use a larger share or more days".to_owned()));
    }
    if matches!(heat, Heat::Days { .. }) && hot.share_of_files() == Some(1.0) {
        pair.watch.say("all files are hot: if the file times are not the history of this tree, give a share");
    }
    let layout = |(_, target): (_, &dyn Target)| {
        if !target.maps_files() {
            return Ok(None);
        }
        hot.layout(target.root(), target.block_bytes(), target.max_extent_bytes())
    };
    let layouts: Vec<Option<HotLayout>> = pair.targets().map(layout).collect::<Result<_, _>>()?;
    record(pair, &hot, &layouts)?;
    let read = rates(pair, "read", runs, |target| Ok(hot.read(target.root())?))?;
    let overwrite = |target: &dyn Target| settled(target, hot.overwrite(target.root())?);
    let overwrite = overwrites.then(|| rates(pair, "overwrite", runs, overwrite)).transpose()?;
    let of_side = |side: usize| HotFilesSide {
        layout: layouts[side],
        read: read[side],
        overwrite: overwrite.as_ref().map(|rates| rates[side]),
    };
    let sides = pair.targets().enumerate().map(|(n, (subject, _))| (named(subject), of_side(n)));
    let measured = HotFilesMeasured {
        modelled_disk: pair.model.name().to_owned(),
        runs,
        heat: *heat,
        files: hot.files(),
        bytes: hot.bytes(),
        share_of_files: hot.share_of_files(),
        share_of_space: hot.share_of_space(),
        sides: sides.collect(),
        read_ratio: pair.ratio(&read),
        overwrite_ratio: overwrite.as_ref().and_then(|rates| pair.ratio(rates)),
    };
    pair.record_document("hot_files", &measured)?;
    Ok(measured)
}

/// Records which files are hot, and how they lie.
fn record(pair: &AgedPair, hot: &HotFiles, layouts: &[Option<HotLayout>]) -> Result<(), results::Error> {
    let mut numbers = vec![
        measures::HOT_FILES.once("", hot.files() as f64),
        measures::HOT_BYTES.once("", hot.bytes() as f64),
    ];
    let one =
        |subject: &str, measure: Measure, value: Option<f64>| value.map(|value| measure.once(subject, value));
    numbers.extend(one("", measures::HOT_SHARE_OF_FILES, hot.share_of_files()));
    numbers.extend(one("", measures::HOT_SHARE_OF_SPACE, hot.share_of_space()));
    for ((subject, _), layout) in pair.targets().zip(layouts) {
        numbers.extend(one(
            subject,
            measures::HOT_LAYOUT_SCORE,
            layout.and_then(|layout| layout.layout_score),
        ));
    }
    pair.record(&numbers)
}

/// The rates of a phase by side.
fn rates(
    pair: &mut AgedPair,
    phase: &str,
    runs: u64,
    work: impl Fn(&dyn Target) -> Result<Transfer, Error>,
) -> Result<Vec<Rates>, Error> {
    let all =
        pair.each(&format!("{phase} hot files"), runs, |turn| turn.cold(&format!("hot_{phase}"), &work))?;
    Ok(all.iter().map(|(_, once)| Rates::of(once)).collect())
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
    let undone = RollbackMethod::at(&manifest.made.home) != RollbackMethod::CleanedUp;
    Ok((heat(chosen, age), undone))
}

fn heat(chosen: Chosen, by: Age) -> Heat {
    match chosen {
        Chosen::Days { days, now_unix_s } => Heat::Days { days, now_unix_s },
        Chosen::Share(share) => Heat::Youngest { share, by },
    }
}
