//! Reports the error that ends the program, on standard error.

use crate::commands::FailedInVm;
use anyhow::Error;
use input::one_line;
use serde_json::json;
use std::io::ErrorKind;

/// The exit status for wrong usage, as of clap.
const USAGE: u8 = 2;

/// The exit status of [`Regressed`].
const REGRESSED: u8 = 3;

/// What was tested is worse than before: no failure, but a finding that a script must see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Regressed(pub String);

/// Prints the error in one line: for people, or as a JSON object. Returns the exit status.
pub fn report(error: &Error, json: bool) -> u8 {
    // The reader closed the pipe, as `head` does.
    if is_broken_pipe(error) {
        return 0;
    }
    // The command in the virtual machine has already printed the error.
    if let Some(FailedInVm(status)) = error.downcast_ref() {
        return *status;
    }
    let usage = error.downcast_ref::<clap::Error>();
    let status = if error.is::<Regressed>() { REGRESSED } else { 1 };
    match usage {
        // Help and versions are no errors, and are printed to standard output.
        Some(usage) if !json || !usage.use_stderr() => {
            let _ = usage.print();
        }
        Some(usage) => {
            let text = usage.to_string();
            eprintln!("{}", object(&one_line(text.trim_start_matches("error: ")), USAGE));
        }
        None if json => eprintln!("{}", object(&one_line(&message(error)), status)),
        None => eprintln!("senesce: {}", one_line(&message(error))),
    }
    match usage {
        Some(usage) if usage.use_stderr() => USAGE,
        Some(_) => 0,
        None => status,
    }
}

fn object(message: &str, status: u8) -> serde_json::Value {
    json!({ "error": message, "status": status })
}

fn is_broken_pipe(error: &Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// Joins the error and its causes, without causes that the text so far already contains.
fn message(error: &Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.contains(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}
