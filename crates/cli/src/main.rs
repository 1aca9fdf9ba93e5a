//! The command `senesce`: parses arguments, calls the library crates and prints results.

mod args;
mod commands;
mod output;
mod progress;
mod units;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // In a virtual machine started by `vm`, this program is the init process.
    if vm::is_init() {
        vm::init();
    }
    let args = args::Senesce::parse_from(args::argv());
    let status = match commands::run(args) {
        Ok(()) => 0,
        // The reader closed the pipe, as `head` does.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => match error.downcast_ref() {
            // The command in the virtual machine has already printed the error.
            Some(commands::FailedInVm(status)) => *status,
            None => {
                // Prints one line, even if the error contains several lines of tool output.
                let message = message(&error);
                let lines: Vec<&str> = message.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
                eprintln!("senesce: {}", lines.join("; "));
                1
            }
        },
    };
    ranks::mpi::finalize(status == 0);
    ExitCode::from(status)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// Joins the error and its causes, without causes that the text so far already contains.
fn message(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.contains(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}
