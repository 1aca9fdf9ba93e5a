//! `senesce betreefs`.

mod check;
mod mount;
mod stat;

use crate::args::BetreefsAction;
use anyhow::{Error, Result};
use betreefs::{MountOptions, image};
use rustix::process::{getegid, geteuid};
use std::os::fd::AsFd as _;

pub fn run(action: &BetreefsAction) -> Result<()> {
    match action {
        BetreefsAction::Mkfs { image, size, erase, label } => {
            let storage = image::create(image, *size, erase.as_deref())?;
            Ok(betreefs::mkfs(storage, (geteuid().as_raw(), getegid().as_raw()), label)?)
        }
        BetreefsAction::Mount(mount) => mount::run(mount),
        BetreefsAction::Check { image, json } => check::run(image, json.json),
        BetreefsAction::Stat { image, json } => stat::run(image, json.json),
        BetreefsAction::Serve { image, options } => {
            let device = std::io::stdin().as_fd().try_clone_to_owned()?;
            let served = parsed(options)
                .and_then(|options| Ok(betreefs::serve(image, device, &options, ::disk::report_ready)?));
            served.inspect_err(|error| ::disk::report_error(&error.to_string()))
        }
    }
}

fn parsed(options: &str) -> Result<MountOptions> {
    MountOptions::parse(options).map_err(Error::msg)
}
