//! Selects the parts of a snapshot that go into the workload.

use std::collections::{BTreeSet, HashMap, HashSet};

use snapshot::{Entry, Kind, ROOT, Snapshot, SnapshotBuilder};
use trace::is_valid_name;

use super::options::{Options, Placement};
use crate::Error;

/// The directory at the root for the findings of file system checkers. It belongs to the file system, not to
/// the tree, and a fresh file system may have its own.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// The longest target that Linux accepts for a symbolic link, in bytes.
const LONGEST_TARGET: u64 = 4095;

/// Reduces snapshots to the entries that go into the workload.
pub(super) struct View {
    placement: Placement,
    links: bool,
    symlinks: bool,
    /// Cylinder groups that have a directory.
    groups: BTreeSet<u64>,
}

impl View {
    pub fn new(options: &Options) -> View {
        let links = options.links && options.placement == Placement::Paths;
        View { placement: options.placement, links, symlinks: options.symlinks, groups: BTreeSet::new() }
    }

    /// The reduced snapshot, and the number of entries left out because no operation creates them.
    pub fn of(&mut self, snapshot: Snapshot, name: &str) -> Result<(Snapshot, u64), Error> {
        let entries = snapshot.entries();
        let (mut left_out, mut all) = (0, true);
        let mut seen = HashSet::new();
        let mut wanted = vec![true; entries.len()];
        for (place, entry) in entries.iter().enumerate().skip(1) {
            let is_lost = self.is_lost_and_found(&snapshot, place as u32);
            let possible = match entry.kind {
                _ if !wanted[entry.parent as usize] && self.placement == Placement::Paths => false,
                Kind::Special => false,
                Kind::Symlink => (1..=LONGEST_TARGET).contains(&entry.size),
                Kind::File | Kind::Dir => true,
            };
            left_out += u64::from(!possible);
            wanted[place] = possible
                && !is_lost
                && (entry.kind != Kind::Symlink || self.symlinks)
                && (entry.kind == Kind::Dir || self.links || seen.insert(entry.inode));
            all &= wanted[place];
        }
        let view = match self.placement {
            Placement::Paths if all => snapshot,
            Placement::Paths => keep(&snapshot, &wanted),
            Placement::CylinderGroups { inodes_per_group } => {
                let per_group = inodes_per_group.unwrap_or_else(|| default_inodes_per_group(&snapshot));
                self.by_group(&snapshot, &wanted, per_group.max(1))
            }
        };
        match (1..view.entries().len() as u32).find(|place| !is_valid_name(view.name(*place))) {
            None => Ok((view, left_out)),
            Some(place) => Err(Error::Snapshots(format!(
                "{name} contains an invalid file name, {:?}; take or import it again",
                String::from_utf8_lossy(&view.path(place))
            ))),
        }
    }

    /// Whether an entry is the `lost+found` directory at the root.
    fn is_lost_and_found(&self, snapshot: &Snapshot, place: u32) -> bool {
        let entry = &snapshot.entries()[place as usize];
        let is_there = entry.parent == ROOT && entry.kind == Kind::Dir;
        self.placement == Placement::Paths && is_there && snapshot.name(place) == LOST_AND_FOUND
    }

    /// Puts each file into the directory of its group, under a name unique among all files that ever existed.
    /// A group keeps its directory. Directories of groups come first, so that they are created while the file
    /// system is empty.
    fn by_group(&mut self, snapshot: &Snapshot, wanted: &[bool], per_group: u64) -> Snapshot {
        let entries = snapshot.entries();
        // ext4 counts inodes from 1; for other file systems an offset of one is negligible.
        let group = |entry: &Entry| entry.inode.saturating_sub(1) / per_group;
        let files = || {
            let places = 1..entries.len();
            places.filter(|place| wanted[*place] && entries[*place].kind != Kind::Dir)
        };
        self.groups.extend(files().map(|place| group(&entries[place])));
        let mut builder = SnapshotBuilder::new(snapshot.info().clone(), entries[ROOT as usize].clone());
        let mut dirs = HashMap::new();
        for group in &self.groups {
            let dir = Entry {
                parent: ROOT,
                kind: Kind::Dir,
                inode: *group,
                generation: None,
                links: 1,
                size: 0,
                allocated: 0,
                changed_ns: i64::MIN,
                modified_ns: i64::MIN,
                born_ns: None,
            };
            dirs.insert(*group, builder.add(dir, format!("group{group}").as_bytes(), &[]));
        }
        for place in files() {
            let entry = &entries[place];
            let mut name = format!("{:x}", entry.inode);
            match (entry.generation, entry.born_ns) {
                (Some(generation), _) => name += &format!("-{generation:x}"),
                (None, Some(born_ns)) => name += &format!("-{born_ns:x}"),
                (None, None) => {}
            }
            let entry = Entry { parent: dirs[&group(entry)], links: 1, ..entry.clone() };
            builder.add(entry, name.as_bytes(), snapshot.extents(place as u32));
        }
        builder.finish()
    }
}

/// The wanted entries. An unwanted entry has no wanted children.
fn keep(snapshot: &Snapshot, wanted: &[bool]) -> Snapshot {
    let entries = snapshot.entries();
    let mut builder = SnapshotBuilder::new(snapshot.info().clone(), entries[ROOT as usize].clone());
    let mut moved = vec![ROOT; entries.len()];
    for (place, entry) in entries.iter().enumerate().skip(1).filter(|(place, _)| wanted[*place]) {
        let entry = Entry { parent: moved[entry.parent as usize], ..entry.clone() };
        moved[place] = builder.add(entry, snapshot.name(place as u32), snapshot.extents(place as u32));
    }
    builder.finish()
}

/// The default number of inodes per group; for an unsupported file system that of ext4.
fn default_inodes_per_group(snapshot: &Snapshot) -> u64 {
    let info = snapshot.info();
    fs::find(&info.fs).map_or(fs::INODES_PER_GROUP, |kind| kind.inodes_per_group(info.capacity_bytes))
}
