//! The command `senesce`: arguments in, calls out, nothing else.

mod args;
mod commands;
mod output;
mod progress;
mod units;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Senesce::parse_from(args::words());
    let well = match commands::run(args) {
        Ok(()) => true,
        // Whoever read has read enough.
        Err(error) if is_broken_pipe(&error) => true,
        Err(error) => {
            // One line, whatever a tool below has printed over several.
            let message = message(&error);
            let lines: Vec<&str> = message.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
            eprintln!("senesce: {}", lines.join("; "));
            false
        }
    };
    mpi::end(well);
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// The error and its causes, but for those that the error in front of them has in its words already.
fn message(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said.as_str() {
        "" => cause,
        said if said.contains(&cause) => said.to_owned(),
        said => format!("{said}: {cause}"),
    })
}
