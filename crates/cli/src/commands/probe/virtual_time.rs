//! Probes in virtual time: the same command line, in a machine with the image.

use crate::args::{MeasuringClock, ProbeKind, Subject};
use crate::commands::FailedInVm;
use crate::output;
use anyhow::{Context as _, Result, bail};
use fs::Location;
use run::virtual_time::{MEANING, VirtualClock, kernel_for, lock, tools};
use std::ffi::OsString;
use std::io::Write as _;
use vm::{AttachedDisk, VirtualTimeTask};

/// The reader of scans, and its package.
const READER: (&str, &str) = ("grep", "grep");

/// The kernel's random numbers do not change what a probe measures.
const SEED: u64 = 1;

/// The subject, if it is to be probed in a machine with a virtual clock and this is not that machine.
pub fn asked(kind: &ProbeKind) -> Option<&Subject> {
    let subject = match kind {
        ProbeKind::Scan { subject, .. }
        | ProbeKind::Layout { subject, .. }
        | ProbeKind::FreeSpace { subject }
        | ProbeKind::NewFile { subject, .. }
        | ProbeKind::WarmScan { subject, .. } => subject,
        ProbeKind::TransferSize(_)
        | ProbeKind::WriteAmplification { .. }
        | ProbeKind::Sequential(_)
        | ProbeKind::HotFiles(_) => return None,
    };
    (subject.clock == MeasuringClock::Virtual && !vm::has_virtual_clock()).then_some(subject)
}

/// Runs this command line in a machine and passes its output on. The machine writes to a copy of the image.
pub fn run(subject: &Subject) -> Result<()> {
    let path = subject.path.display();
    let volume = run::existing_volume(&subject.path)?;
    let Some((volume, Location::Image(image))) = volume.as_ref().map(|volume| (volume, &volume.location))
    else {
        bail!("{path} is not an image: virtual time needs one");
    };
    let kind = fs::find(&volume.fs)?;
    fs::require_tools(kind)?;
    let kernel = kernel_for(kind)?;
    let _lock = lock(image)?;
    let mut tools = tools(kind);
    tools.push(READER);
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let disk = AttachedDisk { image: image.clone(), inside: image.clone(), is_written: false };
    let ended = vm::run_in_virtual_time(&VirtualTimeTask {
        kernel: &kernel,
        modules: &fs::modules(kind),
        tools: &tools,
        disks: &[disk],
        args: &args,
        dir: &std::env::current_dir().context("finding the current directory")?,
        input: Vec::new(),
        seed: SEED,
    })?;
    let _ = std::io::stderr().write_all(ended.errors.as_bytes());
    if ended.status != 0 {
        return Err(FailedInVm(u8::try_from(ended.status).unwrap_or(1)).into());
    }
    if !subject.json {
        output::line(MEANING)?;
        return output::line(ended.output.trim_end());
    }
    let mut document: serde_json::Value = serde_json::from_str(&ended.output)
        .context("parsing the output of the command in the virtual machine")?;
    document["virtual_clock"] = serde_json::to_value(VirtualClock::of(&[kernel], vec![SEED])?)?;
    output::json(&document)
}
