//! Messages to the user about plans, sizes and failing disks.

use crate::Error;
use disk::modelled::{ModelledDisk, Status};
use fs::Target;
use input::bytes;
use results::Watch;
use workload::{Conditions, Plan};

/// Reports the bound before the start, and the deviations of the plan from the profile.
pub(crate) fn plan(plan: &Plan, conditions: &Conditions, watch: &mut dyn Watch) {
    let profile = &conditions.profile.name;
    watch.say(&format!(
        "{profile}: {} live files, {} ({:.0} % of {}), in {} directories",
        plan.live_files,
        bytes(plan.live_bytes),
        100.0 * conditions.fullness,
        bytes(conditions.capacity_bytes),
        plan.directories
    ));
    watch.say(&format!(
        "bound: {} operations, {:.1} overwrites; planned: {} operations",
        plan.bound_operations, plan.bound_overwrites, plan.operations
    ));
    if let Some(error) = plan.age_rms_error.filter(|&e| e > 0.001) {
        watch.say(&format!("file ages are approximated with a root-mean-square error of {error:.4}"));
    }
    for bin in &plan.omitted_bins {
        let (from, to) = (bytes(bin.lower_bytes), bytes(bin.upper_bytes));
        watch
            .say(&format!("left out: files above {from} up to {to} ({:.4} %) do not fit", 100.0 * bin.share));
    }
}

/// Reports failed requests on a modelled disk, as they occur when its backing store is full.
pub(crate) fn failed_requests(target: &dyn Target, watch: &mut dyn Watch) -> Result<(), Error> {
    let status = target.modelled().map(ModelledDisk::status).transpose()?;
    if let Some(failures) = status.as_ref().and_then(Status::failures) {
        watch.say(&failures);
    }
    Ok(())
}
