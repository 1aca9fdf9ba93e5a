//! An in-memory file system with a known history, for taking snapshots.

use snapshot::{Entry, Extent, Info, Kind, ROOT, Snapshot, SnapshotBuilder};
use std::collections::BTreeMap;

pub const BLOCK: u64 = 4096;
pub const DAY_NS: i64 = 86_400_000_000_000;
const ROOT_INODE: u64 = 2;

/// Identifies a file among all files that ever existed.
pub type Identity = (u64, u32);

/// The identity information that the file system provides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    Generation,
    Birth,
    Neither,
}

/// The contents of a file.
pub struct File {
    /// Number of changes.
    pub changes: u64,
    size: u64,
    blocks: Vec<Option<u64>>,
}

impl File {
    /// Whether the file has grown and its earlier blocks have not moved.
    pub fn is_grown(&self, before: &File) -> bool {
        self.size > before.size && self.blocks.starts_with(&before.blocks)
    }
}

#[derive(Clone)]
struct Inode {
    generation: u32,
    kind: Kind,
    size: u64,
    changed: i64,
    modified: i64,
    born: i64,
    /// The disk address of each block; `None` for a hole.
    blocks: Vec<Option<u64>>,
    /// Number of changes of the contents.
    changes: u64,
}

/// The file system.
pub struct History {
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<(u64, String), u64>,
    free: Vec<u64>,
    next_inode: u64,
    next_generation: u32,
    next_block: u64,
    now: i64,
    keeps: Keeps,
}

/// Snapshots of three days with 80 changes each.
pub fn three_days() -> Vec<Snapshot> {
    let mut history = History::new(Keeps::Birth);
    let mut snapshots = Vec::new();
    for day in 0..3u64 {
        (0..80).for_each(|step| history.step((day * 80 + step + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        snapshots.push(history.snapshot());
    }
    snapshots
}

impl History {
    pub fn new(keeps: Keeps) -> History {
        let mut history = History {
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            free: Vec::new(),
            next_inode: ROOT_INODE,
            next_generation: 7,
            next_block: 0,
            now: 1_000 * DAY_NS,
            keeps,
        };
        history.allocate(Kind::Dir, 0, false);
        history
    }

    pub fn pass(&mut self, ns: i64) {
        self.now += ns;
    }

    /// Applies the change that `choice` selects, if possible. All changes have equal probability except where
    /// noted.
    pub fn step(&mut self, choice: u64) {
        self.now += 1 + (choice % 997) as i64 * 1_000_000;
        let [what, one, other, size] = [choice, choice >> 8, choice >> 24, choice >> 40].map(|n| n as usize);
        let dirs: Vec<u64> = self.of_kind(&[Kind::Dir]);
        let dir = dirs[one % dirs.len()];
        let name = format!("n{}", other % 7);
        let names: Vec<(u64, String)> = self.names.keys().cloned().collect();
        let picked = (!names.is_empty()).then(|| names[one % names.len()].clone());
        let bytes = (size % 60_000) as u64;
        match (what % 16, picked) {
            (0..4, _) => self.create(dir, name, Kind::File, bytes, other % 5 == 0),
            (4, _) => self.create(dir, name, Kind::Symlink, bytes % 50 + 1, false),
            (5, _) => self.create(dir, name, Kind::Dir, 0, false),
            (6..9, Some(picked)) => self.remove(&picked),
            (9, Some(picked)) => self.link(&picked, (dir, name)),
            (10..12, Some(picked)) => self.rename(&picked, (dir, name)),
            (12, Some(picked)) => self.touch(&picked),
            (_, Some(picked)) => self.change(&picked, what, bytes),
            _ => {}
        }
    }

    fn of_kind(&self, kinds: &[Kind]) -> Vec<u64> {
        self.inodes
            .iter()
            .filter(|(_, inode)| kinds.contains(&inode.kind))
            .map(|(number, _)| *number)
            .collect()
    }

    fn allocate(&mut self, kind: Kind, size: u64, has_hole: bool) -> u64 {
        // The number freed last is used first, so that many are reused.
        let number = self.free.pop().unwrap_or_else(|| {
            self.next_inode += 1;
            self.next_inode - 1
        });
        self.next_generation += 1;
        let mut inode = Inode {
            generation: self.next_generation,
            kind,
            size,
            changed: self.now,
            modified: self.now,
            born: self.now,
            blocks: Vec::new(),
            changes: 0,
        };
        if kind == Kind::File {
            inode.blocks = self.blocks(0, size);
            if has_hole {
                inode.blocks.iter_mut().skip(1).step_by(3).for_each(|block| *block = None);
            }
        }
        self.inodes.insert(number, inode);
        number
    }

    fn blocks(&mut self, from: u64, to: u64) -> Vec<Option<u64>> {
        // Never adjacent to earlier blocks, so that only unmoved blocks lie in place.
        self.next_block += 10;
        let count = to.div_ceil(BLOCK) - from.div_ceil(BLOCK);
        (0..count)
            .map(|_| {
                self.next_block += 1;
                Some(self.next_block)
            })
            .collect()
    }

    fn create(&mut self, dir: u64, name: String, kind: Kind, size: u64, has_hole: bool) {
        if !self.names.contains_key(&(dir, name.clone())) {
            let inode = self.allocate(kind, size, has_hole);
            self.names.insert((dir, name), inode);
            self.stamp(dir);
        }
    }

    fn stamp(&mut self, dir: u64) {
        let now = self.now;
        let dir = self.inodes.get_mut(&dir).unwrap();
        (dir.changed, dir.modified) = (now, now);
    }

    fn remove(&mut self, name: &(u64, String)) {
        let inode = self.names[name];
        if self.names.keys().any(|(dir, _)| *dir == inode) {
            return;
        }
        self.names.remove(name);
        self.stamp(name.0);
        if self.names.values().any(|other| *other == inode) {
            self.inodes.get_mut(&inode).unwrap().changed = self.now;
        } else {
            self.inodes.remove(&inode);
            self.free.push(inode);
        }
    }

    fn link(&mut self, from: &(u64, String), to: (u64, String)) {
        let inode = self.names[from];
        if self.inodes[&inode].kind != Kind::Dir && !self.names.contains_key(&to) {
            self.stamp(to.0);
            self.names.insert(to, inode);
            self.inodes.get_mut(&inode).unwrap().changed = self.now;
        }
    }

    fn rename(&mut self, from: &(u64, String), to: (u64, String)) {
        let inode = self.names[from];
        let is_dir = self.inodes[&inode].kind == Kind::Dir;
        if is_dir && self.is_below(to.0, inode) || self.names.get(&to) == Some(&inode) {
            return;
        }
        if let Some(there) = self.names.get(&to) {
            if is_dir || self.inodes[there].kind == Kind::Dir {
                return;
            }
            self.remove(&to);
        }
        self.names.remove(from);
        self.stamp(from.0);
        self.stamp(to.0);
        self.names.insert(to, inode);
        self.inodes.get_mut(&inode).unwrap().changed = self.now;
    }

    fn is_below(&self, mut dir: u64, above: u64) -> bool {
        while dir != above && dir != ROOT_INODE {
            dir = self.names.iter().find(|(_, inode)| **inode == dir).unwrap().0.0;
        }
        dir == above
    }

    fn touch(&mut self, name: &(u64, String)) {
        let inode = self.names[name];
        self.inodes.get_mut(&inode).unwrap().changed = self.now;
    }

    fn change(&mut self, name: &(u64, String), how: usize, bytes: u64) {
        let number = self.names[name];
        let mut inode = self.inodes[&number].clone();
        if inode.kind != Kind::File {
            return;
        }
        match how % 16 {
            13 => {
                let to = inode.size + bytes + 1;
                inode.blocks.extend(self.blocks(inode.size, to));
                inode.size = to;
            }
            14 => {
                inode.blocks = self.blocks(0, bytes);
                inode.size = bytes;
            }
            _ => {
                inode.size /= 2;
                inode.blocks.truncate(inode.size.div_ceil(BLOCK) as usize);
            }
        }
        (inode.changed, inode.modified) = (self.now, self.now);
        inode.changes += 1;
        self.inodes.insert(number, inode);
    }

    /// All files.
    pub fn files(&self) -> BTreeMap<Identity, File> {
        let files = self.inodes.iter().filter(|(_, inode)| inode.kind != Kind::Dir);
        let file =
            |inode: &Inode| File { changes: inode.changes, size: inode.size, blocks: inode.blocks.clone() };
        files.map(|(number, inode)| ((*number, inode.generation), file(inode))).collect()
    }

    /// Takes a snapshot; this advances the clock by a second.
    pub fn snapshot(&mut self) -> Snapshot {
        self.now += 1_000_000_000;
        let info = Info {
            fs: "ext4".to_owned(),
            block_bytes: BLOCK,
            capacity_bytes: 1 << 30,
            begun_ns: self.now,
            ended_ns: self.now + 1_000_000_000,
            ..Info::default()
        };
        self.now += 1_000_000_000;
        let mut builder = SnapshotBuilder::new(info, self.entry(ROOT_INODE, ROOT));
        self.add(&mut builder, ROOT_INODE, ROOT);
        builder.finish()
    }

    fn add(&self, builder: &mut SnapshotBuilder, dir: u64, place: u32) {
        for ((_, name), inode) in self.names.range((dir, String::new())..(dir + 1, String::new())) {
            let extents = extents(&self.inodes[inode].blocks);
            let entry = self.entry(*inode, place);
            let is_dir = entry.kind == Kind::Dir;
            let place = builder.add(entry, name.as_bytes(), &extents);
            if is_dir {
                self.add(builder, *inode, place);
            }
        }
    }

    fn entry(&self, number: u64, parent: u32) -> Entry {
        let inode = &self.inodes[&number];
        Entry {
            parent,
            kind: inode.kind,
            inode: number,
            generation: (self.keeps == Keeps::Generation).then_some(inode.generation),
            links: self.names.values().filter(|inode| **inode == number).count() as u32,
            size: inode.size,
            allocated: inode.blocks.iter().flatten().count() as u64 * BLOCK,
            changed_ns: inode.changed,
            modified_ns: inode.modified,
            born_ns: (self.keeps == Keeps::Birth).then_some(inode.born),
        }
    }
}

fn extents(blocks: &[Option<u64>]) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let Some(block) = block else { continue };
        let (logical, physical) = (place as u64 * BLOCK, block * BLOCK);
        match extents.last_mut() {
            Some(last) if (last.logical + last.len, last.physical + last.len) == (logical, physical) => {
                last.len += BLOCK;
            }
            _ => extents.push(Extent { logical, physical, len: BLOCK }),
        }
    }
    extents
}
