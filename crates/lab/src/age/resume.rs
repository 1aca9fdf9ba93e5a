//! The state of an earlier aging, and what remains to be done.

use super::AgeSpec;
use crate::Error;
use crate::manifest::{Manifest, Stage};
use fs::{Location, VolumeConfig};
use rustix::fs::{AtFlags, FileType, unlinkat};
use std::path::Path;
use trace::{TraceDigest, TraceInfo, TraceWriter};
use workload::{Planner, Segment};

/// The manifest to start from: a new one, or that of an interrupted aging.
pub(super) fn manifest(spec: &AgeSpec) -> Result<Manifest, Error> {
    let (work, name) = (spec.work.display(), &spec.name);
    let found = Manifest::load(&spec.work, name)?;
    match (found, spec.resume) {
        // Killed before anything was aged: there is nothing to resume and nothing to lose.
        (Some(manifest), _) if manifest.stage == Stage::Making => {
            manifest.volume.location.remove_incomplete()?;
            Ok(new(spec))
        }
        (Some(manifest), true) => go_on(spec, manifest),
        (Some(_), false) => Err(Error::Refused(format!(
            "{name} was already aged in {work}; continue with --resume, or choose another --name or --work"
        ))),
        (None, true) => Err(Error::Refused(format!("{work} contains no aging named {name} to resume"))),
        (None, false) => Ok(new(spec)),
    }
}

/// The manifest of a new aging.
fn new(spec: &AgeSpec) -> Manifest {
    Manifest {
        version: Manifest::version(),
        name: spec.name.clone(),
        volume: spec.volume.clone(),
        mkfs: None,
        fs_version: String::new(),
        data: spec.data(),
        on_full: spec.on_full,
        fill: spec.fill,
        segments: vec![Segment { conditions: spec.conditions.clone(), done: 0 }],
        aged_by: None,
        redo_to: 0,
        stage: Stage::Making,
        run: 0,
    }
}

fn go_on(spec: &AgeSpec, mut manifest: Manifest) -> Result<Manifest, Error> {
    let Some(conditions) = manifest.conditions() else {
        return Err(Error::Refused(format!(
            "{} was aged by a workload and cannot continue with a profile; choose another --name",
            spec.name
        )));
    };
    let changed = spec.conditions != *conditions;
    let location = manifest.volume.location.clone();
    let plan_mkfs_opts = manifest.volume.plan_mkfs_opts.clone();
    let asked = match location {
        // The directory got its path when it was made.
        Location::Dir(_) => VolumeConfig { location, plan_mkfs_opts, ..spec.volume.clone() },
        _ => VolumeConfig { plan_mkfs_opts, ..spec.volume.clone() },
    };
    if asked != manifest.volume {
        return Err(Error::Refused(format!(
            "{} was created with other options (file system, size, place, mkfs or mount options); resume it \
             with the same options, or choose another --name",
            spec.name
        )));
    }
    if changed {
        if manifest.redo_to > manifest.segments.last().map_or(0, |segment| segment.done) {
            return Err(Error::Refused(format!(
                "{} was killed; resume it once with its old options before changing them",
                spec.name
            )));
        }
        manifest.segments.push(Segment { conditions: spec.conditions.clone(), done: 0 });
        manifest.redo_to = 0;
    }
    manifest.data = spec.data();
    manifest.on_full = spec.on_full;
    manifest.fill = spec.fill;
    manifest.stage = Stage::Replaying;
    Ok(manifest)
}

/// Removes the files that a killed replay created after its last checkpoint: those numbered `next` and higher, because files are numbered
/// in creation order. Their creation is repeated, and until then they would occupy space.
pub(super) fn roll_back(root: &Path, next: u64) -> Result<(), Error> {
    fs::walk(root, |entry| {
        let number = entry.name.to_str().ok().and_then(|name| name.strip_prefix('f'));
        let number = number.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        if entry.file_type == FileType::RegularFile && number.is_some_and(|number| number >= next) {
            unlinkat(entry.dir, entry.name, AtFlags::empty())?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The planner of the last segment before its first operation. The operations of earlier segments go through the digest and into the
/// trace.
pub(super) fn last_segment(
    segments: &[Segment],
    digest: &mut TraceDigest,
    mut writer: Option<&mut TraceWriter>,
) -> Result<Box<dyn Planner>, Error> {
    for (i, segment) in segments.iter().enumerate() {
        let planner = workload::resume(&segments[..i], &segment.conditions)?;
        if i + 1 == segments.len() {
            return Ok(planner);
        }
        let mut feed = crate::feed::Feed::new(planner, digest, writer.as_deref_mut());
        feed.skip(segment.done)?;
    }
    unreachable!("an aging has at least one segment")
}

/// Creates the requested trace file.
pub(super) fn trace_writer(spec: &AgeSpec) -> Result<Option<TraceWriter>, Error> {
    let info = TraceInfo {
        tool: results::TOOL.to_owned(),
        seed: Some(spec.conditions.seed),
        source: serde_json::to_value(spec.conditions.method)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .expect("a method is a JSON string"),
        parameters: serde_json::to_string(&spec.conditions).expect("plain data"),
        block_size: workload::BLOCK_BYTES,
    };
    Ok(spec.save_trace.as_ref().map(|path| TraceWriter::create(path, &info)).transpose()?)
}
