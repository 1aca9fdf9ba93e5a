//! Compares an aged file system with its unaged copy: the same logical tree, copied in directory order to a freshly made file system of the
//! same kind, size and options.

mod layout;
mod measure;
mod pair;
pub(crate) mod unaged;

pub use pair::{Pair, Side, compared_numbers, interval, ratio};

use crate::error::unless_interrupted;
use crate::manifest::Manifest;
use crate::scanned::HDD_MODEL;
use crate::work::Work;
use crate::{Error, space};
use disk::Session;
use disk::model::Model;
use fs::{Location, Target};
use measure::Measuring;
use probe::Reader;
use results::{NewRun, RunId, Store, Watch};
use std::path::PathBuf;

/// Parameters of a comparison.
#[derive(Clone, Debug)]
pub struct CompareSpec {
    /// Aged file systems in the work directory.
    pub aged: Vec<Manifest>,
    /// The work directory.
    pub work: PathBuf,
    /// Number of cold scans of each side.
    pub repeat: u64,
    /// The reader of the files.
    pub reader: Reader,
    /// The disk model for modelled time: a built-in name or a TOML file. By default the model of the disk that holds the file system,
    /// otherwise [`crate::HDD_MODEL`].
    pub disk: Option<String>,
    /// Whether to write a new large file and measure its fragments.
    pub new_file: bool,
    /// Whether to continue an earlier comparison that did not complete.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

/// The disks used to compute the cost of scans.
struct Models {
    /// [`HDD_MODEL`], reported by every comparison.
    hdd: Model,
    /// The model for modelled time.
    modelled: Model,
}

impl Models {
    fn of(spec: &CompareSpec, manifest: &Manifest) -> Result<Models, Error> {
        let hdd = Model::find(HDD_MODEL)?;
        let own = match &manifest.volume.location {
            Location::Modelled { dir, .. } => Some(disk::modelled::model_of(dir)?),
            Location::Image(_) | Location::Device(_) | Location::Dir(_) => None,
        };
        let modelled = match (&spec.disk, own) {
            (Some(asked), _) => Model::find(asked)?,
            (None, Some(own)) if !own.costs_nothing() => own,
            (None, _) => hdd.clone(),
        };
        Ok(Models { hdd, modelled })
    }
}

/// The document that names the model for modelled time.
const MODELLED_DISK: &str = "modelled_disk";

/// The two sides of a comparison.
pub const SUBJECTS: [&str; 2] = ["aged", "unaged"];

/// Compares each file system. Each result is stored immediately.
pub fn compare(spec: &CompareSpec, watch: &mut dyn Watch) -> Result<Vec<Pair>, Error> {
    if spec.repeat == 0 {
        return Err(Error::Refused("--repeat must be at least 1".to_owned()));
    }
    spec.disk.as_deref().map(Model::find).transpose()?;
    let work = Work::take(&spec.work)?;
    let store = work.store()?;
    work.keep();
    spec.aged.iter().map(|manifest| compare_one(spec, manifest, &store, watch)).collect()
}

fn compare_one(
    spec: &CompareSpec,
    manifest: &Manifest,
    store: &Store,
    watch: &mut dyn Watch,
) -> Result<Pair, Error> {
    let models = Models::of(spec, manifest)?;
    let run = start(spec, manifest, &models, store)?;
    let watch = &mut store.record_progress(watch);
    let result = unless_interrupted(sides(spec, manifest, &models, store, run, watch));
    store.end_with(run, &result)?;
    result?;
    Pair::load(store, run)
}

/// The run to record under: a new one, or the last incomplete one with the same parameters.
fn start(spec: &CompareSpec, manifest: &Manifest, models: &Models, store: &Store) -> Result<RunId, Error> {
    let parameters = serde_json::json!({
        "repeat": spec.repeat, "reader": spec.reader, "new_file": spec.new_file, "disk": spec.disk,
        "aged_run": manifest.run,
    });
    let same = |run: &results::Run| {
        run.kind == "compare"
            && run.name == manifest.name
            && run.state != "done"
            && run.parameters == parameters
    };
    if spec.resume
        && let Some(run) = store.runs()?.into_iter().rev().find(same)
    {
        store.resume(run.id)?;
        return Ok(run.id);
    }
    let seed = manifest.seed();
    let run = store.begin(&NewRun {
        kind: "compare",
        name: &manifest.name,
        command: &spec.command,
        seed,
        parameters,
    })?;
    if let Some(aged) = store.document::<serde_json::Value>(manifest.run(), "", "aged")? {
        store.record_document(run, "", "aged", &aged)?;
    }
    store.record_document(run, "", "manifest", manifest)?;
    store.record_document(run, "", MODELLED_DISK, &models.modelled.name())?;
    Ok(run)
}

/// Opens the aged side, makes the unaged copy, measures both, and removes the copy.
fn sides(
    spec: &CompareSpec,
    manifest: &Manifest,
    models: &Models,
    store: &Store,
    run: RunId,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let session = Session::begin()?;
    let mut aged = fs::open(&session, &manifest.volume)?;
    watch.phase(&format!("{}: copying to a fresh file system", manifest.name), None);
    let mut unaged =
        unaged::make(&session, &spec.work, &manifest.name, &manifest.volume, manifest.fill, aged.as_ref())?;
    let mut measuring = Measuring { spec, manifest, models, store, run, watch };
    let measured = {
        let mut targets: [&mut dyn Target; 2] = [aged.as_mut(), unaged.target_mut()];
        let measured = measuring.all(&mut targets);
        measured.map_err(|error| space::of_copy(error, &manifest.volume.location, &spec.work))
    };
    let closed = aged.close();
    let removed = unaged.remove();
    measured?;
    closed?;
    removed
}
