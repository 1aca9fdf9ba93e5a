//! The changes between snapshots of a real file system as a workload. A round is a snapshot.

use super::traced::Traced;
use super::{Driver, Named};
use crate::Error;
use activity::ActivitySet;
use digest::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::PathBuf;
use workload::snapshots::{Options, ShortLived, Workload, check_series, snapshot_files};

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
    pub short_lived: Named,
}

impl Snapshots {
    /// Reads all snapshots. Returns them pinned by their digest, with the last round, and the limitations of what they record.
    pub fn read(mut self) -> Result<(Snapshots, u64, Vec<String>), Error> {
        self.files = snapshot_files(&self.files)?;
        let warnings = check_series(&self.files)?;
        self.sha256 = Some(digest(&self.files)?);
        let last = self.files.len() as u64 - 1;
        Ok((self, last, warnings))
    }

    /// A digest that identifies the snapshots.
    pub(crate) fn fingerprint(&self) -> Result<String, Error> {
        digest(&snapshot_files(&self.files)?)
    }

    /// Refuses files that are not a series, have changed, or end before round `last`.
    pub(super) fn check(&self, last: u64) -> Result<(), Error> {
        let (found, there, _) = self.clone().read()?;
        if self.sha256.is_some() && self.sha256 != found.sha256 {
            return Err(Error::Refused("the snapshots have changed since the first run".to_owned()));
        }
        if last > there {
            return Err(Error::Refused(format!(
                "there are {} snapshots: the last round is {there}, and round {last} does not exist",
                found.files.len()
            )));
        }
        self.options(0).map(drop)
    }

    pub(super) fn driver(&self, seed: u64) -> Result<Box<dyn Driver>, Error> {
        let series = snapshot_files(&self.files)?;
        let workload = Workload::new(Box::new(series), self.options(seed)?)?;
        let labels = workload.labels();
        Ok(Box::new(Traced::new(Box::new(workload), seed, Some(labels))))
    }

    fn options(&self, seed: u64) -> Result<Options, Error> {
        let options = if self.published { Options::published(seed) } else { Options::full_metadata(seed) };
        let set = self.short_lived.as_deref().map(ActivitySet::load).transpose()?;
        Ok(Options { short_lived: set.map(ShortLived::published), ..options })
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
    use results::IgnoreProgress;
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
        let (snapshots, last, _) = named.clone().read().unwrap();
        assert_eq!((&snapshots.files, last), (&files, 1));
        assert_eq!(Some(named.fingerprint().unwrap()), snapshots.sha256);
        let root = tempfile::tempdir().unwrap();
        let size = || std::fs::metadata(root.path().join("file")).unwrap().len();
        let mut driver = snapshots.driver(1).unwrap();
        driver.advance(root.path(), 0, &mut IgnoreProgress).unwrap();
        assert_eq!(size(), 5000);
        driver.advance(root.path(), 1, &mut IgnoreProgress).unwrap();
        assert_eq!(size(), 7000);
        let refused = |snapshots: &Snapshots, last| snapshots.check(last).unwrap_err().to_string();
        assert!(refused(&snapshots, 2).contains("round 2 does not exist"));
        let without_set = Snapshots { short_lived: Some(dir.path().join("nowhere")), ..snapshots.clone() };
        assert!(refused(&without_set, 1).contains("nowhere"));
        taken(&files[1], 200, 7001);
        assert!(refused(&snapshots, 1).contains("have changed since the first run"));
        named.check(1).unwrap();
    }
}
