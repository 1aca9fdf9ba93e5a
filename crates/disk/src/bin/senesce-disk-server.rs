//! The server of a modelled disk as a program of its own, for this crate's tests and benchmarks. The command `senesce`
//! has it built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Called as `senesce` would be: disk serve DIR.
    let Some(dir) = std::env::args_os().nth(3) else { return ExitCode::from(2) };
    match senesce_disk::modelled::serve(dir.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        // What is wrong it has said on standard output.
        Err(_) => ExitCode::FAILURE,
    }
}
