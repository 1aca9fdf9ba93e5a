//! Combinations of options that a file system does not know.

use crate::Error;
use crate::age::AgeSpec;
use crate::work::Work;
use disk::Session;
use fs::{Location, VolumeConfig};
use results::Watch;
use std::path::Path;
use std::sync::Arc;

/// The agings whose file systems can be made and mounted with their options. Each combination is tried once, on an empty image; those that fail
/// are told and left out.
///
/// # Errors
/// If a file system, or an option of mkfs or mount, can be made in no combination: it is a mistake of the user.
pub fn makeable(agings: Vec<AgeSpec>, watch: &mut dyn Watch) -> Result<Vec<AgeSpec>, Error> {
    let Some(first) = agings.first() else { return Ok(agings) };
    let work = Work::take(&first.work)?;
    let session = Session::begin()?;
    let mut tried: Vec<(VolumeConfig, Option<fs::Error>)> = Vec::new();
    for spec in &agings {
        if tried.iter().all(|(volume, _)| !is_alike(volume, &spec.volume)) {
            let failed = make(&session, spec).err();
            if disk::interrupted() {
                return Err(crate::interrupted());
            }
            tried.push((spec.volume.clone(), failed));
        }
    }
    drop(work);
    for (of, failed) in &tried {
        let Some(why) = failed else { continue };
        for (at, what) in parts(of).into_iter().enumerate() {
            let mut with_it = tried.iter().filter(|(volume, _)| parts(volume)[at] == what);
            if with_it.all(|(_, failed)| failed.is_some()) {
                return Err(Error::Refused(format!("nothing in the matrix can be made with {what}: {why}")));
            }
        }
        watch.say(&format!("left out: {}: {why}", in_words(of)));
    }
    let can_be_made = |spec: &AgeSpec| {
        tried.iter().any(|(volume, failed)| failed.is_none() && is_alike(volume, &spec.volume))
    };
    Ok(agings.into_iter().filter(can_be_made).collect())
}

/// Makes and mounts the file system on an image of its own, and removes it.
fn make(session: &Arc<Session>, spec: &AgeSpec) -> Result<(), fs::Error> {
    let dir = spec.volume.location.path().parent().unwrap_or(Path::new("/"));
    let is_new = !dir.exists();
    let location = Location::Image(dir.join(format!(".{}.trial.img", spec.name)));
    // What a killed trial left.
    location.remove_incomplete()?;
    let mut volume = spec.volume.at(location);
    let made = fs::make(session, &mut volume, None)
        .and_then(|target| target.close())
        .and_then(|()| volume.location.remove());
    if is_new {
        // Fails as intended if another run uses it too.
        let _ = std::fs::remove_dir(dir);
    }
    made
}

/// Whether two file systems are made alike.
fn is_alike(a: &VolumeConfig, b: &VolumeConfig) -> bool {
    let of = |volume: &VolumeConfig| {
        (volume.fs.clone(), volume.mkfs_opts.clone(), volume.mount_opts.clone(), volume.size_bytes)
    };
    of(a) == of(b)
}

/// What can be wrong with a combination, in words.
fn parts(of: &VolumeConfig) -> [String; 3] {
    [
        of.fs.clone(),
        format!("mkfs options {:?}", of.mkfs_opts.join(" ")),
        format!("mount options {:?}", of.mount_opts.join(",")),
    ]
}

fn in_words(volume: &VolumeConfig) -> String {
    let mut words = vec![volume.fs.clone()];
    if !volume.mkfs_opts.is_empty() {
        words.push(format!("mkfs options {}", volume.mkfs_opts.join(" ")));
    }
    if !volume.mount_opts.is_empty() {
        words.push(format!("mount options {}", volume.mount_opts.join(",")));
    }
    words.join(", ")
}
