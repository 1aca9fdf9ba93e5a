//! The server's process, from its start to its end.

use super::control;
use super::harden::{Hardening, harden};
use super::served::Served;
use super::server::DiskFs;
use super::settings::Clock;
use super::store::Store;
use crate::error::{Error, IoContext};
use crate::served_mount::{say, say_ready};
use fuser::{Config, Session, SessionACL};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Between two pieces of space that are given back.
const TIDYING: Duration = Duration::from_millis(5);

/// How often it is looked for some.
const IDLE: Duration = Duration::from_millis(200);

/// Serves the store at `dir`, by this clock or its own, until what is mounted goes. Standard input is the FUSE device, whose file system is
/// mounted already; standard output gets a line when it is ready, and one that says what is wrong if something is.
pub fn serve(dir: &Path, clock: Option<Clock>) -> Result<(), Error> {
    let served = start(dir, clock, harden()).and_then(|(disk, session)| {
        say_ready();
        let ended = match session.run() {
            // What is mounted went while a request was being handed over.
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => Ok(()),
            ended => ended,
        };
        control::close(dir);
        disk.close()?;
        ended.context("serving", dir)
    });
    if let Err(e) = &served {
        say(&e.to_string());
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
    let answering = disk.clone();
    std::thread::spawn(move || control::serve(&listener, &answering));
    let tidied = disk.clone();
    std::thread::spawn(move || tidy(&tidied));
    Ok((disk, session))
}

/// Gives space back, a little at a time, so that no request waits for long. What cannot be given back now may be later.
fn tidy(disk: &Served) {
    loop {
        let wait = if disk.tidy().unwrap_or(false) { TIDYING } else { IDLE };
        std::thread::sleep(wait);
    }
}
