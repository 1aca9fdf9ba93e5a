//! `senesce probe write-amplification`.

use crate::output::{self, number};
use anyhow::Result;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

pub fn run(path: &Path, words: &[OsString], json: bool) -> Result<()> {
    let mut command = Command::new(&words[0]);
    // Standard output is reserved for the result.
    command.args(&words[1..]).stdout(std::io::stderr());
    let measured = ::probe::command_write_amplification(path, &mut command)?;
    if json {
        return output::json(&measured);
    }
    output::line(&format!(
        "{} changed, {} written to the device: write amplification {}",
        input::bytes(measured.changed_bytes),
        input::bytes(measured.written_bytes),
        number(measured.write_amplification)
    ))
}
