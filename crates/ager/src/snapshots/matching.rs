//! Which file of a snapshot is which of the one before.

use std::collections::HashMap;

use snapshot::{Entry, Kind, ROOT, Snapshot};

use super::tree::NONE;

/// The names of each file.
pub(super) struct Files {
    /// The first name of the file that a name is of; of directories themselves.
    pub first: Vec<u32>,
    by_inode: HashMap<u64, u32>,
    /// The next name of the same file, for those that have several.
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
            // One inode number is of two files if one of them was deleted while the snapshot was taken.
            if first != place && likeness(&entries[first as usize], entry) != Likeness::Different {
                files.first[place as usize] = first;
                let before = last.insert(first, place).unwrap_or(first);
                files.next.insert(before, place);
            }
        }
        files
    }

    /// The names of the file whose first is `first`.
    pub fn names(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(first), |name| self.next.get(name).copied())
    }
}

#[derive(PartialEq, Eq)]
enum Likeness {
    Same,
    Different,
    /// Nothing but the number of the inode speaks for it.
    ByInodeAlone,
}

/// Whether two entries are of one file, and whether generation or birth tells it.
fn likeness(a: &Entry, b: &Entry) -> Likeness {
    let both_have_generation = a.generation.is_some() && b.generation.is_some();
    let both_have_birth = a.born_ns.is_some() && b.born_ns.is_some();
    if a.inode != b.inode || !a.may_be(b) {
        Likeness::Different
    } else if both_have_generation || both_have_birth {
        Likeness::Same
    } else {
        Likeness::ByInodeAlone
    }
}

/// What a file of the later snapshot was in the earlier one. Places are those of first names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Was {
    /// It was not there.
    Nothing,
    /// It was this file.
    File(u32),
    /// It has the inode of this file, which is gone.
    Replaced(u32),
}

/// Two snapshots side by side: `a` is the earlier one, `b` the later.
pub(super) struct Matching {
    pub files_a: Files,
    pub files_b: Files,
    /// What was there before under the name of each entry of `b`, if its directory was there before.
    pub slot: Vec<u32>,
    /// The entry of `a` that each directory and each name of `b` is, if it has its place still.
    pub kept: Vec<u32>,
    /// What each file of `b` was, at its first name.
    pub was: Vec<Was>,
    /// What each file of `a` is, at its first name: what it became, or what has its inode.
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
            was: vec![Was::Nothing; b.entries().len()],
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

    /// A directory is where it was if its name is, and its directory is.
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

    /// Finds what the file whose first name is `first` was.
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
        self.was[first as usize] = if is_same { Was::File(before) } else { Was::Replaced(before) };
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
