//! Compares an aged file system with its unaged copy: the same logical tree, copied in directory order to a freshly made file system of the
//! same kind, size and options.

mod condition;
mod discard;
mod layout;
mod makeable;
mod matrix;
mod pair;
mod parallel;
mod recorded;
mod replicate;
mod replicates;
pub(crate) mod unaged;

pub(crate) use condition::names;
pub use condition::{Condition, Differing, fact};
pub use discard::discard;
pub use makeable::makeable;
pub use matrix::{Cell, Effect, Matrix, Shift};
pub(crate) use pair::{Identity, median, ratio};
pub use pair::{Pair, Side, compared_numbers};
pub use recorded::last_compared;
pub use replicate::replicate;
pub use replicates::{Contrast, Headline, Means, Replicates};

use crate::aged_pair::{self, Access, Plan, RunPlan, Subject, Timing, UnagedSide};
use crate::scanned::HDD_MODEL;
use crate::survey::{Cache, Detail, Survey};
use crate::{Error, space};
use disk::model::Model;
use probe::Reader;
use results::Watch;
use results::measures::{MODELLED_HDD_S_PER_GIB, MODELLED_S_PER_GIB};
use std::path::PathBuf;
use std::time::Duration;

/// Parameters of a comparison.
#[derive(Clone, Debug)]
pub struct CompareSpec {
    /// Names of aged file systems in the work directory.
    pub aged: Vec<String>,
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

/// The kind of its runs in the store.
pub(crate) const KIND: &str = "compare";

/// The parameters of a comparison that are part of its condition.
const CONDITION_PARAMETERS: [&str; 1] = ["reader"];

/// The document that names the model for modelled time.
const MODELLED_DISK: &str = "modelled_disk";

/// The two sides of a comparison.
pub const SUBJECTS: [&str; 2] = ["aged", "unaged"];

impl CompareSpec {
    /// What the comparison is recorded with.
    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({
            "repeat": self.repeat, "reader": self.reader, "new_file": self.new_file, "disk": self.disk,
        })
    }
}

/// Compares each file system. Each result is stored immediately.
pub fn compare(spec: &CompareSpec, watch: &mut dyn Watch) -> Result<Vec<Pair>, Error> {
    if spec.repeat == 0 {
        return Err(Error::Refused("--repeat must be at least 1".to_owned()));
    }
    spec.aged.iter().map(|name| compare_one(spec, name, watch)).collect()
}

/// Compares one file system. The disk for modelled time is that of [`CompareSpec::disk`], the modelled disk below, or [`HDD_MODEL`].
fn compare_one(spec: &CompareSpec, name: &str, watch: &mut dyn Watch) -> Result<Pair, Error> {
    let parameters = spec.parameters();
    let subject = Subject::Aged { work: spec.work.clone(), name: name.to_owned() };
    let plan = Plan {
        run: Some(RunPlan {
            kind: KIND,
            seed: None,
            parameters,
            command: &spec.command,
            resume: spec.resume,
        }),
        subject: &subject,
        unaged: Some(UnagedSide::Copy),
        access: Access::Samples,
        rewinds: false,
        timing: Timing::Priced(spec.disk.as_deref()),
    };
    let measured = aged_pair::measure(&plan, watch, |pair| {
        pair.record_document(MODELLED_DISK, &pair.model.name())?;
        let model = pair.model.clone();
        let survey = Survey {
            repeat: spec.repeat,
            quiet: Duration::ZERO,
            cache: Cache::Cold(spec.reader),
            costs: &[
                (MODELLED_HDD_S_PER_GIB.instance(), Model::find(HDD_MODEL)?),
                (MODELLED_S_PER_GIB.instance(), model.clone()),
            ],
            causes_on: Some(&model),
            detail: Detail::Documents,
            new_file: spec.new_file,
        };
        let location = pair.volume.map(|volume| &volume.location);
        let surveyed = survey.run(pair);
        surveyed.map_err(|error| match location {
            Some(location) => space::of_copy(error, location, &spec.work),
            None => error,
        })?;
        let (store, run) = pair.run().expect("a comparison is recorded");
        Pair::load(store, &store.run(run)?)
    })?;
    Ok(measured.result)
}
