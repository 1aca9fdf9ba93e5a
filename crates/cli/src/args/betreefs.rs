//! Arguments of `senesce betreefs`.

use super::Json;
use crate::units;
use betreefs::MountOptions;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct Betreefs {
    #[command(subcommand)]
    pub action: BetreefsAction,
}

#[derive(Subcommand)]
pub enum BetreefsAction {
    /// Make a file system in an image or on a device
    Mkfs {
        /// Image or device
        image: PathBuf,
        /// Size of a new image, or of the used part of a device
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
        /// Confirm that ALL DATA on this device or image may be lost: the same path again
        #[arg(long, value_name = "IMAGE")]
        erase: Option<PathBuf>,
        /// Volume label
        #[arg(long, default_value = "")]
        label: String,
    },
    /// Mount a file system; without root by fusermount3
    Mount(BetreefsMount),
    /// Check a file system without changing it
    Check {
        /// Unmounted image or device
        image: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Show space use and write amplification
    Stat {
        /// Unmounted image or device
        image: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Serve a file system that is mounted on standard input
    #[command(hide = true)]
    Serve {
        /// Image or device
        image: PathBuf,
        /// Options of the mount
        #[arg(short, value_name = "OPTIONS", default_value = "")]
        options: String,
    },
}

#[derive(Args)]
pub struct BetreefsMount {
    /// Image or device
    pub image: PathBuf,
    /// Mount point
    pub dir: PathBuf,
    /// Mount options, separated by commas: ro, nosuid, nodev, noexec, remount, allow_other, cache_mib=N, threads=N
    #[arg(short, value_name = "OPTIONS", default_value = "", value_parser = options)]
    pub options: String,
    /// Stay in the foreground until Ctrl-C or unmount
    #[arg(long)]
    pub foreground: bool,
    // Options that mount(8) passes to its helpers; they have no effect.
    #[arg(short = 'n', hide = true)]
    no_table: bool,
    #[arg(short = 's', hide = true)]
    sloppy: bool,
    #[arg(short = 'v', hide = true)]
    verbose: bool,
    #[arg(short = 't', hide = true)]
    kind: Option<String>,
}

/// Checks mount options and returns them unchanged.
fn options(text: &str) -> Result<String, String> {
    MountOptions::parse(text).map(|_| text.to_owned())
}
