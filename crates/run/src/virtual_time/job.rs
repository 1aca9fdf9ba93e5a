//! What one machine with a virtual clock does: one measurement on one file system, or the making or aging of one.

use super::age::AgeJob;
use crate::Error;
use crate::aged_pair::{self, Access, Plan, Subject, Timing, Turn};
use crate::bench::virtual_time::once as metadata_once;
use crate::bench::{MetadataJob, RankCommands};
use crate::compare::unaged::Unaged;
use crate::personality::{PersonalityJob, bench_error};
use disk::Session;
use fs::VolumeConfig;
use results::Watch;
use serde::{Deserialize, Serialize};

/// The job of one machine. Volumes are images at their paths inside.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// Makes a fresh file system.
    Make {
        /// The file system.
        fresh: VolumeConfig,
        /// The file system whose tree is copied to it, if any, and whether the files hold data.
        tree: Option<(VolumeConfig, bool)>,
    },
    /// Ages a file system.
    Age(AgeJob),
    /// One repetition of a personality.
    Personality {
        /// The file system.
        on: VolumeConfig,
        /// The personality.
        job: PersonalityJob,
    },
    /// The metadata benchmark.
    Metadata {
        /// The file system.
        on: VolumeConfig,
        /// The benchmark.
        job: MetadataJob,
    },
}

/// The result of a job, as JSON for the process outside.
pub type JobResult = serde_json::Value;

/// Does a job in a machine with a virtual clock.
pub fn perform(job: Job, commands: &RankCommands, watch: &mut dyn Watch) -> Result<JobResult, Error> {
    match job {
        Job::Make { fresh, tree } => {
            let session = Session::begin()?;
            let mut fresh = Unaged::make(&session, fresh)?;
            if let Some((from, filled)) = tree {
                let aged = fs::open(&session, &from.read_only())?;
                fresh.copy_from("the aged file system", filled, aged.as_ref())?;
                aged.close()?;
            }
            fresh.close()?;
            Ok(JobResult::Null)
        }
        Job::Age(job) => Ok(serde_json::to_value(job.perform(watch)?).expect("results serialize")),
        Job::Personality { on, job } => {
            let plan = ::bench::personality::Plan::new(&job.personality, job.seed).map_err(bench_error)?;
            once(on, watch, |turn| job.once(&plan, turn))
        }
        Job::Metadata { on, job } => once(on, watch, |turn| metadata_once(&job, commands, turn)),
    }
}

/// Does a measurement once on a file system that ends with this machine.
fn once<T: Serialize>(
    on: VolumeConfig,
    watch: &mut dyn Watch,
    measurement: impl FnMut(&mut Turn) -> Result<T, Error>,
) -> Result<JobResult, Error> {
    let subject = Subject::Disposable(on);
    let plan = Plan {
        run: None,
        subject: &subject,
        unaged: None,
        access: Access::Creates,
        rewinds: false,
        timing: Timing::Priced(None),
    };
    let measured = aged_pair::measure(&plan, watch, |pair| pair.each("measuring", 1, measurement))?;
    let result = measured.result.into_iter().find_map(|(_, results)| results.into_iter().next());
    Ok(serde_json::to_value(result.expect("there is one side")).expect("results serialize"))
}
