//! The first process of the machine: provides the disks, runs the command, and reports its end.

use super::job::{Ended, FILE, INPUT, Job, PROGRAMS, RESULT, device};
use crate::guest::{detected, inform, load_modules, memory_limits};
use crate::job::PROGRAM;
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this machine has a virtual clock.
pub fn is_asked_for() -> bool {
    Path::new(FILE).exists()
}

/// Runs the job.
pub fn work() -> Result<(), String> {
    let ended = carry_out().unwrap_or_else(|why| Ended::Failed { why });
    rustix::fs::sync();
    let failed = |e: std::io::Error| format!("reporting the end of the command: {e}");
    let mut line = File::options().read(true).write(true).open(RESULT).map_err(failed)?;
    // Otherwise the terminal would add carriage returns.
    let mut raw = tcgetattr(&line).map_err(|e| failed(e.into()))?;
    raw.make_raw();
    tcsetattr(&line, OptionalActions::Now, &raw).map_err(|e| failed(e.into()))?;
    line.write_all(&serde_json::to_vec(&ended).expect("plain data serializes")).map_err(failed)?;
    tcdrain(&line).map_err(|e| failed(e.into()))
}

fn carry_out() -> Result<Ended, String> {
    let job = std::fs::read(FILE).map_err(|e| format!("reading {FILE}: {e}"))?;
    let job: Job = serde_json::from_slice(&job).map_err(|e| format!("{FILE}: {e}"))?;
    load_modules(&job.modules)?;
    // Some kernels lack them; programs that need them report the error.
    let _ = memory_limits(Path::new("/sys/fs/cgroup"));
    for (index, (path, bytes)) in job.disks.iter().enumerate() {
        let device = device(index);
        detected(|| device.exists().then_some(())).ok_or_else(|| {
            format!("no {}: the kernel does not use the memory as a disk", device.display())
        })?;
        // Programs see an image of the right size; what is in it they find in the memory.
        let created = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let sized = created.and_then(|()| File::create_new(path)).and_then(|file| file.set_len(*bytes));
        sized.map_err(|e| format!("creating {}: {e}", path.display()))?;
    }
    std::fs::create_dir_all(&job.dir).map_err(|e| format!("creating {}: {e}", job.dir.display()))?;
    let input = File::open(INPUT).map_err(|e| format!("opening {INPUT}: {e}"))?;
    let mut command = Command::new(PROGRAM);
    command.args(&job.args).current_dir(&job.dir).env_clear();
    command.env("PATH", PROGRAMS).env("LD_LIBRARY_PATH", "/lib").env("HOME", "/root");
    inform(&mut command, &job.guest);
    // Its output is collected, because a write to the serial line would take time.
    let output =
        command.stdin(Stdio::from(input)).output().map_err(|e| format!("starting {PROGRAM}: {e}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, errors) = (text(output.stdout), text(output.stderr));
    match (output.status.code(), output.status.signal()) {
        (Some(status), _) => Ok(Ended::Exit { status, output: stdout, errors }),
        (None, signal) => {
            Err(format!("ended its command by signal {}: {}", signal.unwrap_or_default(), errors.trim()))
        }
    }
}
