//! Imports published results to the store, for comparison with our own.

use crate::Error;
use crate::work::Work;
use bench::metadata::{self, ImportedPhase, ImportedResults};
use results::measures::{self, MeasureInstance};
use results::{Measurement, NewRun, Store};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file of results.
#[derive(Clone, Debug, Serialize)]
pub struct ImportedFile {
    /// The path.
    pub file: PathBuf,
    /// Its contents.
    #[serde(flatten)]
    pub imported: ImportedResults,
}

/// Imports result files of the metadata benchmark to the store of the work directory, each as a separate run. If a file cannot be read,
/// nothing is recorded.
pub fn import_metadata(files: &[PathBuf], work: &Path, command: &str) -> Result<Vec<ImportedFile>, Error> {
    let all = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let work = Work::take(work)?;
    let store = work.store()?;
    work.keep();
    all.iter().try_for_each(|one| record(&store, one, command))?;
    Ok(all)
}

fn read(file: &Path) -> Result<ImportedFile, Error> {
    let bytes = input::read(file).map_err(Error::io("reading", file))?;
    let imported = metadata::import(&String::from_utf8_lossy(&bytes))
        .map_err(|why| Error::Refused(format!("{}: {why}", file.display())))?;
    Ok(ImportedFile { file: file.to_owned(), imported })
}

fn record(store: &Store, one: &ImportedFile, command: &str) -> Result<(), Error> {
    let name = one.file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let run = store.begin(&NewRun {
        kind: "metadata-import",
        name: &name,
        command,
        seed: None,
        parameters: serde_json::json!({ "file": one.file, "settings": one.imported.settings }),
    })?;
    let of_all = one.imported.phases.iter().filter(|phase| phase.rank.is_none());
    let numbers: Vec<Measurement> = of_all.flat_map(numbers).collect();
    let recorded = store
        .record_all(run, &numbers)
        .and_then(|()| store.record_document(run, "", "imported", &one.imported));
    store.end_with(run, &recorded)?;
    Ok(recorded?)
}

/// The same measures as for our own runs, as far as the file contains them.
fn numbers(phase: &ImportedPhase) -> Vec<Measurement> {
    let one = |measure: MeasureInstance, value: f64| {
        measure.measurement(phase.phase.name(), u64::from(phase.iteration) + 1, value)
    };
    let mut numbers = vec![one(measures::OBJECTS_PER_S.instance(), phase.objects_per_s)];
    numbers.extend(phase.objects.map(|objects| one(measures::OBJECTS.instance(), objects as f64)));
    numbers.extend(phase.mib_per_s.map(|rate| one(measures::MIB_PER_S.instance(), rate)));
    numbers.extend(phase.errors.map(|errors| one(measures::ERRORS.instance(), errors as f64)));
    numbers.extend(phase.time_s.map(|time| one(measures::TIME_S.instance(), time)));
    for (op, quantiles) in &phase.latency_us {
        let latency = |(quantile, us): (&String, &f64)| {
            let measure = measures::LATENCIES.iter().find(|measure| measure.name == format!("*_{quantile}"));
            measure.map(|measure| one(measure.of(op), *us))
        };
        numbers.extend(quantiles.iter().filter_map(latency));
    }
    numbers
}
