//! The command `senesce`: arguments in, calls out, nothing else.

mod args;
mod commands;
mod output;
mod progress;
mod units;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Senesce::parse();
    match commands::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line, whatever a tool below has printed over several.
            let message: Vec<String> = error.chain().map(ToString::to_string).collect();
            let lines: Vec<&str> = message[0].lines().map(str::trim).filter(|l| !l.is_empty()).collect();
            eprintln!("senesce: {}", lines.join("; "));
            ExitCode::FAILURE
        }
    }
}
