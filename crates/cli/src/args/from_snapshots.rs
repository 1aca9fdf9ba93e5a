//! What `senesce trace from-snapshots` takes.

use crate::units;
use activity::ActivitySet;
use ager::snapshots::{Deletions, Options, Place, ShortLived, Updates};
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Where files go.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Placed {
    /// Into the directories and under the names of the snapshots
    Paths,
    /// As published: into one directory for each cylinder group
    CylinderGroups,
}

/// When what is gone was deleted.
#[derive(Clone, Copy, ValueEnum)]
pub enum Deleted {
    /// As published: at any time between two snapshots
    Uniform,
    /// As lifetimes fitted to the snapshots have it
    Lifetimes,
}

/// What was done to files that were modified.
#[derive(Clone, Copy, ValueEnum)]
pub enum Updated {
    /// As published: they were cut to nothing and written anew
    Rewrite,
    /// What sizes, times and extents tell: append, cut, overwrite in place, write anew
    Told,
}

#[derive(Args)]
pub struct FromSnapshots {
    /// Snapshots of one file system or directory, in order of time; a directory of snapshots stands for all in it
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,
    /// All as published by Smith and Seltzer, but for what the options below say
    #[arg(long)]
    pub published: bool,
    /// Where files go [default: paths]
    #[arg(long, value_enum)]
    pub place: Option<Placed>,
    /// How many inodes a cylinder group has [default: what the kind of file system has by default]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub inodes_per_group: Option<u64>,
    /// When what is gone was deleted [default: lifetimes]
    #[arg(long, value_enum)]
    pub deletions: Option<Deleted>,
    /// What was done to files that were modified [default: told]
    #[arg(long, value_enum)]
    pub updates: Option<Updated>,
    /// Delete and create what has another path, instead of renaming it
    #[arg(long)]
    pub no_renames: bool,
    /// Give every file its first name only
    #[arg(long)]
    pub no_links: bool,
    /// Leave out symbolic links
    #[arg(long)]
    pub no_symlinks: bool,
    /// Fill the holes of files
    #[arg(long)]
    pub no_holes: bool,
    /// Write files at once, instead of in pieces where it took long
    #[arg(long)]
    pub no_growth: bool,
    /// After so long the real file system wrote back what waited in memory: a file that was written for longer grew in pieces, one for
    /// each such time [default: 30s; with --published files are written at once]
    #[arg(long, value_name = "TIME", value_parser = units::time, conflicts_with = "no_growth")]
    pub write_back_every: Option<Duration>,
    /// Put in short-lived files from this set of activity profiles: `builtin` or a file
    #[arg(long, value_name = "SET")]
    pub short_lived: Option<PathBuf>,
    /// Size of the file system for which there is one activity profile a day [default: 40MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, requires = "short_lived")]
    pub bytes_per_profile: Option<u64>,
    /// Seed of all that is random
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// The trace to write; its labels go beside it
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl FromSnapshots {
    /// How the workload is made.
    pub fn options(&self) -> Result<Options> {
        let mut options = match self.published {
            true => Options::published(self.seed),
            false => Options::told(self.seed),
        };
        let by_group = Place::CylinderGroups { inodes_per_group: self.inodes_per_group };
        match self.place {
            Some(Placed::Paths) => options.place = Place::Paths,
            Some(Placed::CylinderGroups) => options.place = by_group,
            None if options.place != Place::Paths => options.place = by_group,
            None => {}
        }
        if self.inodes_per_group.is_some() && options.place == Place::Paths {
            anyhow::bail!("--inodes-per-group is of use with --place cylinder-groups or --published only");
        }
        match self.deletions {
            Some(Deleted::Uniform) => options.deletions = Deletions::Uniform,
            Some(Deleted::Lifetimes) => options.deletions = Deletions::Lifetimes,
            None => {}
        }
        match self.updates {
            Some(Updated::Rewrite) => options.updates = Updates::Rewrite,
            Some(Updated::Told) => options.updates = Updates::Told,
            None => {}
        }
        options.renames &= !self.no_renames;
        options.links &= !self.no_links;
        options.symlinks &= !self.no_symlinks;
        options.holes &= !self.no_holes;
        if let Some(every) = self.write_back_every {
            options.write_back_ns = Some(i64::try_from(every.as_nanos()).unwrap_or(i64::MAX));
        }
        if self.no_growth {
            options.write_back_ns = None;
        }
        if let Some(set) = &self.short_lived {
            let mut short_lived = ShortLived::published(ActivitySet::load(set)?);
            short_lived.bytes_per_profile = self.bytes_per_profile.unwrap_or(short_lived.bytes_per_profile);
            options.short_lived = Some(short_lived);
        }
        Ok(options)
    }
}
