//! The cells of an experiment's matrix.

use super::spec::{Experiment, Scale, Variant};
use crate::Error;
use crate::manifest::{Home, Made};
use crate::workload::Workload;
use std::path::PathBuf;

/// A file system with a setting and a seed, aged in rounds.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Its name, which tells it from the other cells of the experiment.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// The setting.
    pub variant: Variant,
    /// What all that is random is drawn from.
    pub seed: u64,
    /// What ages it.
    pub workload: Workload,
}

/// All cells of a scale.
pub(super) fn cells(experiment: &Experiment, scale: &Scale) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for seed in &scale.seeds {
        for variant in experiment.variants() {
            let workload = experiment.workload(scale, &variant).map_err(Error::Refused)?;
            for fs in &experiment.fs {
                let parts = [fs.as_str(), &variant.name, &format!("seed {seed}")].map(str::to_owned);
                let shown =
                    |(at, part): &(usize, String)| !part.is_empty() && (*at < 2 || scale.seeds.len() > 1);
                let named = parts.into_iter().enumerate().filter(shown).map(|(_, part)| part);
                cells.push(Cell {
                    name: named.collect::<Vec<_>>().join(", "),
                    fs: fs.clone(),
                    variant: variant.clone(),
                    seed: *seed,
                    workload: workload.clone(),
                });
            }
        }
    }
    Ok(cells)
}

impl Cell {
    /// The file system to make, in an image at `path`.
    pub fn made(&self, size_bytes: u64, path: PathBuf) -> Result<Made, Error> {
        let kind = fs::find(&self.fs)?;
        let room = self.workload.inodes()?.map(|inodes| kind.room_for(size_bytes, inodes));
        Ok(Made {
            home: Home::Image(path),
            fs: self.fs.clone(),
            size_bytes,
            plan_mkfs_opts: room.unwrap_or_default(),
            mkfs_opts: self.variant.mkfs_opts.split_whitespace().map(str::to_owned).collect(),
            mount_opts: self
                .variant
                .mount_opts
                .split(',')
                .filter(|option| !option.is_empty())
                .map(str::to_owned)
                .collect(),
            read_ahead_kb: READ_AHEAD_KB,
        })
    }
}

/// The kernel's own for most disks.
const READ_AHEAD_KB: u32 = 128;
