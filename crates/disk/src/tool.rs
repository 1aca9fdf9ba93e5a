//! External programs, with an error that names the package of a missing program.

use crate::error::{Error, IoContext};
use crate::observe::{in_words, observed};
use rustix::fs::Access;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A command with English messages and without standard input.
pub fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Checks that the program `name` is installed, before starting work that needs it later.
pub fn require_tool(name: &str, package: &'static str) -> Result<(), Error> {
    find_tool(name, package).map(drop)
}

/// The path of a program on the PATH.
pub fn find_tool(name: &str, package: &'static str) -> Result<PathBuf, Error> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&dirs)
        .map(|dir| dir.join(name))
        .find(|path| rustix::fs::access(path, Access::EXEC_OK).is_ok());
    found.ok_or_else(|| Error::MissingTool { tool: name.to_owned(), package })
}

/// Runs `command` to completion. If the program is missing, the error names its Debian package.
pub fn run_tool(command: &mut Command, package: &'static str) -> Result<Output, Error> {
    let tool = command.get_program().to_owned();
    let words = in_words(command);
    match observed(|| words, || command.output()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(Error::MissingTool { tool: tool.to_string_lossy().into_owned(), package })
        }
        result => result.context("running", Path::new(&tool)),
    }
}

/// Runs `command` to completion. If it fails, the error of `doing` something to `what` says what it printed.
pub fn run_to_success(
    command: &mut Command,
    package: &'static str,
    doing: &'static str,
    what: &Path,
) -> Result<(), Error> {
    let output = run_tool(command, package)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(io::Error::other(said)).context(doing, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tool_is_named_with_its_package() {
        let error = run_tool(&mut command("mkfs.nothing"), "nothing-progs").unwrap_err();
        assert_eq!(
            error.to_string(),
            "mkfs.nothing is not on the PATH: apt install nothing-progs, or add /usr/sbin to PATH"
        );
        let missing = require_tool("mkfs.nothing", "nothing-progs").unwrap_err();
        assert_eq!(missing.to_string(), error.to_string());
        require_tool("sh", "dash").unwrap();
    }

    #[test]
    fn failed_tool_is_quoted() {
        let run = |script| {
            run_to_success(command("sh").args(["-c", script]), "dash", "exporting", Path::new("/pool"))
        };
        run("echo not an error >&2").unwrap();
        let error = run("echo busy >&2; echo try later >&2; exit 3").unwrap_err();
        assert_eq!(error.to_string(), "exporting /pool: busy; try later");
    }
}
