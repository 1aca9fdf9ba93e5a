//! The state of an earlier aging, and what remains to be done.

use super::outcome::{Aged, RoundsResult};
use super::spec::AgeSpec;
use crate::Error;
use crate::manifest::{Manifest, Stage};
use fs::{Location, VolumeConfig};
use replay::{Data, OnFull};
use results::Store;
use workload::Segment;

/// What there is of an aging.
pub(super) enum Begun {
    /// It is complete.
    Done(Box<Aged>),
    /// It is to be started, or continued.
    Incomplete(Box<Manifest>),
}

/// Finds an earlier aging of the same name, which may be continued. Removes the half-made file system of a killed one.
pub(super) fn begin(spec: &AgeSpec, store: &Store) -> Result<Begun, Error> {
    let (work, name) = (spec.work.display(), &spec.name);
    let by_profile = spec.workload.as_profile().is_some();
    let refuse = |advice: &str| Err(Error::Refused(format!("{name} was already aged in {work}{advice}")));
    match Manifest::load(&spec.work, name)? {
        // Killed before anything was aged, or by a workload that starts over: there is nothing to resume and nothing to lose.
        Some(manifest) if manifest.stage == Stage::Making => {
            manifest.volume.location.remove_incomplete()?;
            Ok(Begun::Incomplete(Box::new(new(spec))))
        }
        Some(manifest) if spec.resume && by_profile => {
            resume(spec, manifest).map(|manifest| Begun::Incomplete(Box::new(manifest)))
        }
        Some(manifest) if spec.resume => match done(spec, &manifest, store)? {
            Some(aged) => Ok(Begun::Done(Box::new(aged))),
            None => refuse(
                " with other options; repeat these to see its results, or choose another --name or --work",
            ),
        },
        Some(_) if by_profile => refuse("; continue with --resume, or choose another --name or --work"),
        Some(_) => refuse("; choose another --name or --work"),
        None if spec.resume && by_profile => {
            Err(Error::Refused(format!("{work} contains no aging named {name} to resume")))
        }
        None => Ok(Begun::Incomplete(Box::new(new(spec)))),
    }
}

/// The manifest of a new aging.
fn new(spec: &AgeSpec) -> Manifest {
    let by_profile = spec.workload.as_profile().is_some();
    Manifest {
        version: Manifest::version(),
        name: spec.name.clone(),
        volume: spec.volume.clone(),
        mkfs: None,
        fs_version: String::new(),
        data: if by_profile { spec.data() } else { Data::Write },
        on_full: if by_profile { spec.on_full } else { OnFull::Stop },
        fill: spec.fill,
        replicate: spec.replicate,
        segments: spec.conditions().map(|conditions| Segment { conditions, done: 0 }).into_iter().collect(),
        aged_by: spec.aged_by(),
        redo_to: 0,
        stage: Stage::Making,
        run: 0,
    }
}

/// The outcome of an earlier aging by a workload with the same parameters.
fn done(spec: &AgeSpec, earlier: &Manifest, store: &Store) -> Result<Option<Aged>, Error> {
    let plan_mkfs_opts = earlier.volume.plan_mkfs_opts.clone();
    let parameters = spec.parameters(&VolumeConfig { plan_mkfs_opts, ..spec.volume.clone() }, 1);
    match store.last_done("age", &spec.name, &parameters)?.filter(|run| *run == earlier.run()) {
        Some(run) => Ok(RoundsResult::load(store, run)?.map(|rounds| Aged { profile: None, rounds })),
        None => Ok(None),
    }
}

/// Continues an aging by a profile, possibly under changed conditions.
fn resume(spec: &AgeSpec, mut manifest: Manifest) -> Result<Manifest, Error> {
    let name = &spec.name;
    let (Some(earlier), Some(conditions)) = (manifest.conditions(), spec.conditions()) else {
        return Err(Error::Refused(format!(
            "{name} was aged by a workload and cannot continue with a profile; choose another --name"
        )));
    };
    let changed = conditions != *earlier;
    let plan_mkfs_opts = manifest.volume.plan_mkfs_opts.clone();
    let asked = VolumeConfig { plan_mkfs_opts, ..spec.volume.clone() };
    let asked = match &manifest.volume.location {
        // The directory got its path when it was made.
        Location::Dir(dir) => asked.at(Location::Dir(dir.clone())),
        _ => asked,
    };
    if asked != manifest.volume {
        return Err(Error::Refused(format!(
            "{name} was created with other options (file system, size, place, mkfs or mount options); resume it \
             with the same options, or choose another --name"
        )));
    }
    if changed {
        if manifest.redo_to > manifest.segments.last().map_or(0, |segment| segment.done) {
            return Err(Error::Refused(format!(
                "{name} was killed; resume it once with its old options before changing them"
            )));
        }
        manifest.segments.push(Segment { conditions, done: 0 });
        manifest.redo_to = 0;
    }
    manifest.data = spec.data();
    manifest.on_full = spec.on_full;
    manifest.fill = spec.fill;
    manifest.stage = Stage::Replaying;
    Ok(manifest)
}
