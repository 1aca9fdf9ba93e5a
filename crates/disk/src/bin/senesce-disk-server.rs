//! The server of a modelled disk as a program of its own, for this crate's tests and benchmarks. The command `senesce`
//! has it built in.

use senesce_disk::modelled::Clock;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Called as `senesce` would be: disk serve DIR CLOCK.
    let Some(dir) = std::env::args_os().nth(3) else { return ExitCode::from(2) };
    let clock =
        std::env::args_os().nth(4).map(|clock| if clock == "real" { Clock::Real } else { Clock::Model });
    match senesce_disk::modelled::serve(dir.as_ref(), clock) {
        Ok(()) => ExitCode::SUCCESS,
        // What is wrong it has said on standard output.
        Err(_) => ExitCode::FAILURE,
    }
}
