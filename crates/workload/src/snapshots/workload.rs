//! The changes between snapshots of a real file system as a workload. A round is a snapshot.

use super::{Extracted, Options, ShortLived, check_series, snapshot_files};
use crate::interface::last_of;
use crate::traced::Traced;
use crate::{Driver, Error, Pinned, Start, Workload};
use digest::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use snapshot::activity::ActivitySet;
use std::path::PathBuf;
use std::sync::Arc;

/// Snapshots of one file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshots {
    /// The snapshot files in order of time; a directory stands for all its files.
    pub files: Vec<PathBuf>,
    /// The expected digest of the snapshots, if any.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Whether the workload follows the published method only.
    #[serde(default)]
    pub published: bool,
    /// The set of activity profiles for short-lived files, if any: a file, or `builtin`.
    #[serde(default)]
    pub short_lived: Option<PathBuf>,
}

impl Snapshots {
    fn options(&self, seed: u64) -> Result<Options, Error> {
        let options = if self.published { Options::published(seed) } else { Options::full_metadata(seed) };
        let set = self.short_lived.as_deref().map(ActivitySet::load).transpose()?;
        Ok(Options { short_lived: set.map(ShortLived::published), ..options })
    }
}

#[typetag::serde(name = "snapshots")]
impl Workload for Snapshots {
    /// Refuses files that are not a series, have changed, or end before the last round.
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
        let files = snapshot_files(&self.files)?;
        check_series(&files)?;
        if self.sha256.is_some() && self.sha256 != Some(digest(&files)?) {
            return Err(Error::Refused("the snapshots have changed since the first run".to_owned()));
        }
        let (last, there) = (last_of(rounds), files.len() as u64 - 1);
        if last > there {
            return Err(Error::Refused(format!(
                "there are {} snapshots: the last round is {there}, and round {last} does not exist",
                files.len()
            )));
        }
        self.options(0).map(drop)
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let series = snapshot_files(&self.files)?;
        let extracted = Extracted::new(Box::new(series), self.options(start.seed)?)?;
        let labels = extracted.labels();
        Ok(Box::new(Traced::new(Box::new(extracted), start.seed, Some(labels))))
    }

    fn pin(&self) -> Result<Option<Pinned>, Error> {
        let files = snapshot_files(&self.files)?;
        let warnings = check_series(&files)?;
        let (sha256, last_round) = (Some(digest(&files)?), files.len() as u64 - 1);
        let workload = Arc::new(Snapshots { files, sha256, ..self.clone() });
        Ok(Some(Pinned { workload, last_round, warnings }))
    }

    fn fingerprint(&self, _last_round: u64) -> Result<Option<String>, Error> {
        digest(&snapshot_files(&self.files)?).map(Some)
    }
}

/// A digest of the contents of the files, in order.
fn digest(files: &[PathBuf]) -> Result<String, Error> {
    let mut all = Sha256::new();
    for path in files {
        let mut file = input::open(path).map_err(Error::io("opening", path))?;
        all.update(Digest::of_file(&mut file).map_err(Error::io("reading", path))?.0);
    }
    Ok(Digest::from(all).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_site::{advance, start};
    use snapshot::{Entry, Info, Kind, ROOT, SnapshotBuilder};
    use std::path::Path;

    /// A snapshot of a directory with one file of `size` bytes.
    fn taken(path: &Path, begun_ns: i64, size: u64) {
        let entry = |kind, inode| Entry {
            parent: ROOT,
            kind,
            inode,
            generation: Some(1),
            links: 1,
            size,
            allocated: size,
            changed_ns: begun_ns - 1,
            modified_ns: begun_ns - 1,
            born_ns: Some(1),
        };
        let info = Info { begun_ns, ended_ns: begun_ns, ..Info::default() };
        let mut builder = SnapshotBuilder::new(info, entry(Kind::Dir, 2));
        builder.add(entry(Kind::File, 12), b"file", &[]);
        builder.finish().save(path, true).unwrap();
    }

    #[test]
    fn rounds_are_snapshots_and_changed_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = ["a", "b"].iter().map(|name| dir.path().join(name)).collect();
        taken(&files[0], 100, 5000);
        taken(&files[1], 200, 7000);
        let named = Snapshots {
            files: vec![dir.path().to_owned()],
            sha256: None,
            published: false,
            short_lived: None,
        };
        let pinned = named.pin().unwrap().unwrap();
        let sha256 = named.fingerprint(1).unwrap();
        let snapshots = Snapshots { files, sha256, ..named.clone() };
        assert!(*pinned.workload == *(&snapshots as &dyn Workload) && pinned.last_round == 1);
        let root = tempfile::tempdir().unwrap();
        let size = || std::fs::metadata(root.path().join("file")).unwrap().len();
        let mut driver = start(&snapshots, 1);
        advance(driver.as_mut(), root.path(), 0).unwrap();
        assert_eq!(size(), 5000);
        advance(driver.as_mut(), root.path(), 1).unwrap();
        assert_eq!(size(), 7000);
        let refused = |snapshots: &Snapshots, last| snapshots.check(0, &[last]).unwrap_err().to_string();
        assert!(refused(&snapshots, 2).contains("round 2 does not exist"));
        let without_set = Snapshots { short_lived: Some(dir.path().join("nowhere")), ..snapshots.clone() };
        assert!(refused(&without_set, 1).contains("nowhere"));
        taken(&snapshots.files[1], 200, 7001);
        assert!(refused(&snapshots, 1).contains("have changed since the first run"));
        named.check(0, &[1]).unwrap();
    }
}
