//! Verifying a saved image: every byte of its file; and, if asked, the file system that comes of it.

use super::{Image, Key, Scores};
use crate::Error;
use crate::manifest::{Home, Made};
use disk::{Scratch, Session};
use results::Watch;
use saved::Contents;
use serde::Serialize;
use std::path::Path;

/// What a saved image was found to be.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// What it holds: all of it, and nothing is damaged.
    pub contents: Contents,
    /// The key that signed its manifest, if one was asked for.
    pub signed_by: Option<String>,
    /// What came of restoring it, if that was asked for.
    pub deep: Option<Deep>,
}

/// What was found of the restored file system.
#[derive(Clone, Debug, Serialize)]
pub struct Deep {
    /// How the file system's own checker was called, which found it clean.
    pub checker: String,
    /// Its layout, free space and extent maps, which are those in the manifest.
    pub scores: Scores,
}

/// Verifies the saved image in `file`. With `scratch` it is restored below that directory, checked, compared with its manifest and removed.
pub fn check(
    file: &Path,
    key: Option<&Key>,
    scratch: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Checked, Error> {
    let image = Image::open(file, key)?;
    let name = image.about.name().to_owned();
    let deep = match scratch {
        None => {
            image.saved.verify(&mut super::progress(watch, &format!("{name}: checksums")))?;
            None
        }
        Some(dir) => Some(deep(&image, dir, watch)?),
    };
    let contents = image.saved.manifest().contents;
    Ok(Checked { name, contents, signed_by: key.map(Key::id), deep })
}

fn deep(image: &Image, dir: &Path, watch: &mut dyn Watch) -> Result<Deep, Error> {
    let name = image.about.name();
    let session = Session::begin()?;
    let dir = std::fs::canonicalize(dir).map_err(Error::io("finding", dir))?;
    let scratch = Scratch::make(&session, &dir, "senesce-image")?;
    let path = scratch.path().join("restored.img");
    image.restore(&path, watch)?;
    watch.phase(&format!("{name}: checking the file system"), None);
    let made = &image.about.aged.made;
    let mount_opts = [&made.mount_opts[..], &["ro".to_owned()]].concat();
    let mut target =
        crate::age::open(&session, &Made { home: Home::Image(path), mount_opts, ..made.clone() })?;
    let checked = target.check();
    let scores = Scores::of(target.as_mut());
    target.close()?;
    drop(scratch);
    let check = checked?.ok_or_else(|| Error::Failed(format!("{} has no checker", made.fs)))?;
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
    Ok(Deep { checker: check.command, scores })
}

/// What is not the same in both.
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
