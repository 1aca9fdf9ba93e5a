//! The benchmark of hot files (Smith & Seltzer 1997, §4) on real file systems: reads the most recently modified files and overwrites them
//! in place, on an aged file system and its unaged copy, or on a single one.

use crate::Error;
use crate::aged_pair::{self, Access, AgedPair, Plan, Subject, named};
use crate::manifest::Manifest;
use crate::rollback::{Restored, RollbackMethod};
use crate::throughput::{Rates, Ratios, synced};
use fs::Target;
use probe::{FileTime, HotCriterion, HotFiles, HotLayout, Transfer};
use results::Watch;
use results::measures::{self, Measure};
use serde::Serialize;
use std::collections::BTreeMap;

/// Files modified within this number of days were hot in the published file system.
pub const PUBLISHED_DAYS: f64 = 30.0;

/// The share of hot files in the published file system.
pub const PUBLISHED_SHARE: f64 = 0.095;

/// Parameters of the benchmark of hot files.
#[derive(Clone, Debug)]
pub struct HotFilesSpec {
    /// The subject.
    pub on: Subject,
    /// The hot files; by default those modified in the last [`PUBLISHED_DAYS`], or, on an aged file system, whose times stem from its
    /// aging, the youngest [`PUBLISHED_SHARE`].
    pub chosen: Option<Chosen>,
    /// Whether to overwrite files where that cannot be undone. On aged images and modelled disks they are always overwritten.
    pub overwrite: bool,
    /// Number of measurements of each phase.
    pub runs: u64,
    /// The disk model for modelled time: a built-in name or a TOML file. By default the model of the disk that holds the file system,
    /// otherwise [`crate::HDD_MODEL`].
    pub disk: Option<String>,
    /// The full command line, for the record.
    pub command: String,
}

/// How users select the hot files.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Chosen {
    /// Files modified within a number of days before a point in time.
    Days {
        /// Number of days.
        days: f64,
        /// The point in time, in seconds since 1970; by default that of the newest modification.
        now_unix_s: Option<f64>,
    },
    /// The youngest share of all files.
    Share(f64),
}

/// The result of the benchmark of hot files.
#[derive(Clone, Debug, Serialize)]
pub struct HotFilesOutcome {
    /// The subject: the name of an aged file system, or a path.
    pub name: String,
    /// How the subject was rolled back.
    #[serde(flatten)]
    pub kept: Restored,
    /// The measurements.
    #[serde(flatten)]
    pub measured: HotFilesMeasured,
}

/// The measurements of hot files.
#[derive(Clone, Debug, Serialize)]
pub struct HotFilesMeasured {
    /// The disk model for modelled time.
    pub modelled_disk: String,
    /// Number of measurements of each phase.
    pub runs: u64,
    /// The selection of hot files.
    pub heat: HotCriterion,
    /// Number of hot files.
    pub files: u64,
    /// The sum of their sizes.
    pub bytes: u64,
    /// Their share of all files.
    pub share_of_files: Option<f64>,
    /// Their share of the space that files occupy on disk.
    pub share_of_space: Option<f64>,
    /// The result of each side: `aged` and `unaged`, or `alone`.
    pub sides: BTreeMap<&'static str, HotFilesSide>,
    /// Aged over unaged read rate; `None` if there is only one side.
    pub read_ratio: Option<Ratios>,
    /// Aged over unaged overwrite rate.
    pub overwrite_ratio: Option<Ratios>,
}

/// The result of one side.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HotFilesSide {
    /// The layout of the hot files before any was overwritten; `None` if the file system does not report it.
    pub layout: Option<HotLayout>,
    /// Read rates from a cold cache.
    pub read: Rates,
    /// Overwrite rates, including the final sync; `None` if they were not overwritten.
    pub overwrite: Option<Rates>,
}

/// Runs the benchmark.
pub fn hot_files(spec: &HotFilesSpec, watch: &mut dyn Watch) -> Result<HotFilesOutcome, Error> {
    let (heat, restored) = match &spec.on {
        Subject::Aged { work, name } => of_aged(&Manifest::load_aged(work, name)?, spec.chosen)?,
        Subject::Alone { .. } | Subject::Disposable(_) => {
            let usual = Chosen::Days { days: PUBLISHED_DAYS, now_unix_s: None };
            (heat(spec.chosen.unwrap_or(usual), FileTime::Modified), false)
        }
    };
    let overwrites = spec.overwrite || restored;
    let access = if overwrites { Access::Overwrites } else { Access::Reads };
    let options = serde_json::json!({ "heat": heat, "runs": spec.runs, "overwrites": overwrites });
    let plan = Plan::probe("hot-files", &spec.on, access, spec.disk.as_deref(), &options, &spec.command);
    let measured = aged_pair::measure(&plan, watch, |pair| measure(pair, &heat, spec.runs, overwrites))?;
    Ok(HotFilesOutcome { name: measured.name, kept: measured.restored, measured: measured.result })
}

/// Measures the hot files on all sides. They are selected on the first side; the other side has the same tree.
fn measure(
    pair: &mut AgedPair,
    heat: &HotCriterion,
    runs: u64,
    overwrites: bool,
) -> Result<HotFilesMeasured, Error> {
    let (_, first) = pair.targets().next().expect("there is a side");
    let hot = HotFiles::of(first.root(), heat)?;
    if hot.files() == 0 {
        return Err(Error::Refused("no file is hot; use a larger share or more days".to_owned()));
    }
    if matches!(heat, HotCriterion::Days { .. }) && hot.share_of_files() == Some(1.0) {
        pair.watch.say("all files are hot: if the file times are not the history of this tree, give a share");
    }
    let layout = |(_, target): (_, &dyn Target)| {
        if !target.supports_fiemap() {
            return Ok(None);
        }
        hot.layout(target.root(), target.block_bytes(), target.max_extent_bytes())
    };
    let layouts: Vec<Option<HotLayout>> = pair.targets().map(layout).collect::<Result<_, _>>()?;
    record(pair, &hot, &layouts)?;
    let read = rates(pair, "read", runs, |target| Ok(hot.read(target.root())?))?;
    let overwrite = |target: &dyn Target| synced(target, hot.overwrite(target.root())?);
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

/// Records the selection of hot files, and their layout.
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

/// The hot files of an aged file system, and whether writes to it are rolled back.
fn of_aged(manifest: &Manifest, chosen: Option<Chosen>) -> Result<(HotCriterion, bool), Error> {
    if !manifest.fill {
        return Err(Error::Refused(format!(
            "{} was not filled with data (--no-fill), so its files have no data to read; age one with data",
            manifest.name
        )));
    }
    // Filling modifies the files of a profile after all of them were created; other workloads leave meaningful modification times.
    let age = if manifest.aged_by.is_some() { FileTime::Modified } else { FileTime::Born };
    let chosen = chosen.unwrap_or(Chosen::Share(PUBLISHED_SHARE));
    let undone = RollbackMethod::at(&manifest.volume.location) != RollbackMethod::CleanedUp;
    Ok((heat(chosen, age), undone))
}

fn heat(chosen: Chosen, by: FileTime) -> HotCriterion {
    match chosen {
        Chosen::Days { days, now_unix_s } => HotCriterion::Days { days, now_unix_s },
        Chosen::Share(share) => HotCriterion::Youngest { share, by },
    }
}
