//! The sequential benchmark (Smith & Seltzer 1997, §4) on real file systems: files of each size are created and read, aged
//! beside unaged or alone.

use crate::Error;
use crate::aged_pair::{self, Access, AgedPair, Plan, RunPlan, Subject, Timing, Turn, named};
use crate::rollback::Restored;
use crate::throughput::{Once, Rates, Ratios, settled};
use probe::{FileSet, SequentialPlan};
use results::Watch;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a sequential benchmark is asked to be.
#[derive(Clone, Debug)]
pub struct SequentialSpec {
    /// What it runs on.
    pub on: Subject,
    /// Which files are made.
    pub plan: SequentialPlan,
    /// How many times each size is measured.
    pub runs: u64,
    /// The model whose time is told: a built-in name or a TOML file. Without one it is that of the disk that the file system
    /// lies on, or else [`crate::HDD_MODEL`].
    pub disk: Option<String>,
    /// The full command line, for the record.
    pub command: String,
}

/// What a sequential benchmark gave.
#[derive(Clone, Debug, Serialize)]
pub struct SequentialOutcome {
    /// What it ran on: the name of an aged file system, or a path.
    pub name: String,
    /// How that came to be afterwards what it was before.
    #[serde(flatten)]
    pub kept: Restored,
    /// The model whose time is told.
    pub modelled_disk: String,
    /// How many times each size was measured.
    pub runs: u64,
    /// Which files were made.
    pub plan: SequentialPlan,
    /// What each size gave.
    pub sizes: Vec<SequentialSize>,
}

/// What files of one size gave.
#[derive(Clone, Debug, Serialize)]
pub struct SequentialSize {
    /// Their size.
    pub size_bytes: u64,
    /// How many.
    pub files: u64,
    /// Their directories.
    pub directories: u64,
    /// Rates of creating them, until all is on disk: by side, which is `aged` or `unaged`, or `alone`.
    pub create: BTreeMap<&'static str, Rates>,
    /// Rates of reading them from a cold cache, likewise.
    pub read: BTreeMap<&'static str, Rates>,
    /// Aged over unaged of creating; none where there is one side.
    pub create_ratio: Option<Ratios>,
    /// Aged over unaged of reading.
    pub read_ratio: Option<Ratios>,
}

/// Runs the benchmark of `spec`.
pub fn sequential(spec: &SequentialSpec, watch: &mut dyn Watch) -> Result<SequentialOutcome, Error> {
    let sets = spec.plan.sizes_bytes.iter().map(|size| spec.plan.files_of(*size));
    let sets: Vec<FileSet> = sets.collect::<Result<_, _>>()?;
    let plan = Plan {
        run: Some(RunPlan {
            kind: "probe",
            seed: None,
            parameters: serde_json::json!({
                "benchmark": "sequential",
                "disk": spec.disk,
                "options": {"plan": spec.plan, "runs": spec.runs},
            }),
            command: &spec.command,
        }),
        subject: &spec.on,
        unaged: true,
        access: Access::Creates,
        rewinds: false,
        timing: Timing::Priced(spec.disk.as_deref()),
    };
    let measured = aged_pair::measure(&plan, watch, |pair| {
        has_room(pair, spec.plan.total_bytes)?;
        let sizes: Vec<_> = sets.iter().map(|set| measure(pair, set, spec.runs)).collect::<Result<_, _>>()?;
        pair.record_document("sequential", &sizes)?;
        Ok((pair.model.name().to_owned(), sizes))
    })?;
    let (modelled_disk, sizes) = measured.result;
    Ok(SequentialOutcome {
        name: measured.name,
        kept: measured.restored,
        modelled_disk,
        runs: spec.runs,
        plan: spec.plan.clone(),
        sizes,
    })
}

/// Refuses what the files do not fit on, an eighth more for what describes them.
fn has_room(pair: &AgedPair, bytes: u64) -> Result<(), Error> {
    for (subject, target) in pair.targets() {
        let (free, needed) = (disk::free_bytes(target.root())?, bytes + bytes / 8);
        if free < needed {
            let what = if subject.is_empty() { "it" } else { subject };
            let (free, needed) = (crate::bytes(free), crate::bytes(needed));
            return Err(Error::Refused(format!(
                "the benchmark needs {needed} of free space, but {what} has {free}; use a smaller --total"
            )));
        }
    }
    Ok(())
}

/// Measures files of one size on all sides.
fn measure(pair: &mut AgedPair, set: &FileSet, runs: u64) -> Result<SequentialSize, Error> {
    let what = format!("files of {}", crate::bytes(set.size_bytes));
    let all = pair.each(&what, runs, |turn| once(turn, set))?;
    let rates = |phase: fn(&(Once, Once)) -> Once| -> Vec<Rates> {
        all.iter().map(|(_, runs)| Rates::of(&runs.iter().map(phase).collect::<Vec<_>>())).collect()
    };
    let (create, read) = (rates(|(create, _)| *create), rates(|(_, read)| *read));
    let subjects = || all.iter().map(|(subject, _)| named(subject));
    Ok(SequentialSize {
        size_bytes: set.size_bytes,
        files: set.files,
        directories: set.directories(),
        create_ratio: pair.ratio(&create),
        read_ratio: pair.ratio(&read),
        create: subjects().zip(create).collect(),
        read: subjects().zip(read).collect(),
    })
}

/// Creates, reads and deletes the files on one side.
fn once(turn: &mut Turn, set: &FileSet) -> Result<(Once, Once), Error> {
    let dir = turn.own_dir()?;
    let named = |phase: &str| format!("{phase}_{}", set.size_bytes);
    let create = turn.cold(&named("create"), |target| settled(target, set.create(dir.path())?))?;
    let read = turn.cold(&named("read"), |_| Ok(set.read(dir.path())?))?;
    set.delete(dir.path())?;
    Ok((create, read))
}
