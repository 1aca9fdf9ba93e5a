//! What `senesce resemble` takes.

use super::Scratch;
use crate::units;
use clap::Args;

#[derive(Args)]
pub struct Resemble {
    /// A file system: an image, a device, a modelled disk, a directory, a work directory or WORK/NAME, a saved image
    pub a: String,
    /// The other one
    pub b: String,
    /// Size of the new file that is written to a copy of each [default: 2 GB, or half of the free space of either]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub new_file: Option<u64>,
    /// Write no new file, and copy nothing
    #[arg(long, conflicts_with = "new_file")]
    pub no_new_file: bool,
    #[command(flatten)]
    pub scratch: Scratch,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
