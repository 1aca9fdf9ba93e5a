//! Walks a whole file system and proves the invariants of `FORMAT.md`.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use betree::{Options, Storage, Store};

use crate::error::Result;
use crate::key;
use crate::overlay::Overlay;
use crate::record::{Entry, Place, Record};
use crate::superblock::Super;

/// The number of problems that are listed; further ones are only counted.
const TOLD: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Problems of the store, then of the file system; empty if both are valid.
    pub problems: Vec<String>,
    /// Number of problems that are not listed.
    pub more_problems: u64,
    /// Whether the file system was unmounted cleanly.
    pub closed: bool,
    /// Number of directories, including the root.
    pub directories: u64,
    /// Number of other inodes with at least one name.
    pub files: u64,
    /// Number of files without a name; the next mount deletes them.
    pub orphans: u64,
    /// Bytes of file data.
    pub data_bytes: u64,
}

/// Checks the file system on `storage` without changing it. No other process may have it open.
///
/// # Errors
/// If `storage` has no file system that can be checked.
pub fn check(storage: Arc<dyn Storage>) -> Result<CheckReport> {
    let store = betree::check(Arc::clone(&storage))?;
    let mut found = CheckReport {
        problems: store.problems.into_iter().map(|problem| format!("store: {problem}")).collect(),
        more_problems: store.more_problems,
        closed: store.closed,
        ..CheckReport::default()
    };
    if !found.problems.is_empty() {
        return Ok(found);
    }
    // Replays the log in memory.
    let store = Store::open(Arc::new(Overlay::new(storage)), Options::default())?;
    let header = Super::read(&store)?;
    let mut walk = Walk { store: &store, header, found, state: CheckState::default() };
    walk.records()?;
    walk.directories();
    walk.displaced();
    walk.links();
    walk.data()?;
    found = walk.found;
    Ok(found)
}

struct Directory {
    displaced: bool,
    home: bool,
    /// The prefix of the parent directory; none for the root.
    parent: Option<Arc<[u8]>>,
    entries: u64,
    links: u32,
}

#[derive(Default)]
struct EntryCounts {
    entries: u64,
    directories: u32,
}

struct File {
    blocks: u64,
    stored: u64,
    seen: u64,
}

#[derive(Default)]
struct CheckState {
    hasher: RandomState,
    numbers: HashSet<u64>,
    directories: HashMap<Arc<[u8]>, Directory>,
    /// Entry and subdirectory counts of each prefix with entries.
    held: HashMap<Arc<[u8]>, EntryCounts>,
    /// Files with data, keyed by the hash of their prefix; the prefixes themselves would need too much memory.
    files: HashMap<u64, File>,
    away: Vec<Arc<[u8]>>,
    /// Link counts of files under `i`, minus the redirects to them.
    links: HashMap<u64, i64>,
}

struct Walk<'a> {
    store: &'a Store,
    header: Super,
    found: CheckReport,
    state: CheckState,
}

impl Walk<'_> {
    fn wrong(&mut self, why: String) {
        if self.found.problems.len() < TOLD {
            self.found.problems.push(why);
        } else {
            self.found.more_problems += 1;
        }
    }

    /// Invariants 1 to 3, except for data keys.
    fn records(&mut self) -> Result<()> {
        let mut scan = self.store.scan(&[], None);
        // `data` scans the data keys.
        let (data, behind) = key::below(key::DATA, &[]);
        let mut parent: Arc<[u8]> = Arc::from([]);
        let mut skipped = false;
        while let Some((key, value)) = scan.next_entry()? {
            if key >= &data[..] && !skipped {
                skipped = true;
                scan = self.store.scan(&behind, None);
                continue;
            }
            let entry = Entry::decode(value);
            match (key.first().copied(), entry) {
                _ if key == key::SUPER => {}
                (Some(key::META), Ok(entry)) => {
                    let Some((prefix, name)) = key::split_meta(key) else {
                        self.wrong(format!("{}: not a valid record key", show(key)));
                        continue;
                    };
                    if *parent != *prefix {
                        parent = prefix.into();
                    }
                    let name = name.to_vec();
                    self.entry(&parent, &name, entry);
                }
                (_, Ok(Entry::Record(record, place))) if key == key::ROOT => {
                    self.record(&record, &place, None, "root");
                }
                (Some(kind @ (key::LINKED | key::ORPHAN)), Ok(Entry::Record(record, place))) => {
                    let what = format!("inode {}", record.ino);
                    if key != key::number(kind, record.ino) {
                        self.wrong(format!("{what}: its key has another number"));
                    }
                    if kind == key::LINKED {
                        *self.state.links.entry(record.ino).or_default() += i64::from(record.links);
                    } else {
                        self.found.orphans += 1;
                    }
                    if !matches!(place, Place::Away(_)) || record.is_dir() {
                        self.wrong(format!("{what}: it is displaced but has no name"));
                        continue;
                    }
                    self.record(&record, &place, None, &what);
                }
                (_, Err(error)) => self.wrong(format!("{}: {error}", show(key))),
                _ => self.wrong(format!("{}: invalid key", show(key))),
            }
        }
        Ok(())
    }

    fn entry(&mut self, parent: &Arc<[u8]>, name: &[u8], entry: Entry) {
        let what = format!("{}{}", show(parent), show(name));
        if name.is_empty() || name.len() > key::NAME_MAX || name.iter().any(|byte| matches!(byte, 0 | b'/')) {
            self.wrong(format!("{what}: invalid name"));
        }
        let held = self.state.held.entry(Arc::clone(parent)).or_default();
        held.entries += 1;
        match entry {
            Entry::Record(record, place) => {
                held.directories += u32::from(record.is_dir());
                self.record(&record, &place, Some((parent, name)), &what);
            }
            Entry::Redirect { ino, .. } => *self.state.links.entry(ino).or_default() -= 1,
        }
    }

    fn record(&mut self, record: &Record, place: &Place, home: Option<(&Arc<[u8]>, &[u8])>, what: &str) {
        if record.ino >= self.header.next_number || !self.state.numbers.insert(record.ino) {
            self.wrong(format!("{what}: its number {} is duplicate or unassigned", record.ino));
        }
        let prefix: Arc<[u8]> = match (place, home) {
            (Place::Away(prefix), _) => {
                if !prefix.is_empty() {
                    self.state.away.push(Arc::clone(prefix));
                }
                Arc::clone(prefix)
            }
            (place, Some((parent, name))) => place.prefix(parent, name, record.ino),
            (_, None) => return self.wrong(format!("{what}: it has no home")),
        };
        if record.is_dir() {
            self.found.directories += 1;
            let directory = Directory {
                displaced: record.displaced,
                home: !matches!(place, Place::Away(_)),
                parent: home.map(|(parent, _)| Arc::clone(parent)),
                entries: record.size,
                links: record.links,
            };
            if self.state.directories.insert(prefix, directory).is_some() {
                self.wrong(format!("{what}: its prefix belongs to another record"));
            }
            return;
        }
        self.found.files += 1;
        if !record.is_file() || record.stored == 0 {
            return;
        }
        let blocks = record.size.div_ceil(self.header.block_bytes.into());
        let sum = self.state.hasher.hash_one(&*prefix);
        match self.state.files.entry(sum) {
            Slot::Occupied(_) => self.wrong(format!("{what}: its prefix belongs to another record")),
            Slot::Vacant(slot) => {
                slot.insert(File { blocks, stored: record.stored, seen: 0 });
            }
        }
    }

    /// Invariants 1 and 4 for directories.
    fn directories(&mut self) {
        let state = std::mem::take(&mut self.state);
        for (prefix, held) in &state.held {
            if !state.directories.contains_key(prefix) {
                self.wrong(format!("{}: {} entries have no directory", show(prefix), held.entries));
            }
        }
        let none = EntryCounts::default();
        // Directories that are connected to the root.
        let mut rooted: HashSet<&[u8]> = HashSet::from([&[][..]]);
        for (prefix, directory) in &state.directories {
            let held = state.held.get(prefix).unwrap_or(&none);
            let links = 2 + held.directories;
            if (directory.entries, directory.links) != (held.entries, links) {
                self.wrong(format!(
                    "{}: recorded {} entries and {} links, found {} and {links}",
                    show(prefix),
                    directory.entries,
                    directory.links,
                    held.entries,
                ));
            }
            let mut path: Vec<&[u8]> = Vec::new();
            let mut at: &[u8] = prefix;
            while !rooted.contains(at) && path.len() <= state.directories.len() {
                path.push(at);
                match state.directories.get(at).and_then(|found| found.parent.as_deref()) {
                    Some(parent) => at = parent,
                    None => break,
                }
            }
            if rooted.contains(at) {
                rooted.extend(path);
            } else {
                self.wrong(format!("{}: not reachable from the root", show(prefix)));
            }
        }
        self.state = state;
    }

    /// Invariant 6.
    fn displaced(&mut self) {
        let state = std::mem::take(&mut self.state);
        for away in &state.away {
            let ends = key::component_ends(away);
            for (i, end) in ends.iter().enumerate() {
                let Some(directory) = state.directories.get(&away[..*end]) else { continue };
                let next = ends.get(i + 1).and_then(|next| state.directories.get(&away[..*next]));
                if !directory.displaced && !next.is_some_and(|next| next.home) {
                    let (at, away) = (show(&away[..*end]), show(away));
                    self.wrong(format!("{at}: not marked as displaced, but {away} is elsewhere"));
                }
            }
        }
        self.state = state;
    }

    /// Invariant 4 for files.
    fn links(&mut self) {
        let links = std::mem::take(&mut self.state.links);
        for (ino, missing) in links.into_iter().filter(|(_, missing)| *missing != 0) {
            self.wrong(format!("inode {ino}: its link count is {missing} too high"));
        }
    }

    /// Invariants 3 and 5.
    fn data(&mut self) -> Result<()> {
        let block_bytes = self.header.block_bytes as usize;
        let (from, to) = key::below(key::DATA, &[]);
        let mut scan = self.store.scan(&from, Some(&to));
        while let Some((key, value)) = scan.next_entry()? {
            self.found.data_bytes += value.len() as u64;
            let place =
                key::split_data(key).map(|(prefix, block)| (self.state.hasher.hash_one(prefix), block));
            let file = place.and_then(|(sum, block)| Some((self.state.files.get_mut(&sum)?, block)));
            match file {
                Some((file, block)) if block < file.blocks && value.len() <= block_bytes => file.seen += 1,
                Some(_) => self.wrong(format!("{}: data beyond the end of the file", show(key))),
                None => self.wrong(format!("{}: data without a file", show(key))),
            }
        }
        let files = std::mem::take(&mut self.state.files);
        for file in files.into_values().filter(|file| file.seen != file.stored) {
            self.wrong(format!("a file records {} stored blocks and has {}", file.stored, file.seen));
        }
        Ok(())
    }
}

/// A printable form of a key: printable characters as they are, others escaped.
fn show(key: &[u8]) -> String {
    format!("\"{}\"", key.escape_ascii())
}
