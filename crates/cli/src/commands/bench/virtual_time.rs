//! Benchmarks in virtual time: what is measured, and the command inside the machines.

use super::self_command;
use crate::args::{ClockArgs, MeasuringClock};
use crate::commands::age::mkfs_opts;
use crate::commands::vm_dispatch::requested_kernels;
use crate::output;
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use run::RankCommands;
use run::virtual_time::{self, VirtualTimeSpec};

/// The commands of the metadata benchmark.
pub const RANK_COMMANDS: RankCommands = RankCommands {
    rank: || self_command("metadata-rank"),
    subprocess: || self_command("metadata-subprocess"),
};

/// What is measured in virtual time; `None` in that of this machine.
pub fn spec(clock: &ClockArgs) -> Result<Option<VirtualTimeSpec>> {
    if clock.clock == MeasuringClock::Wall {
        if !clock.kernel.is_empty() || !clock.mkfs_opts.is_empty() {
            bail!("--kernel and --mkfs-opts compare in virtual time: add --clock virtual");
        }
        return Ok(None);
    }
    Ok(Some(VirtualTimeSpec {
        seeds: clock.seeds,
        kernels: requested_kernels(&clock.kernel, &clock.modules)?,
        mkfs_opts: clock.mkfs_opts.iter().map(|options| mkfs_opts(options)).collect(),
    }))
}

/// Does the job on standard input, and prints its result.
pub fn perform() -> Result<()> {
    // It makes and changes file systems without asking.
    if !vm::has_virtual_clock() {
        bail!("this command runs only in a virtual machine: use `senesce bench … --clock virtual`");
    }
    let text = std::io::read_to_string(std::io::stdin()).context("reading the job")?;
    let job = serde_json::from_str(&text).context("parsing the job")?;
    output::json(&virtual_time::perform(job, &RANK_COMMANDS, &mut Progress::new())?)
}
