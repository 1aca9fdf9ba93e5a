//! `senesce disk create`, `mount` and the commands for served modelled disks.

use crate::args::{self, FaultKind, Preconditioned, ServedDisk};
use crate::messages::note;
use crate::output::{self, number};
use anyhow::{Context as _, Result, bail};
use disk::log::{LogInfo, LogWriter};
use disk::model::{FlashState, FlashStatus};
use disk::modelled::{self, ControlRequest, DiskSettings, Fault, LostWrites, ModelledDisk, Status, Store};
use disk::{LoopDevice, Session};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Read-ahead of the loop device in KiB, the default of the kernel.
const READ_AHEAD_KB: u32 = 128;

pub fn run(action: &ServedDisk) -> Result<()> {
    match action {
        ServedDisk::Create { dir, size, model, write_cache } => {
            let mut settings = DiskSettings::new(*size, &model.model, clock(model.clock));
            settings.write_cache_bytes = *write_cache;
            ModelledDisk::create(dir, &settings)?;
            let model = modelled::model_of(dir)?;
            output::line(&format!("{}: {} after {}", dir.display(), input::bytes(*size), model.name()))
        }
        ServedDisk::Mount { dir, loop_device } => mount(dir, *loop_device),
        ServedDisk::Snapshot { dir, name } => change(dir, &ControlRequest::Snapshot(name.clone()), || {
            let mut store = Store::open(dir)?;
            store.snapshot(name)?;
            store.close()
        }),
        ServedDisk::Rollback { dir, name } => {
            let request = ControlRequest::Rollback { name: name.clone(), open: false };
            change(dir, &request, || Store::open_at(dir, name)?.close())
        }
        ServedDisk::Precondition { dir, state } => {
            let status = Store::precondition(dir, flash_state(state))?;
            flash(&status, modelled::model_of(dir)?.endurance_erases())
        }
        ServedDisk::List { dir, json } => list(dir, *json),
        ServedDisk::Log { dir, output } => log(dir, output),
        ServedDisk::Fault { dir, fault: kind } => {
            in_service(dir, modelled::call(dir, &ControlRequest::Fault(fault(kind)))?).map(drop)
        }
        ServedDisk::Serve { dir, clock: by } => Ok(modelled::serve(dir, by.map(clock))?),
    }
}

/// Converts the clock argument.
pub fn clock(clock: args::Clock) -> modelled::Clock {
    match clock {
        args::Clock::Model => modelled::Clock::Model,
        args::Clock::Real => modelled::Clock::Real,
    }
}

fn mount(dir: &Path, loop_device: bool) -> Result<()> {
    let session = Session::begin()?;
    let mut disk = ModelledDisk::attach(&session, dir)?;
    disk.start_log()?;
    let attach = || LoopDevice::attach_modelled(&session, &disk, READ_AHEAD_KB);
    let device = loop_device.then(attach).transpose()?;
    let path = device.as_ref().map_or(disk.file(), LoopDevice::device);
    output::line(&path.display().to_string())?;
    while !disk::interrupted() && disk.is_served() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let status = disk.status().ok();
    if let Some(Status { failed, first_failure: Some(first), .. }) = status {
        note(&format!("{failed} requests failed, the first: {first}"));
    }
    device.map_or(Ok(()), LoopDevice::detach)?;
    Ok(disk.detach()?)
}

/// Sends a request to the server, or changes the store directly if the disk is not served.
fn change(
    dir: &Path,
    request: &ControlRequest,
    change: impl FnOnce() -> Result<(), disk::Error>,
) -> Result<()> {
    if modelled::call(dir, request)?.is_none() {
        change()?;
    }
    Ok(())
}

fn list(dir: &Path, json: bool) -> Result<()> {
    let settings = DiskSettings::read(dir)?;
    let snapshots = modelled::list_snapshots(dir)?;
    let status = modelled::call(dir, &ControlRequest::Status)?;
    let worn = match &status {
        Some(status) => status.flash,
        None => modelled::saved_flash(dir)?.map(|flash| flash.status()),
    };
    if json {
        return output::json(
            &json!({"disk": settings, "snapshots": snapshots, "status": status, "flash": worn}),
        );
    }
    let service = status.as_ref().map_or("no".to_owned(), |s| format!("by process {}", s.pid));
    output::table(
        &["size", "model", "in service", "requests", "failed"],
        [vec![
            input::bytes(settings.size_bytes),
            settings.model.clone(),
            service,
            status.as_ref().map_or("–".to_owned(), |s| s.requests.to_string()),
            status.as_ref().map_or("–".to_owned(), |s| s.failed.to_string()),
        ]],
    )?;
    if let Some(lacks) = status.and_then(|status| status.hardening.lacks()) {
        note(&format!("the server is not protected from memory pressure: {lacks}"));
    }
    if let Some(worn) = worn {
        flash(&worn, modelled::model_of(dir)?.endurance_erases())?;
    }
    output::table(
        &["snapshot", "in use"],
        snapshots.into_iter().map(|snapshot| vec![snapshot.name, input::bytes(snapshot.used_bytes)]),
    )
}

/// Shows what the flash of a disk has been through. `endurance_erases` is what its blocks are specified for.
fn flash(status: &FlashStatus, endurance_erases: Option<u32>) -> Result<()> {
    let percent = |share: f64| format!("{} %", number(Some(share * 100.0)));
    output::table(
        &["flash: mapped", "spare", "host wrote", "programmed", "write amplification", "life used"],
        [vec![
            percent(status.mapped_share),
            percent(status.spare_share),
            input::bytes(status.host_bytes),
            input::bytes(status.programmed_bytes),
            number(Some(status.write_amplification)),
            percent(status.erases_mean / endurance_erases.map_or(f64::INFINITY, f64::from)),
        ]],
    )
}

fn flash_state(state: &Preconditioned) -> FlashState {
    match *state {
        Preconditioned::Fresh => FlashState::Fresh,
        Preconditioned::Filled => FlashState::Filled,
        Preconditioned::Aged { overwrites, seed } => FlashState::Aged { overwrites, seed },
    }
}

fn log(dir: &Path, output: &Path) -> Result<()> {
    let settings = DiskSettings::read(dir)?;
    if !in_service(dir, modelled::call(dir, &ControlRequest::Status)?)?.log_kept {
        bail!("{0} has no request log; serve it with `senesce disk mount {0}`", dir.display());
    }
    // Creates the file first, because the server drops requests once they are fetched.
    let info =
        LogInfo { model: settings.model, size_bytes: settings.size_bytes, tool: results::TOOL.to_owned() };
    let mut writer = LogWriter::create(output, &info)?;
    let (requests, status) = in_service(dir, modelled::take_log(dir)?)?;
    writer.write(&requests)?;
    let written = writer.finish()?;
    if status.log_lost > 0 {
        note(&format!("{} requests did not fit into the log; write it more often", status.log_lost));
    }
    output::line(&format!("{written} requests in {}", output.display()))
}

fn in_service<T>(dir: &Path, answer: Option<T>) -> Result<T> {
    if answer.is_none() {
        // Fails if the directory is not a modelled disk.
        DiskSettings::read(dir)?;
        bail!("{0} is not served; serve it with `senesce disk mount {0}`", dir.display());
    }
    answer.context("just looked at")
}

fn fault(kind: &FaultKind) -> Fault {
    match kind {
        FaultKind::PowerCut { some: None } => Fault::PowerCut(LostWrites::All),
        FaultKind::PowerCut { some: Some(seed) } => Fault::PowerCut(LostWrites::Some(*seed)),
        FaultKind::TornWrite { seed } => Fault::PowerCut(LostWrites::Torn(*seed)),
        FaultKind::ReadError { at, length } => Fault::ReadError { at_bytes: *at, len_bytes: *length },
        FaultKind::IgnoreFlush => Fault::IgnoreFlush,
        FaultKind::None => Fault::None,
    }
}
