//! `senesce betreefs mount`, which is also the helper of `mount -t fuse.betreefs`.

use crate::args::BetreefsMount;
use anyhow::{Context as _, Result, anyhow, bail};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::absolute;
use std::process::{Command, Stdio};

pub fn run(mount: &BetreefsMount) -> Result<()> {
    let options = super::parsed(&mount.options)?;
    if options.remount {
        return Ok(betreefs::mount(&mount.image, &mount.dir, &options, || ())?);
    }
    if mount.foreground {
        return betreefs::mount(&mount.image, &mount.dir, &options, disk::report_ready)
            .with_context(|| format!("mounting {}", mount.image.display()));
    }
    // Starts the same command with --foreground in the background. It prints `ready` on standard output, or an error on standard error.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("senesce").args(["betreefs", "mount", "--foreground", "-o"]).arg(&mount.options);
    command.arg("--").args([absolute(&mount.image)?, absolute(&mount.dir)?]).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
    let mut child = command.spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("standard output is piped")).read_line(&mut line)?;
    if line.trim_end() == "ready" {
        return Ok(());
    }
    let mut error = String::new();
    child.stderr.take().ok_or_else(|| anyhow!("it is a pipe"))?.read_to_string(&mut error)?;
    child.wait()?;
    bail!("{}", error.trim_end().strip_prefix("senesce: ").unwrap_or(error.trim_end()))
}
