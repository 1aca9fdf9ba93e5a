//! What a gate ages, and how it measures that.

use crate::age::AgeSpec;
use crate::compare::CompareSpec;
use fs::{Location, VolumeConfig};
use probe::Reader;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use workload::profile::ByProfile;

/// All that the agings of a gate have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name of the agings, to which their seeds are appended.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Options of mkfs.
    pub mkfs_opts: Vec<String>,
    /// Mount options.
    pub mount_opts: Vec<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Whether images are in memory.
    pub memory: bool,
    /// The aging.
    pub aging: ByProfile,
    /// Cold scans of each side, averaged.
    pub repeat: u64,
    /// The program that reads.
    pub reader: Reader,
    /// The device model of the modelled times, if it is not the default.
    pub disk: Option<String>,
    /// Whether a new large file is written.
    pub new_file: bool,
}

/// Where the agings of a gate are.
#[derive(Clone, Debug)]
pub struct Place {
    /// The work directory.
    pub work: PathBuf,
    /// The directory of their images.
    pub images: PathBuf,
    /// The kernel, in a virtual machine.
    pub kernel: Option<vm::Kernel>,
    /// The full command line, for the record.
    pub command: String,
}

impl Recipe {
    /// The agings with these seeds. `part` tells them from other agings by the same recipe.
    pub fn agings(&self, seeds: &[u64], part: &str, place: &Place) -> Vec<AgeSpec> {
        seeds.iter().map(|seed| self.aging(*seed, part, place)).collect()
    }

    fn aging(&self, seed: u64, part: &str, place: &Place) -> AgeSpec {
        let name = format!("{}-{part}-{seed}", self.name);
        let image = Location::Image(place.images.join(format!("{name}.img")));
        let volume = VolumeConfig {
            mkfs_opts: self.mkfs_opts.clone(),
            mount_opts: self.mount_opts.clone(),
            kernel: place.kernel.clone(),
            ..VolumeConfig::new(image, &self.fs, self.size_bytes)
        };
        let workload = Arc::new(self.aging.clone());
        let spec = AgeSpec::new(&name, place.work.clone(), volume, workload, seed, &place.command);
        AgeSpec { replicate: true, ..spec }
    }

    /// How they are compared with their unaged copies.
    pub fn comparison(&self, place: &Place) -> CompareSpec {
        CompareSpec {
            aged: Vec::new(),
            work: place.work.clone(),
            repeat: self.repeat,
            reader: self.reader,
            disk: self.disk.clone(),
            new_file: self.new_file,
            resume: false,
            command: place.command.clone(),
        }
    }
}
