//! Checks whether snapshots can be compared, and reports what a comparison cannot determine. Everything that
//! uses several snapshots (a diff, a workload) runs these checks first.

use crate::time::utc;
use crate::{Attribute, Kind, Snapshot};
use std::fmt;

/// The reason why a snapshot is unusable, or why two do not match.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Mismatch {
    /// The clock was set back while the snapshot was taken.
    #[error(
        "it ended at {}, before it began at {}: the clock was set back; take it again",
        utc(*ended_ns), utc(*begun_ns)
    )]
    EndedBeforeBegun {
        /// Start time.
        begun_ns: i64,
        /// End time.
        ended_ns: i64,
    },
    /// The snapshots are of different file systems.
    #[error("the snapshots are of two file systems, {0} and {1}; give snapshots of one")]
    OtherFs(String, String),
    /// The snapshots are of different trees of one file system.
    #[error("the snapshots are of two directories, inodes {0} and {1}; give snapshots of one")]
    OtherRoot(u64, u64),
    /// One snapshot is from a listing without inode numbers.
    #[error(
        "one snapshot identifies files by inode numbers, the other, from a listing without these, by paths; \
         give snapshots of the same kind"
    )]
    OtherIdentity,
    /// The root was recreated.
    #[error(
        "their roots have the same inode number, {0}, but different creation times: the file system was \
         created anew, or they are of two subvolumes; give snapshots of one"
    )]
    NewRoot(u64),
    /// One snapshot has names and the other hashed names, or their keys differ.
    #[error("{}; give snapshots taken with one key, or all without", keys(.0, .1))]
    OtherKey(Option<String>, Option<String>),
    /// The second snapshot is older than the first.
    #[error("the first snapshot is later than the second ({} and {}); give the older one \
             first", utc(*.0), utc(*.1))]
    Order(i64, i64),
    /// The second snapshot began before the first ended.
    #[error(
        "the second snapshot began at {}, before the first ended at {}; give snapshots that do not overlap \
         in time",
        utc(*.1), utc(*.0)
    )]
    Overlap(i64, i64),
}

fn keys(a: &Option<String>, b: &Option<String>) -> String {
    match (a, b) {
        (Some(a), Some(b)) => format!("their names are hashed with two keys, {a} and {b}"),
        _ => "one has names and the other hashed names".to_owned(),
    }
}

/// A warning about missing or doubtful information of a snapshot or a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// Number of entries with a change time after the end of the snapshot: the clock has been set back since.
    FutureTimes(u64),
    /// Number of names that vanished, or became another file, before they were examined.
    Vanished(u64),
    /// Number of files with blocks at unknown addresses.
    Unmapped(u64),
    /// Missing attributes.
    MissingAttributes(Vec<Attribute>),
    /// It is unknown whether both are of the same file system.
    UnknownFs,
    /// Number of files and directories with neither a generation nor a birth time.
    NoIdentity(u64),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::FutureTimes(count) => write!(
                f,
                "{count} change times are after the end of the snapshot: the clock was set back; the order \
                 of these changes is unknown"
            ),
            Warning::Vanished(count) => {
                write!(f, "{count} names were gone or replaced when examined: moves of files may be missed")
            }
            Warning::Unmapped(count) => {
                write!(f, "{count} files have blocks with unknown positions: scores exclude them")
            }
            Warning::MissingAttributes(attributes) => {
                let names: Vec<&str> = attributes.iter().map(|attribute| attribute.name()).collect();
                write!(f, "its source does not provide: {}", names.join(", "))?;
                if attributes.contains(&Attribute::Inode) {
                    write!(
                        f,
                        "; files are identified by path, so a renamed file looks deleted and recreated"
                    )?;
                }
                Ok(())
            }
            Warning::UnknownFs => {
                write!(
                    f,
                    "the file system of one snapshot is unknown: make sure that both are of the same one"
                )
            }
            Warning::NoIdentity(count) => write!(
                f,
                "{count} inodes have neither a generation nor a birth time: a file deleted and another \
                 created in its inode look like one modified file"
            ),
        }
    }
}

/// Checks one snapshot; returns missing or doubtful information.
pub fn check(snapshot: &Snapshot) -> Result<Vec<Warning>, Mismatch> {
    let info = snapshot.info();
    if info.ended_ns < info.begun_ns {
        return Err(Mismatch::EndedBeforeBegun { begun_ns: info.begun_ns, ended_ns: info.ended_ns });
    }
    let future = snapshot.entries().iter().filter(|entry| entry.changed_ns > info.ended_ns).count() as u64;
    let counted = [
        (future, Warning::FutureTimes as fn(u64) -> Warning),
        (info.vanished, Warning::Vanished),
        (info.unmapped, Warning::Unmapped),
    ];
    let mut warnings: Vec<Warning> =
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, warning)| warning(count)).collect();
    if !info.lacks.is_empty() {
        warnings.push(Warning::MissingAttributes(info.lacks.clone()));
    }
    Ok(warnings)
}

/// Checks that `newer` was taken of the same file system after `older`; returns what a comparison cannot
/// determine. A snapshot matches itself. Does not check the individual snapshots: see [`check`].
pub fn check_pair(older: &Snapshot, newer: &Snapshot) -> Result<Vec<Warning>, Mismatch> {
    let (a, b) = (older.info(), newer.info());
    let (root_a, root_b) = (&older.entries()[0], &newer.entries()[0]);
    match (&a.fs_id, &b.fs_id) {
        (Some(a), Some(b)) if a != b => return Err(Mismatch::OtherFs(a.clone(), b.clone())),
        _ => {}
    }
    let known = |kind: &str| !matches!(kind, "" | "unknown");
    if a.fs != b.fs && known(&a.fs) && known(&b.fs) {
        return Err(Mismatch::OtherFs(a.fs.clone(), b.fs.clone()));
    }
    if a.lacks.contains(&Attribute::Inode) != b.lacks.contains(&Attribute::Inode) {
        return Err(Mismatch::OtherIdentity);
    }
    if root_a.inode != root_b.inode {
        return Err(Mismatch::OtherRoot(root_a.inode, root_b.inode));
    }
    if !root_a.may_be_same_file(root_b) {
        return Err(Mismatch::NewRoot(root_a.inode));
    }
    if a.key_id != b.key_id {
        return Err(Mismatch::OtherKey(a.key_id.clone(), b.key_id.clone()));
    }
    if (a.begun_ns, a.ended_ns) != (b.begun_ns, b.ended_ns) {
        if b.begun_ns < a.begun_ns {
            return Err(Mismatch::Order(a.begun_ns, b.begun_ns));
        }
        if b.begun_ns < a.ended_ns {
            return Err(Mismatch::Overlap(a.ended_ns, b.begun_ns));
        }
    }
    let mut warnings = Vec::new();
    if a.fs_id.is_none() || b.fs_id.is_none() {
        warnings.push(Warning::UnknownFs);
    }
    let nameless = newer.entries().iter().filter(|entry| {
        matches!(entry.kind, Kind::File | Kind::Dir) && entry.generation.is_none() && entry.born_ns.is_none()
    });
    let nameless = nameless.count() as u64;
    if nameless > 0 && !b.lacks.contains(&Attribute::Inode) {
        warnings.push(Warning::NoIdentity(nameless));
    }
    Ok(warnings)
}
