//! The command `senesce`: parses arguments, calls the library crates and prints results.

mod args;
mod commands;
mod completion;
mod config;
mod failure;
mod messages;
mod output;
mod progress;
mod units;
mod version;

use args::Senesce;
use clap::FromArgMatches as _;
use clap::error::ErrorKind;
use clap_complete::CompleteEnv;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // In a virtual machine started by `vm`, this program is the init process.
    if vm::is_init() {
        vm::init();
    }
    complete();
    let argv = args::argv();
    let json = args::wants_json(&argv);
    let status = run(argv).map_or_else(|error| failure::report(&error, json), |()| 0);
    ranks::mpi::finalize(status == 0);
    ExitCode::from(status)
}

fn run(argv: Vec<OsString>) -> anyhow::Result<()> {
    let config = config::Config::load()?;
    match config.apply(args::command()).try_get_matches_from(&argv) {
        Err(error) if error.kind() == ErrorKind::DisplayVersion && args::wants_verbose(&argv) => {
            output::line(&version::long())
        }
        matches => commands::run(Senesce::from_arg_matches(&matches?)?),
    }
}

/// Answers a shell that asks for completions, and exits.
fn complete() {
    let command = || match config::Config::load() {
        Ok(config) => completion::add(config.apply(args::command())),
        // The shell has no place for an error.
        Err(_) => completion::add(args::command()),
    };
    CompleteEnv::with_factory(command).var(commands::COMPLETE_VARIABLE).bin("senesce").complete();
}
