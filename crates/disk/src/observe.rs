//! Reports the commands that are run, for users who want to see them.

use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static OBSERVER: OnceLock<fn(&str, Duration)> = OnceLock::new();

/// From now on, `observer` gets every command with the time it took, also what is a system call here and a command for users, such as `mount`.
pub fn observe_commands(observer: fn(&str, Duration)) {
    let _ = OBSERVER.set(observer);
}

/// Runs something that users know as a command.
pub fn observed<T>(command: impl FnOnce() -> String, run: impl FnOnce() -> T) -> T {
    let Some(observer) = OBSERVER.get() else { return run() };
    let (begun, result) = (Instant::now(), run());
    observer(&command(), begun.elapsed());
    result
}

/// A command as a user types it.
pub fn in_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
