//! The cells of an experiment's matrix.

use super::spec::{Experiment, Scale, Variant};
use super::task::Task;
use fs::{Location, VolumeConfig};
use run::Error;
use std::sync::Arc;

/// A file system with a setting and a seed, and its task for each round.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// The name, unique within the experiment; empty for disks alone with one seed.
    pub name: String,
    /// Kind of file system; empty for disks alone.
    pub fs: String,
    /// The setting.
    pub variant: Variant,
    /// The random seed.
    pub seed: u64,
    /// The task.
    pub task: Arc<dyn Task>,
}

/// All cells of a scale. The task follows from the setting and the file system.
pub(super) fn cells(experiment: &Experiment, scale: &Scale) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for seed in &scale.seeds {
        for variant in experiment.variants() {
            for fs in experiment.file_systems() {
                let parts = [fs, &variant.name, &format!("seed {seed}")].map(str::to_owned);
                let shown =
                    |(at, part): &(usize, String)| !part.is_empty() && (*at < 2 || scale.seeds.len() > 1);
                let named = parts.into_iter().enumerate().filter(shown).map(|(_, part)| part);
                cells.push(Cell {
                    name: named.collect::<Vec<_>>().join(", "),
                    fs: fs.to_owned(),
                    variant: scale.variant_on(fs, &variant),
                    seed: *seed,
                    task: experiment.task(scale, &variant, fs).map_err(Error::Refused)?,
                });
            }
        }
    }
    Ok(cells)
}

impl Cell {
    /// The file system to create at `location`, with space for `inodes` files and directories if that number is known.
    pub fn volume(
        &self,
        size_bytes: u64,
        location: Location,
        inodes: Option<u64>,
    ) -> Result<VolumeConfig, Error> {
        let kind = fs::find(&self.fs)?;
        let room = inodes.map(|inodes| kind.mkfs_opts_for_inodes(size_bytes, inodes));
        let Variant { mkfs_opts, mount_opts, read_ahead_kb, .. } = &self.variant;
        Ok(VolumeConfig {
            plan_mkfs_opts: room.unwrap_or_default(),
            mkfs_opts: mkfs_opts.split_whitespace().map(str::to_owned).collect(),
            mount_opts: mount_opts.split(',').filter(|opt| !opt.is_empty()).map(str::to_owned).collect(),
            read_ahead_kb: read_ahead_kb.unwrap_or(fs::READ_AHEAD_KB),
            ..VolumeConfig::new(location, &self.fs, size_bytes)
        })
    }
}
