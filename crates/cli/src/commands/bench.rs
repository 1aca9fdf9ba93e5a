//! `senesce bench`.

mod fio;
mod metadata;
mod personality;
mod subject;
mod virtual_time;

use crate::args::BenchKind;
use anyhow::Result;
use ranks::mpi::World;
use std::process::Command;

pub fn run(kind: &BenchKind) -> Result<()> {
    match kind {
        BenchKind::Metadata(args) => metadata::run(args, World::join(::disk::interrupted)?),
        BenchKind::Personality(args) => personality::run(args),
        BenchKind::Fio(args) => fio::run(args),
        BenchKind::MetadataRank => Ok(::bench::metadata::rank_main(&disk::interrupted)?),
        BenchKind::VirtualTimeJob => virtual_time::perform(),
        BenchKind::MetadataSubprocess => {
            Ok(::bench::metadata::subprocess_main(&disk::interrupted, &|| self_command("metadata-rank"))?)
        }
    }
}

/// A command that runs a hidden subcommand of `bench` in another process of this program.
pub fn self_command(part: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["bench", part]);
    command
}
