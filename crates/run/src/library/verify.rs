//! Verification of a saved image: every byte of its file, and on request the restored file system.

use super::{Image, Key, Scores};
use crate::Error;
use archive::ArchiveContents;
use disk::{Scratch, Session};
use fs::Location;
use results::Watch;
use serde::Serialize;
use std::path::Path;

/// The result of a verification.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedImage {
    /// Its name.
    pub name: String,
    /// The contents, all of them undamaged.
    pub contents: ArchiveContents,
    /// The key that signed the manifest, if one was requested.
    pub signed_by: Option<String>,
    /// The result for the restored file system, if requested.
    pub deep: Option<DeepCheck>,
}

/// The result for the restored file system.
#[derive(Clone, Debug, Serialize)]
pub struct DeepCheck {
    /// The command line of the checker of the file system, which found no errors.
    pub checker: String,
    /// The layout, free space and extent maps, which match the manifest.
    pub scores: Scores,
}

/// Verifies the saved image in `file`. With `scratch`, restores it below that directory, checks it, compares it with its manifest and
/// removes it.
pub fn verify(
    file: &Path,
    key: Option<&Key>,
    scratch: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<VerifiedImage, Error> {
    let image = Image::open(file, key)?;
    let name = image.about.name().to_owned();
    let deep = match scratch {
        None => {
            image.archive.verify(&mut super::progress(watch, &format!("{name}: checksums")))?;
            None
        }
        Some(dir) => Some(deep(&image, dir, watch)?),
    };
    let contents = image.archive.manifest().contents;
    Ok(VerifiedImage { name, contents, signed_by: key.map(Key::id), deep })
}

fn deep(image: &Image, dir: &Path, watch: &mut dyn Watch) -> Result<DeepCheck, Error> {
    let name = image.about.name();
    let session = Session::begin()?;
    let dir = std::fs::canonicalize(dir).map_err(Error::io("finding", dir))?;
    let scratch = Scratch::make(&session, &dir, "senesce-image")?;
    let path = scratch.path().join("restored.img");
    image.restore(&path, watch)?;
    watch.phase(&format!("{name}: checking the file system"), None);
    let volume = &image.about.aged.volume;
    let mut target = fs::open(&session, &volume.at(Location::Image(path)).read_only())?;
    let checked = target.check();
    let scores = Scores::of(target.as_mut());
    target.close()?;
    drop(scratch);
    let check = checked?.ok_or_else(|| Error::Failed(format!("{} has no checker", volume.fs)))?;
    if !check.clean {
        let said = check.output.trim();
        return Err(Error::Failed(format!(
            "{name}: the restored copy is not clean: `{}` reports: {said}",
            check.command
        )));
    }
    let scores = scores?;
    let differs = differing(&scores, &image.about.scores);
    if !differs.is_empty() {
        let differs = differs.join(", ");
        return Err(Error::Failed(format!(
            "{name}: the restored copy does not match its manifest: {differs} differ; this kernel or program \
             may report them differently, so compare by hand"
        )));
    }
    Ok(DeepCheck { checker: check.command, scores })
}

/// The scores that differ.
fn differing(a: &Scores, b: &Scores) -> Vec<&'static str> {
    let same = [
        ("files", a.census == b.census),
        ("layout scores", a.layout == b.layout),
        ("extent maps", a.extents_sha256 == b.extents_sha256),
        ("free extents", a.free == b.free),
        ("the tree", a.tree == b.tree),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(what, _)| what).collect()
}
