//! The sequential benchmark (Smith & Seltzer 1997, §4) on real file systems: creates and reads files of each size, on an aged file system
//! and its unaged copy, or on a single one.

use crate::Error;
use crate::aged_pair::{self, Access, AgedPair, Plan, Subject, Turn, named};
use crate::rollback::Restored;
use crate::throughput::{Once, Rates, Ratios, synced};
use probe::{FileSet, SequentialPlan};
use results::Watch;
use serde::Serialize;
use std::collections::BTreeMap;

/// Parameters of the sequential benchmark.
#[derive(Clone, Debug)]
pub struct SequentialSpec {
    /// The subject.
    pub on: Subject,
    /// The files to create.
    pub plan: SequentialPlan,
    /// Number of measurements of each size.
    pub runs: u64,
    /// The disk model for modelled time: a built-in name or a TOML file. By default the model of the disk that holds the file system,
    /// otherwise [`crate::HDD_MODEL`].
    pub disk: Option<String>,
    /// The full command line, for the record.
    pub command: String,
}

/// The result of the sequential benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct SequentialOutcome {
    /// The subject: the name of an aged file system, or a path.
    pub name: String,
    /// How the subject was rolled back.
    #[serde(flatten)]
    pub kept: Restored,
    /// The disk model for modelled time.
    pub modelled_disk: String,
    /// Number of measurements of each size.
    pub runs: u64,
    /// The created files.
    pub plan: SequentialPlan,
    /// The result of each size.
    pub sizes: Vec<SequentialSize>,
}

/// The result of files of one size.
#[derive(Clone, Debug, Serialize)]
pub struct SequentialSize {
    /// File size.
    pub size_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Number of directories.
    pub directories: u64,
    /// Create rates, including the final sync, by side: `aged` and `unaged`, or `alone`.
    pub create: BTreeMap<&'static str, Rates>,
    /// Read rates from a cold cache, likewise.
    pub read: BTreeMap<&'static str, Rates>,
    /// Aged over unaged create rate; `None` if there is only one side.
    pub create_ratio: Option<Ratios>,
    /// Aged over unaged read rate.
    pub read_ratio: Option<Ratios>,
}

/// Runs the benchmark.
pub fn sequential(spec: &SequentialSpec, watch: &mut dyn Watch) -> Result<SequentialOutcome, Error> {
    let sets = spec.plan.sizes_bytes.iter().map(|size| spec.plan.files_of(*size));
    let sets: Vec<FileSet> = sets.collect::<Result<_, _>>()?;
    let options = serde_json::json!({ "plan": spec.plan, "runs": spec.runs });
    let disk = spec.disk.as_deref();
    let plan = Plan::probe("sequential", &spec.on, Access::Creates, disk, &options, &spec.command);
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

/// Refuses file systems without space for the files and an eighth more for metadata.
fn has_room(pair: &AgedPair, bytes: u64) -> Result<(), Error> {
    for (subject, target) in pair.targets() {
        let (free, needed) = (disk::free_bytes(target.root())?, bytes + bytes / 8);
        if free < needed {
            let what = if subject.is_empty() { "it" } else { subject };
            let (free, needed) = (input::bytes(free), input::bytes(needed));
            return Err(Error::Refused(format!(
                "the benchmark needs {needed} of free space, but {what} has {free}; use a smaller --total"
            )));
        }
    }
    Ok(())
}

/// Measures files of one size on all sides.
fn measure(pair: &mut AgedPair, set: &FileSet, runs: u64) -> Result<SequentialSize, Error> {
    let what = format!("files of {}", input::bytes(set.size_bytes));
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
    let create = turn.cold(&named("create"), |target| synced(target, set.create(dir.path())?))?;
    let read = turn.cold(&named("read"), |_| Ok(set.read(dir.path())?))?;
    set.delete(dir.path())?;
    Ok((create, read))
}
