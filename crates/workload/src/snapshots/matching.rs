//! Matches the files of a snapshot with those of the one before.

use std::collections::HashMap;

use snapshot::{Entry, Kind, ROOT, Snapshot};

use super::tree::NONE;

/// The names of each file.
pub(super) struct Files {
    /// The first name of the file of each name; a directory's own place.
    pub first: Vec<u32>,
    by_inode: HashMap<u64, u32>,
    /// The next name of the same file, for files with several names.
    next: HashMap<u32, u32>,
}

impl Files {
    pub fn of(snapshot: &Snapshot) -> Files {
        let entries = snapshot.entries();
        let mut files = Files {
            first: (0..entries.len() as u32).collect(),
            by_inode: HashMap::with_capacity(entries.len()),
            next: HashMap::new(),
        };
        let mut last = HashMap::new();
        for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.kind != Kind::Dir) {
            let place = place as u32;
            let first = *files.by_inode.entry(entry.inode).or_insert(place);
            // An inode number belongs to two files if one of them was deleted while the snapshot was taken.
            if first != place && likeness(&entries[first as usize], entry) != Likeness::Different {
                files.first[place as usize] = first;
                let before = last.insert(first, place).unwrap_or(first);
                files.next.insert(before, place);
            }
        }
        files
    }

    /// The names of the file with the first name `first`.
    pub fn names(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(first), |name| self.next.get(name).copied())
    }
}

#[derive(PartialEq, Eq)]
enum Likeness {
    Same,
    Different,
    /// Only the inode number is equal.
    ByInodeAlone,
}

/// Whether two entries are the same file, and whether generation or birth time decides it.
fn likeness(a: &Entry, b: &Entry) -> Likeness {
    let both_have_generation = a.generation.is_some() && b.generation.is_some();
    let both_have_birth = a.born_ns.is_some() && b.born_ns.is_some();
    if a.inode != b.inode || !a.may_be_same_file(b) {
        Likeness::Different
    } else if both_have_generation || both_have_birth {
        Likeness::Same
    } else {
        Likeness::ByInodeAlone
    }
}

/// The predecessor of a file of the later snapshot in the earlier one. Places are those of first names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Predecessor {
    /// A new file.
    None,
    /// The same file.
    File(u32),
    /// A deleted file with the same inode.
    Replaced(u32),
}

/// The relation between two snapshots: `a` is the earlier one, `b` the later.
pub(super) struct Matching {
    pub files_a: Files,
    pub files_b: Files,
    /// The earlier entry with the name of each entry of `b`, if its directory existed before.
    pub slot: Vec<u32>,
    /// The entry of `a` that each directory and each name of `b` corresponds to, if it keeps its place.
    pub kept: Vec<u32>,
    /// The predecessor of each file of `b`, at its first name.
    pub predecessor: Vec<Predecessor>,
    /// The successor of each file of `a`, at its first name: the same file, or the file that reused its inode.
    pub became: Vec<u32>,
    pub by_inode_alone: u64,
}

impl Matching {
    pub fn of(a: &Snapshot, b: &Snapshot) -> Matching {
        let mut matching = Matching {
            files_a: Files::of(a),
            files_b: Files::of(b),
            slot: vec![NONE; b.entries().len()],
            kept: vec![NONE; b.entries().len()],
            predecessor: vec![Predecessor::None; b.entries().len()],
            became: vec![NONE; a.entries().len()],
            by_inode_alone: 0,
        };
        matching.directories(a, b);
        for (place, entry) in b.entries().iter().enumerate() {
            if entry.kind != Kind::Dir && matching.files_b.first[place] == place as u32 {
                matching.file(a, b, place as u32);
            }
        }
        matching
    }

    /// A directory keeps its place if its name and its parent do.
    fn directories(&mut self, a: &Snapshot, b: &Snapshot) {
        let places = a.entries().iter().enumerate().skip(1);
        let slots: HashMap<(u32, &[u8]), u32> =
            places.map(|(place, entry)| ((entry.parent, a.name(place as u32)), place as u32)).collect();
        self.kept[ROOT as usize] = ROOT;
        for (place, entry) in b.entries().iter().enumerate().skip(1) {
            let parent = self.kept[entry.parent as usize];
            let Some(slot) = slots.get(&(parent, b.name(place as u32))) else { continue };
            self.slot[place] = *slot;
            let before = &a.entries()[*slot as usize];
            if entry.kind == Kind::Dir && likeness(before, entry) != Likeness::Different {
                self.kept[place] = *slot;
            }
        }
    }

    /// Finds the predecessor of the file with the first name `first`.
    fn file(&mut self, a: &Snapshot, b: &Snapshot, first: u32) {
        let entry = &b.entries()[first as usize];
        let is_free = |place: u32| self.became[place as usize] == NONE;
        let slots = self.files_b.names(first).map(|name| self.slot[name as usize]);
        let by_name =
            slots.filter(|slot| *slot != NONE).map(|slot| self.files_a.first[slot as usize]).find(|before| {
                is_free(*before) && likeness(&a.entries()[*before as usize], entry) != Likeness::Different
            });
        let Some(before) = by_name
            .or_else(|| self.files_a.by_inode.get(&entry.inode).copied().filter(|before| is_free(*before)))
        else {
            return;
        };
        let earlier = &a.entries()[before as usize];
        let likeness = likeness(earlier, entry);
        self.by_inode_alone += u64::from(likeness == Likeness::ByInodeAlone);
        let is_same = match likeness {
            Likeness::Same => true,
            Likeness::Different => false,
            Likeness::ByInodeAlone => {
                by_name.is_some() || (earlier.size, earlier.modified_ns) == (entry.size, entry.modified_ns)
            }
        };
        self.became[before as usize] = first;
        self.predecessor[first as usize] =
            if is_same { Predecessor::File(before) } else { Predecessor::Replaced(before) };
        if is_same {
            for name in self.files_b.names(first) {
                let slot = self.slot[name as usize];
                if slot != NONE && self.files_a.first[slot as usize] == before {
                    self.kept[name as usize] = slot;
                }
            }
        }
    }
}
