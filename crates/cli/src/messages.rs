//! Messages on standard error, as `--quiet` and `--verbose` say, above the progress bar if there is one.

use indicatif::ProgressBar;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How much is printed beside results and errors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Quiet,
    /// Progress, plans and warnings.
    Normal,
    /// Also the commands that are run.
    Verbose,
}

static LEVEL: OnceLock<Level> = OnceLock::new();

/// The bar on the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Sets the level, once at the start.
pub fn set_level(level: Level) {
    let level = *LEVEL.get_or_init(|| level);
    if level == Level::Verbose {
        disk::observe_commands(command);
    }
}

/// Whether only results and errors are printed.
pub fn is_quiet() -> bool {
    LEVEL.get() == Some(&Level::Quiet)
}

/// Prints a message, unless only results and errors are wanted.
pub fn note(text: &str) {
    if !is_quiet() {
        print(text);
    }
}

/// Sets the bar that stays below the messages.
pub fn set_bar(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Prints a command that was run, and the time that it took.
fn command(command: &str, took: Duration) {
    print(&format!("{command} ({:.2} s)", took.as_secs_f64()));
}

/// Prints a line, such as one of a command in a virtual machine, which obeys the level itself.
pub fn print(text: &str) {
    match &*BAR.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(bar) => bar.suspend(|| eprintln!("{text}")),
        None => eprintln!("{text}"),
    }
}
