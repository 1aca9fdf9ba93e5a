//! The sequential benchmark (Smith & Seltzer 1997, §4) on real file systems: files of each size are created and read, aged
//! beside unaged or alone.

use crate::Error;
use crate::kept::Restored;
use crate::sides::{self, Access, On, SCRATCH, Sides, Task};
use crate::throughput::{Once, Rates, Ratios, settled};
use disk::Scratch;
use probe::{FileSet, SequentialPlan};
use results::Watch;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a sequential benchmark is asked to be.
#[derive(Clone, Debug)]
pub struct SequentialSpec {
    /// What it runs on.
    pub on: On,
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
    let task = Task {
        benchmark: "sequential",
        on: &spec.on,
        access: Access::Makes,
        disk: spec.disk.as_deref(),
        options: serde_json::json!({"plan": spec.plan, "runs": spec.runs}),
        command: &spec.command,
    };
    let done = sides::run(&task, watch, |sides| {
        has_room(sides, spec.plan.total_bytes)?;
        let sizes: Vec<_> =
            sets.iter().map(|set| measure(sides, set, spec.runs)).collect::<Result<_, _>>()?;
        sides.record_document("sequential", &sizes)?;
        Ok((sides.model.name().to_owned(), sizes))
    })?;
    let (modelled_disk, sizes) = done.gave;
    Ok(SequentialOutcome {
        name: done.name,
        kept: done.kept,
        modelled_disk,
        runs: spec.runs,
        plan: spec.plan.clone(),
        sizes,
    })
}

/// Refuses what the files do not fit on, an eighth more for what describes them.
fn has_room(sides: &Sides, bytes: u64) -> Result<(), Error> {
    for side in &sides.sides {
        let root = side.target().root();
        let (free, needed) = (disk::free_bytes(root)?, bytes + bytes / 8);
        if free < needed {
            let what = if side.subject.is_empty() { "it" } else { side.subject };
            let (free, needed) = (crate::bytes(free), crate::bytes(needed));
            return Err(Error::Refused(format!(
                "the benchmark needs {needed} of free space, but {what} has {free}; use a smaller --total"
            )));
        }
    }
    Ok(())
}

/// Measures files of one size on all sides.
fn measure(sides: &mut Sides, set: &FileSet, runs: u64) -> Result<SequentialSize, Error> {
    let what = format!("files of {}", crate::bytes(set.size_bytes));
    let all = sides.repeat(&what, runs, |sides, side, repetition| one(sides, side, set, repetition))?;
    let rates = |phase: fn(&(Once, Once)) -> Once| -> Vec<Rates> {
        all.iter().map(|side| Rates::of(&side.iter().map(phase).collect::<Vec<_>>())).collect()
    };
    let (create, read) = (rates(|(create, _)| *create), rates(|(_, read)| *read));
    let subjects = || sides.sides.iter().map(|side| side.name());
    Ok(SequentialSize {
        size_bytes: set.size_bytes,
        files: set.files,
        directories: set.directories(),
        create_ratio: sides.ratio(&create),
        read_ratio: sides.ratio(&read),
        create: subjects().zip(create).collect(),
        read: subjects().zip(read).collect(),
    })
}

/// Creates, reads and deletes the files on one side, in a directory of their own.
fn one(sides: &mut Sides, side: usize, set: &FileSet, repetition: u64) -> Result<(Once, Once), Error> {
    let scratch = Scratch::make(sides.session, sides.sides[side].target().root(), SCRATCH)?;
    let place = scratch.path();
    let named = |phase: &str| format!("{phase}_{}", set.size_bytes);
    let create =
        sides.cold(side, &named("create"), repetition, |target| settled(target, set.create(place)?))?;
    let read = sides.cold(side, &named("read"), repetition, |_| Ok(set.read(place)?))?;
    set.delete(place)?;
    Ok((create, read))
}
