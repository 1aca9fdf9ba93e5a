//! The server of a modelled disk as a separate program, for tests and benchmarks of this crate. The command `senesce` contains the same
//! server.

use senesce_disk::modelled::Clock;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Arguments as for `senesce`: disk serve DIR CLOCK.
    let Some(dir) = std::env::args_os().nth(3) else { return ExitCode::from(2) };
    let clock =
        std::env::args_os().nth(4).map(|clock| if clock == "real" { Clock::Real } else { Clock::Model });
    match senesce_disk::modelled::serve(dir.as_ref(), clock) {
        Ok(()) => ExitCode::SUCCESS,
        // The error was printed on standard output.
        Err(_) => ExitCode::FAILURE,
    }
}
