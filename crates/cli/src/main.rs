//! The command `senesce`: arguments in, calls out, nothing else.

mod args;
mod commands;
mod output;
mod progress;
mod units;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // In a virtual machine of ours this is the first process.
    if vm::is_init() {
        vm::init();
    }
    let args = args::Senesce::parse_from(args::argv());
    let status = match commands::run(args) {
        Ok(()) => 0,
        // Whoever read has read enough.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => match error.downcast_ref() {
            // In a virtual machine, where it has said why.
            Some(commands::FailedInVm(status)) => *status,
            None => {
                // One line, whatever a tool below has printed over several.
                let message = message(&error);
                let lines: Vec<&str> = message.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
                eprintln!("senesce: {}", lines.join("; "));
                1
            }
        },
    };
    mpi::end(status == 0);
    ExitCode::from(status)
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
