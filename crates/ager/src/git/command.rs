//! Running git so that nothing of the user's or the machine's settings shows: no configuration but ours, no hooks,
//! fixed names and dates, nothing in the background, and nothing that outlives this process.
//!
//! Git runs in repositories of our own making only: the configuration of any other can name commands that git runs.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Error;

/// Settings of every git that is run.
const SETTINGS: [&str; 14] = [
    "advice.detachedHead=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    // These refuse names that mean something on other systems than this one.
    "core.protectHFS=false",
    "core.protectNTFS=false",
    "fetch.recurseSubmodules=false",
    "gc.autoDetach=false",
    // All that is noted has a date of long ago, and is not to be thrown away for it.
    "gc.reflogExpire=never",
    "gc.reflogExpireUnreachable=never",
    "init.defaultBranch=main",
    "maintenance.autoDetach=false",
    "pack.threads=1",
    "submodule.recurse=false",
    "user.useConfigOnly=false",
];

/// Who and when every commit is by that git itself makes, or notes in a log.
pub(super) const IDENTITY: &str = "senesce <senesce@localhost>";
/// When, in seconds since 1970.
pub(super) const DATE_S: u64 = 1_500_000_000;

/// Runs one command of git in `dir` to its end.
pub(super) fn git<A: AsRef<OsStr>>(
    action: &'static str,
    dir: &Path,
    settings: &[&str],
    args: impl IntoIterator<Item = A>,
) -> Result<(), Error> {
    finish(action, dir, start(dir, settings, args, Stdio::null()))
}

/// Runs one command of git in a repository of our own in `dir`.
pub(crate) fn run_git(action: &'static str, dir: &Path, args: Vec<String>) -> Result<(), Error> {
    git(action, dir, &[], args)
}

/// Runs one command of git in `dir` that reads `input`.
pub(super) fn git_reading<A: AsRef<OsStr>>(
    action: &'static str,
    dir: &Path,
    args: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<(), Error> {
    let mut child = start(dir, &[], args, Stdio::piped());
    if let Ok(child) = &mut child {
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // Why it did not want to read all it says itself.
        let _ = stdin.write_all(input);
    }
    finish(action, dir, child)
}

fn start<A: AsRef<OsStr>>(
    dir: &Path,
    settings: &[&str],
    args: impl IntoIterator<Item = A>,
    input: Stdio,
) -> io::Result<Child> {
    let mut command = if *CAN_ENCLOSE { enclosed() } else { Command::new("git") };
    for setting in SETTINGS.iter().chain(settings) {
        command.args(["-c", setting]);
    }
    command.args(args).current_dir(dir);
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    command.env_clear().env("PATH", path).envs([
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
        ("HOME", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        // Nothing is fetched but by path, and nothing that is missing.
        ("GIT_ALLOW_PROTOCOL", "file"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_AUTHOR_NAME", "senesce"),
        ("GIT_AUTHOR_EMAIL", "senesce@localhost"),
        ("GIT_COMMITTER_NAME", "senesce"),
        ("GIT_COMMITTER_EMAIL", "senesce@localhost"),
    ]);
    // Ctrl-C is for this process, which lets git finish what it does.
    command.process_group(0);
    let date = format!("{DATE_S} +0000");
    command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
    die_with_parent(&mut command).stdin(input).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
}

/// Waits for the end.
fn finish(action: &'static str, dir: &Path, child: io::Result<Child>) -> Result<(), Error> {
    let fail = |why: String| Error::Git { action, path: dir.into(), why };
    let output = child.and_then(Child::wait_with_output).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => fail("git is not on the PATH: apt install git".into()),
        _ => fail(format!("cannot run git ({error})")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    if disk::interrupted() {
        return Err(Error::Interrupted);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    let line = line.or(said.lines().last()).unwrap_or("no error message");
    Err(fail(format!("git ended with {}: {line}", output.status)))
}

/// The kernel kills the process as soon as this one is gone, also after kill -9.
fn die_with_parent(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call and neither allocates nor locks.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) }
}

/// Git in a process namespace of its own, so that with git all goes that git has started, like the packing of `gc`.
fn enclosed() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=SIGKILL", "--", "git"]);
    command
}

/// Whether there can be such namespaces: that takes root, and not every container allows it. Without one, what git
/// itself has started may live a moment longer than a senesce that was killed.
static CAN_ENCLOSE: LazyLock<bool> = LazyLock::new(|| {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=SIGKILL", "--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    die_with_parent(&mut command).status().is_ok_and(|status| status.success())
});
