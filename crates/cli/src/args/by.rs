//! What `senesce age` takes where a workload ages, not a profile.

use crate::units;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[group(id = "workload", multiple = false)]
pub struct By {
    /// Age by files that grow at the same time, so many percent of each in turn
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "100")]
    pub intrafile: Option<u64>,
    /// Age by a tree that is made out of order, so many percent of it
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "100")]
    pub interfile: Option<u64>,
    /// Age by a tree that is made out of order with files of this size
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub filesize: Option<u64>,
}
