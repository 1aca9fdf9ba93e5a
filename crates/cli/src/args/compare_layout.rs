//! Arguments of `senesce compare-layout`.

use super::Scratch;
use crate::units;
use clap::Args;

#[derive(Args)]
pub struct CompareLayout {
    /// File system: image, device, modelled disk, directory, work directory, WORK/NAME or saved image
    pub a: String,
    /// File system to compare it with
    pub b: String,
    /// Size of a new file that is written to a copy of each [default: 2 GB, or half of the smaller free space]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub new_file: Option<u64>,
    /// Do not write a new file, and make no copies
    #[arg(long, conflicts_with = "new_file")]
    pub no_new_file: bool,
    #[command(flatten)]
    pub scratch: Scratch,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
