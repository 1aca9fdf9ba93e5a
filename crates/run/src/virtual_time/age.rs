//! Ages file systems that this kernel lacks, in the machine that measures them.

use super::kernel_for;
use super::machine::Machine;
use crate::Error;
use crate::age::{self, AgeSpec, ProfileResult};
use crate::manifest::Manifest;
use fs::{Location, VolumeConfig};
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use workload::profile::ByProfile;

/// The work directory in the machine.
const WORK: &str = "/work";

/// An aging in a machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct AgeJob {
    /// Name of the aged file system.
    pub name: String,
    /// The file system to make.
    pub volume: VolumeConfig,
    /// The profile, and how far it ages.
    pub workload: ByProfile,
    /// The random seed.
    pub seed: u64,
}

/// What a machine aged.
#[derive(Debug, Serialize, Deserialize)]
pub struct AgedThere {
    manifest: Manifest,
    profile: ProfileResult,
}

impl AgeJob {
    /// Ages, in the machine.
    pub fn perform(self, watch: &mut dyn Watch) -> Result<AgedThere, Error> {
        let work = Path::new(WORK);
        // The disk has a file of its size at this path, which an aging would take for an older image.
        self.volume.location.remove_incomplete()?;
        let AgeJob { name, volume, workload, seed } = self;
        let spec = AgeSpec::new(&name, work.to_owned(), volume, Arc::new(workload), seed, "");
        let aged = age::age(&spec, watch)?;
        let profile = aged.profile.expect("it is aged by a profile");
        Ok(AgedThere { manifest: Manifest::load_aged(work, &name)?, profile })
    }
}

/// Ages a file system in an image in a machine with a virtual clock. The manifest in the work directory names its kernel.
///
/// # Errors
/// If the volume is not an image, no kernel is at hand, or the aging fails; then no image remains.
pub fn age(
    work: &Path,
    name: &str,
    volume: &VolumeConfig,
    workload: ByProfile,
    seed: u64,
) -> Result<ProfileResult, Error> {
    let Location::Image(image) = &volume.location else {
        return Err(Error::Refused(format!("{name}: virtual time needs an image")));
    };
    let kind = fs::find(&volume.fs)?;
    fs::require_tools(kind)?;
    let kernel = kernel_for(kind)?;
    let job = AgeJob { name: name.to_owned(), volume: volume.clone(), workload, seed };
    let aged: AgedThere = Machine::new(kind).age(&kernel, image, job)?;
    let manifest = Manifest {
        volume: VolumeConfig { kernel: Some(kernel), ..aged.manifest.volume.at(volume.location.clone()) },
        run: 0,
        ..aged.manifest
    };
    manifest.save(work)?;
    Ok(aged.profile)
}
