//! Planning without a file system.

use super::expected::{ExpectedTime, expected_time};
use super::{AgeSpec, ProfileResult};
use crate::site::Bridge;
use crate::{Error, messages};
use results::Watch;
use serde::Serialize;
use workload::profile::DryRun;

/// The result of planning.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    /// What the aging would reach.
    #[serde(flatten)]
    pub aged: ProfileResult,
    /// Operations planned per second, excluding their digest.
    pub planned_operations_per_s: f64,
    /// Peak memory use of this process, in bytes.
    pub peak_rss_bytes: u64,
    /// How long the aging would take, if an earlier one tells.
    pub expected: Option<ExpectedTime>,
}

/// Plans a whole aging by a profile. Creates nothing except the trace, if one is requested.
pub fn plan_only(spec: &AgeSpec, watch: &mut dyn Watch) -> Result<Planned, Error> {
    let Some(conditions) = spec.conditions() else {
        let why = format!("{} is not planned in advance: only profiles are", spec.workload.kind());
        return Err(Error::Refused(why));
    };
    let dry_run = DryRun::new(&conditions, &spec.terms()?, results::TOOL)?;
    messages::plan(dry_run.plan(), &conditions, watch);
    let planned = dry_run.run(&mut Bridge { watch, save: &mut |_| Ok(()) });
    let (outcome, planned_operations_per_s) = planned.map_err(|error| match error {
        workload::Error::Interrupted => Error::Interrupted("nothing was created".to_owned()),
        error => error.into(),
    })?;
    let aged = ProfileResult::new(spec, outcome, None);
    let expected = expected_time(spec, &aged)?;
    Ok(Planned { aged, planned_operations_per_s, peak_rss_bytes: peak_rss_bytes(), expected })
}

/// `VmHWM` of this process; 0 if the kernel does not report it.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}
