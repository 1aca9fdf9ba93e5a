//! Changes between two snapshots. A file is identified by its inode: it may have several names, and keeps its
//! identity when it is renamed; generation or birth time distinguish files that reuse an inode number (Smith
//! and Seltzer, File System Aging, 1997, §3.2).

use crate::{Entry, Kind, Snapshot};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A kind of change to a file, directory or other inode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ChangeKind {
    /// New.
    Created,
    /// Deleted.
    Deleted,
    /// Another file has reused the inode.
    Replaced,
    /// The contents changed: the modification time or the size differs.
    Modified,
    /// Moved to another directory or name. The contents of a renamed directory do not count as renamed.
    Renamed,
    /// A hard link was added.
    Linked,
    /// A hard link was removed.
    Unlinked,
    /// Only metadata changed, neither contents nor names.
    Metadata,
}

impl ChangeKind {
    /// Every kind of change.
    pub const ALL: [ChangeKind; 8] = [
        ChangeKind::Created,
        ChangeKind::Deleted,
        ChangeKind::Replaced,
        ChangeKind::Modified,
        ChangeKind::Renamed,
        ChangeKind::Linked,
        ChangeKind::Unlinked,
        ChangeKind::Metadata,
    ];

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Replaced => "replaced",
            ChangeKind::Modified => "modified",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Linked => "linked",
            ChangeKind::Unlinked => "unlinked",
            ChangeKind::Metadata => "metadata",
        }
    }
}

/// One change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The kind of change.
    pub kind: ChangeKind,
    /// The place in the older snapshot, unless new: of the name that was lost, otherwise of the first name.
    pub before: Option<u32>,
    /// The place in the newer snapshot, unless deleted: of the name that was added, otherwise of the first
    /// name.
    pub after: Option<u32>,
}

impl Entry {
    /// Whether `other`, with the same inode number, may be the same file: no attribute known of both
    /// contradicts it. No system call writes to a symbolic link, so links of different sizes are different.
    pub fn may_be_same_file(&self, other: &Entry) -> bool {
        fn agree<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.is_none() || b.is_none() || a == b
        }
        self.kind == other.kind
            && (self.kind != Kind::Symlink || self.size == other.size)
            && agree(self.generation, other.generation)
            && agree(self.born_ns, other.born_ns)
    }
}

/// The changes between `older` and `newer`, which [`check_pair`](crate::check_pair) must accept: first the
/// entries of the newer snapshot, in its order, then the deleted ones, in the order of the older. A file may
/// be both modified and renamed.
pub fn diff(older: &Snapshot, newer: &Snapshot) -> Vec<Change> {
    let (before, after) = (by_inode(older), by_inode(newer));
    let (mut before, mut after) = (Groups(&before).peekable(), Groups(&after).peekable());
    let mut changes = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a[0].0.cmp(&b[0].0),
        };
        let a = if order.is_le() { before.next() } else { None };
        let b = if order.is_ge() { after.next() } else { None };
        let first = |group: Option<&[(u64, u32)]>| group.map(|group| group[0].1);
        let mut happened = |kind, before, after| changes.push(Change { kind, before, after });
        match (a, b) {
            (Some(a), Some(b)) => compare((older, a), (newer, b), |kind, before, after| {
                happened(kind, Some(before), Some(after));
            }),
            (Some(_), None) => happened(ChangeKind::Deleted, first(a), None),
            _ => happened(ChangeKind::Created, None, first(b)),
        }
    }
    changes.sort_by_key(|change| (change.after.is_none(), change.after.or(change.before), change.kind));
    changes
}

/// The inode numbers and places of all entries, grouped by inode in order.
fn by_inode(snapshot: &Snapshot) -> Vec<(u64, u32)> {
    let mut places: Vec<(u64, u32)> =
        snapshot.entries().iter().zip(0..).map(|(entry, place)| (entry.inode, place)).collect();
    places.sort_unstable();
    places
}

/// Runs of places of one inode.
struct Groups<'p>(&'p [(u64, u32)]);

impl<'p> Iterator for Groups<'p> {
    type Item = &'p [(u64, u32)];

    fn next(&mut self) -> Option<Self::Item> {
        let inode = self.0.first()?.0;
        let end = self.0.iter().position(|(other, _)| *other != inode).unwrap_or(self.0.len());
        let (group, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(group)
    }
}

/// Compares the file of an inode in both snapshots, including its names.
fn compare(
    (older, a): (&Snapshot, &[(u64, u32)]),
    (newer, b): (&Snapshot, &[(u64, u32)]),
    mut happened: impl FnMut(ChangeKind, u32, u32),
) {
    let (first_a, first_b) = (a[0].1, b[0].1);
    let before = &older.entries()[first_a as usize];
    let after = &newer.entries()[first_b as usize];
    if !before.may_be_same_file(after) {
        return happened(ChangeKind::Replaced, first_a, first_b);
    }
    let renamed = match (unmatched((older, a), (newer, b)), unmatched((newer, b), (older, a))) {
        (None, None) => None,
        (None, Some(gained)) => Some((ChangeKind::Linked, first_a, gained)),
        (Some(lost), None) => Some((ChangeKind::Unlinked, lost, first_b)),
        (Some(lost), Some(gained)) => Some((ChangeKind::Renamed, lost, gained)),
    };
    let modified = before.modified_ns != after.modified_ns || before.size != after.size;
    if modified && after.kind == Kind::File {
        happened(ChangeKind::Modified, first_a, first_b);
    }
    if let Some((kind, lost, gained)) = renamed {
        happened(kind, lost, gained);
    }
    // A new or deleted entry also changes its directory, but only the entry itself is reported.
    let is_reported = renamed.is_some() || modified && matches!(after.kind, Kind::File | Kind::Dir);
    if before.changed_ns != after.changed_ns && !is_reported {
        happened(ChangeKind::Metadata, first_a, first_b);
    }
}

/// The first name of a file in one snapshot that it lacks in the other. Compares names with their directory's
/// inode: renaming a directory does not change the names in it.
fn unmatched(
    (one, names): (&Snapshot, &[(u64, u32)]),
    (other, others): (&Snapshot, &[(u64, u32)]),
) -> Option<u32> {
    let others: BTreeSet<(u64, &[u8])> = others.iter().map(|(_, place)| name(other, *place)).collect();
    names.iter().map(|(_, place)| *place).find(|place| !others.contains(&name(one, *place)))
}

/// The inode of the directory of the entry at `place`, and the entry's name in it.
fn name(snapshot: &Snapshot, place: u32) -> (u64, &[u8]) {
    let parent = snapshot.entries()[place as usize].parent;
    (snapshot.entries()[parent as usize].inode, snapshot.name(place))
}
