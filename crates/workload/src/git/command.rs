//! Runs git independently of the user's and the machine's settings: only our configuration, no hooks, fixed
//! names and dates, no background work, and no process that outlives this one.
//!
//! Git runs only in repositories that this program created: any other's configuration can name commands that
//! git runs.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Error;

/// Settings of every git command.
const SETTINGS: [&str; 14] = [
    "advice.detachedHead=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    // Off: these checks refuse names that are special only on other systems.
    "core.protectHFS=false",
    "core.protectNTFS=false",
    "fetch.recurseSubmodules=false",
    "gc.autoDetach=false",
    // Every log entry has an old date and must not expire for it.
    "gc.reflogExpire=never",
    "gc.reflogExpireUnreachable=never",
    "init.defaultBranch=main",
    "maintenance.autoDetach=false",
    "pack.threads=1",
    "submodule.recurse=false",
    "user.useConfigOnly=false",
];

/// The author and committer of every commit and log entry that git creates.
pub(super) const IDENTITY: &str = "senesce <senesce@localhost>";
/// The time of every commit, in seconds since 1970.
pub(super) const DATE_S: u64 = 1_500_000_000;

/// Runs one git command in `dir` to its end.
pub(super) fn git<A: AsRef<OsStr>>(
    action: &'static str,
    dir: &Path,
    settings: &[&str],
    args: impl IntoIterator<Item = A>,
) -> Result<(), Error> {
    finish(action, dir, start(dir, settings, args, Stdio::null()))
}

/// Runs one git command in our own repository in `dir`.
pub(crate) fn run_git(action: &'static str, dir: &Path, args: Vec<String>) -> Result<(), Error> {
    git(action, dir, &[], args)
}

/// Runs one git command in `dir` with what `input` writes on its standard input.
pub(super) fn git_reading<A: AsRef<OsStr>>(
    action: &'static str,
    dir: &Path,
    args: impl IntoIterator<Item = A>,
    input: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), Error> {
    let mut child = start(dir, &[], args, Stdio::piped());
    let mut written = Ok(());
    if let Ok(child) = &mut child {
        let mut stdin = io::BufWriter::new(child.stdin.take().expect("stdin is a pipe"));
        written = input(&mut stdin).and_then(|()| stdin.flush());
    }
    // If git stopped reading, it reports why itself.
    finish(action, dir, child)?;
    written.map_err(|error| match disk::interrupted() {
        true => Error::Interrupted,
        false => Error::Git { action, path: dir.into(), why: error.to_string() },
    })
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
        // Fetch by path only, and never fetch missing objects.
        ("GIT_ALLOW_PROTOCOL", "file"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_AUTHOR_NAME", "senesce"),
        ("GIT_AUTHOR_EMAIL", "senesce@localhost"),
        ("GIT_COMMITTER_NAME", "senesce"),
        ("GIT_COMMITTER_EMAIL", "senesce@localhost"),
    ]);
    // Ctrl-C goes to this process, which lets git finish its work.
    command.process_group(0);
    let date = format!("{DATE_S} +0000");
    command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
    die_with_parent(&mut command).stdin(input).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
}

/// Waits for the end of the command.
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
    let line = |starts: &[&str]| said.lines().find(|line| starts.iter().any(|start| line.starts_with(start)));
    // What the other end of a clone died of says more than that it did.
    let line = line(&["remote: fatal:"]).or_else(|| line(&["fatal:", "error:"])).or(said.lines().last());
    let line = line.unwrap_or("no error message").trim_end();
    Err(fail(format!("git ended with {}: {line}", output.status)))
}

/// Has the kernel kill the process when this one ends, even after kill -9.
pub(super) fn die_with_parent(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call and neither allocates nor locks.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) }
}

/// Git in its own process namespace, so that processes started by git, like the packing of `gc`, end with git.
fn enclosed() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=SIGKILL", "--", "git"]);
    command
}

/// Whether such namespaces can be created: this takes root, and some containers forbid it. Without one,
/// processes that git started may briefly outlive a killed senesce.
static CAN_ENCLOSE: LazyLock<bool> = LazyLock::new(|| {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=SIGKILL", "--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    die_with_parent(&mut command).status().is_ok_and(|status| status.success())
});
