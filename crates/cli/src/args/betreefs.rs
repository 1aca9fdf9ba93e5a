//! What `senesce betreefs` takes.

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
        /// The image or device
        image: PathBuf,
        /// Size of an image that is to be made, or of the part that is used
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
        /// Lose all that is on this device or in this image: the same path once more
        #[arg(long, value_name = "IMAGE")]
        erase: Option<PathBuf>,
        /// A name for it
        #[arg(long, default_value = "")]
        label: String,
    },
    /// Mount a file system; without root by fusermount3
    Mount(BetreefsMount),
    /// Prove that a file system is sound, without changing it
    Check {
        /// The image or device, not mounted
        image: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Say how a file system lies on its disk, and what writing it has cost
    Stat {
        /// The image or device, not mounted
        image: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Serve a file system that is mounted on standard input
    #[command(hide = true)]
    Serve {
        /// The image or device
        image: PathBuf,
        /// Options of the mount
        #[arg(short, value_name = "OPTIONS", default_value = "")]
        options: String,
    },
}

#[derive(Args)]
pub struct BetreefsMount {
    /// The image or device
    pub image: PathBuf,
    /// The directory to mount it on
    pub dir: PathBuf,
    /// Options, separated by commas: ro, nosuid, nodev, noexec, remount, allow_other, cache_mib=N, threads=N
    #[arg(short, value_name = "OPTIONS", default_value = "", value_parser = options)]
    pub options: String,
    /// Serve until Ctrl-C or until it is unmounted, instead of in the background
    #[arg(long)]
    pub foreground: bool,
    // What `mount` hands on: nothing to do here.
    #[arg(short = 'n', hide = true)]
    no_table: bool,
    #[arg(short = 's', hide = true)]
    sloppy: bool,
    #[arg(short = 'v', hide = true)]
    verbose: bool,
    #[arg(short = 't', hide = true)]
    kind: Option<String>,
}

/// What is handed on as it is, if it can be understood.
fn options(text: &str) -> Result<String, String> {
    MountOptions::parse(text).map(|_| text.to_owned())
}
