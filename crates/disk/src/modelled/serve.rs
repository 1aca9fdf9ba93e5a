//! The server process of a modelled disk.

use super::control;
use super::harden::{Hardening, harden};
use super::served::Served;
use super::server::DiskFs;
use super::settings::Clock;
use super::store::Store;
use crate::error::{Error, IoContext};
use crate::served_mount::{report_error, report_ready};
use fuser::{Config, Session, SessionACL};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Pause between two releases of space.
const RECLAIM_PAUSE: Duration = Duration::from_millis(5);

/// Interval of checks for space to release.
const IDLE_PAUSE: Duration = Duration::from_millis(200);

/// Serves the store at `dir`, with this clock or that of the store, until the file system is unmounted. Standard input is the FUSE device,
/// already mounted; standard output gets a line when the server is ready, or a line with the error.
pub fn serve(dir: &Path, clock: Option<Clock>) -> Result<(), Error> {
    let served = start(dir, clock, harden()).and_then(|(disk, session)| {
        report_ready();
        let ended = match session.run() {
            // The file system was unmounted while a request was being read.
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => Ok(()),
            ended => ended,
        };
        control::close(dir);
        disk.close()?;
        ended.context("serving", dir)
    });
    if let Err(e) = &served {
        report_error(&e.to_string());
    }
    served
}

fn start(
    dir: &Path,
    clock: Option<Clock>,
    hardening: Hardening,
) -> Result<(Arc<Served>, Session<DiskFs>), Error> {
    let doing = "serving";
    let disk = Arc::new(Served::new(Store::open(dir)?, clock, hardening)?);
    let listener = control::listen(dir)?;
    let device = std::io::stdin().as_fd().try_clone_to_owned().context(doing, dir)?;
    let mut config = Config::default();
    config.n_threads = Some(disk.threads());
    config.clone_fd = true;
    let session =
        Session::from_fd(DiskFs::new(disk.clone()), device, SessionACL::All, config).context(doing, dir)?;
    let handler = disk.clone();
    std::thread::spawn(move || control::serve(&listener, &handler));
    let reclaimed = disk.clone();
    std::thread::spawn(move || reclaim(&reclaimed));
    Ok((disk, session))
}

/// Releases the space of free chunks a little at a time, so that no request waits for long. Errors are retried later.
fn reclaim(disk: &Served) {
    loop {
        let wait = if disk.reclaim().unwrap_or(false) { RECLAIM_PAUSE } else { IDLE_PAUSE };
        std::thread::sleep(wait);
    }
}
