//! Arguments of `senesce trace from-snapshots`.

use crate::units;
use anyhow::Result;
use clap::{Args, ValueEnum};
use snapshot::activity::ActivitySet;
use std::path::PathBuf;
use std::time::Duration;
use workload::snapshots::{Deletions, Options, Placement, ShortLived, Updates};

/// Where files go.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Placed {
    /// The directories and names of the snapshots
    Paths,
    /// One directory per cylinder group, as published
    CylinderGroups,
}

/// When what is gone was deleted.
#[derive(Clone, Copy, ValueEnum)]
pub enum Deleted {
    /// Uniformly between two snapshots, as published
    Uniform,
    /// From lifetimes fitted to the snapshots
    Lifetimes,
}

/// What was done to files that were modified.
#[derive(Clone, Copy, ValueEnum)]
pub enum Updated {
    /// Truncate and rewrite, as published
    Rewrite,
    /// Infer from sizes, times and extents: append, truncate, overwrite or rewrite
    #[value(alias = "told")]
    Inferred,
}

#[derive(Args)]
pub struct FromSnapshots {
    /// Snapshots of one file system or directory, in chronological order; a directory stands for all snapshots in it
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,
    /// Defaults as published (Smith & Seltzer 1997); the options below override them
    #[arg(long)]
    pub published: bool,
    /// Placement of files [default: paths]
    #[arg(long, value_enum)]
    pub place: Option<Placed>,
    /// Inodes per cylinder group [default: the default of the file system]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub inodes_per_group: Option<u64>,
    /// Times of deletions [default: lifetimes]
    #[arg(long, value_enum)]
    pub deletions: Option<Deleted>,
    /// Operations on modified files [default: inferred]
    #[arg(long, value_enum)]
    pub updates: Option<Updated>,
    /// Replace renames by a deletion and a creation
    #[arg(long)]
    pub no_renames: bool,
    /// Leave out hard links
    #[arg(long)]
    pub no_links: bool,
    /// Leave out symbolic links
    #[arg(long)]
    pub no_symlinks: bool,
    /// Write files without holes
    #[arg(long)]
    pub no_holes: bool,
    /// Write every file at once, even where it grew over time
    #[arg(long)]
    pub no_growth: bool,
    /// Write-back interval of the real file system; a file that was written for longer is written in one piece per
    /// interval [default: 30s; with --published every file is written at once]
    #[arg(long, value_name = "TIME", value_parser = units::time, conflicts_with = "no_growth")]
    pub write_back_every: Option<Duration>,
    /// Add short-lived files from this activity profile set: file, or `builtin`
    #[arg(long, value_name = "SET")]
    pub short_lived: Option<PathBuf>,
    /// File-system size per daily activity profile [default: 40MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, requires = "short_lived")]
    pub bytes_per_profile: Option<u64>,
    /// Random seed
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Trace to write; its labels file is written beside it
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl FromSnapshots {
    /// The workload options that these arguments select.
    pub fn options(&self) -> Result<Options> {
        let mut options = match self.published {
            true => Options::published(self.seed),
            false => Options::full_metadata(self.seed),
        };
        let by_group = Placement::CylinderGroups { inodes_per_group: self.inodes_per_group };
        match self.place {
            Some(Placed::Paths) => options.placement = Placement::Paths,
            Some(Placed::CylinderGroups) => options.placement = by_group,
            None if options.placement != Placement::Paths => options.placement = by_group,
            None => {}
        }
        if self.inodes_per_group.is_some() && options.placement == Placement::Paths {
            anyhow::bail!("--inodes-per-group is of use with --place cylinder-groups or --published only");
        }
        match self.deletions {
            Some(Deleted::Uniform) => options.deletions = Deletions::Uniform,
            Some(Deleted::Lifetimes) => options.deletions = Deletions::Lifetimes,
            None => {}
        }
        match self.updates {
            Some(Updated::Rewrite) => options.updates = Updates::Rewrite,
            Some(Updated::Inferred) => options.updates = Updates::Inferred,
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
