//! The fragments of a new large file. It has the same size on all sides, limited by the fullest one; either all sides are recorded or none.

use super::{Effect, Probe, ProbeSubmission, Survey};
use crate::aged_pair::{AgedPair, named};
use crate::{Error, space};
use results::measures;
use rustix::fs::StatVfsMountFlags;

struct NewFile;

inventory::submit!(ProbeSubmission(&NewFile));

impl Probe for NewFile {
    fn effect(&self) -> Effect {
        Effect::Writes
    }

    fn measure(&self, survey: &Survey, pair: &mut AgedPair) -> Result<(), Error> {
        let is_wanted = survey.new_file && pair.filled;
        if !is_wanted || pair.targets().any(|(_, target)| !target.supports_fiemap()) {
            return Ok(());
        }
        let size = match size(pair)? {
            Ok(size) => size,
            Err(why) => {
                survey.explain(pair, &format!("fragments of a new file: not measured, because {why}"));
                return Ok(());
            }
        };
        let new = pair.each("new file", 1, |turn| Ok(probe::new_file(turn.target.root(), size)?))?;
        let numbers = new.iter().flat_map(|(subject, files)| {
            files.iter().flat_map(|file| {
                [
                    measures::NEW_FILE_BYTES.once(subject, file.bytes as f64),
                    measures::NEW_FILE_FRAGMENTS.once(subject, file.fragments as f64),
                    measures::NEW_FILE_WRITE_S.once(subject, file.write_s),
                ]
            })
        });
        Ok(pair.record(&numbers.collect::<Vec<_>>())?)
    }
}

/// The size of the file in bytes, or why none can be written.
fn size(pair: &AgedPair) -> Result<Result<u64, String>, Error> {
    let mut fullest = (u64::MAX, "");
    for (subject, target) in pair.targets() {
        let root = target.root();
        let mount = rustix::fs::statvfs(root).map_err(|e| Error::io("checking", root)(e.into()))?;
        if mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Ok(Err(format!("the {} side is mounted read-only", named(subject))));
        }
        fullest = fullest.min((disk::free_bytes(root)?, named(subject)));
    }
    let (free, side) = fullest;
    let Some(size) = probe::new_file_bytes(free) else {
        return Ok(Err(format!("the {side} side has only {} free", input::bytes(free))));
    };
    let room = pair
        .volume
        .zip(pair.work)
        .map_or(Ok(()), |(volume, work)| space::check_new_files(&volume.location, work, size));
    Ok(room.map(|()| size))
}
