//! Random operations, compared with a model in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use proptest::prelude::*;
use senesce_betreefs::{Rename, SetAttr};

const NAMES: [&[u8]; 7] =
    [b"a", b"a.c", b"b", b"\x01", b"long name that is longer than others", b"z\xff", b"0"];

#[derive(Debug, Clone)]
enum Op {
    File(u8, u8),
    Dir(u8, u8),
    Symlink(u8, u8),
    Write(u8, u32, u32),
    Truncate(u8, u32),
    Punch(u8, u32, u32),
    Unlink(u8, u8),
    Rmdir(u8, u8),
    Rename((u8, u8), (u8, u8), u8),
    Link(u8, u8, u8),
    /// A link, then the removal of the first other name.
    Place(u8, u8, u8),
    Hold(u8),
    Release,
    Remount,
}

fn op() -> impl Strategy<Value = Op> {
    let name = 0..NAMES.len() as u8;
    let place = || (any::<u8>(), 0..NAMES.len() as u8);
    let at = || prop_oneof![0u32..300, 0u32..200_000];
    prop_oneof![
        4 => place().prop_map(|(d, n)| Op::File(d, n)),
        3 => place().prop_map(|(d, n)| Op::Dir(d, n)),
        1 => place().prop_map(|(d, n)| Op::Symlink(d, n)),
        5 => (any::<u8>(), at(), prop_oneof![1u32..50, 1u32..60_000]).prop_map(|(f, at, n)| Op::Write(f, at, n)),
        1 => (any::<u8>(), at()).prop_map(|(f, at)| Op::Truncate(f, at)),
        1 => (any::<u8>(), at(), 1u32..80_000).prop_map(|(f, at, n)| Op::Punch(f, at, n)),
        2 => place().prop_map(|(d, n)| Op::Unlink(d, n)),
        1 => place().prop_map(|(d, n)| Op::Rmdir(d, n)),
        6 => (place(), place(), 0u8..3).prop_map(|(from, to, how)| Op::Rename(from, to, how)),
        2 => (any::<u8>(), any::<u8>(), name).prop_map(|(f, d, n)| Op::Link(f, d, n)),
        2 => (any::<u8>(), any::<u8>(), 0..NAMES.len() as u8).prop_map(|(f, d, n)| Op::Place(f, d, n)),
        1 => any::<u8>().prop_map(Op::Hold),
        1 => Just(Op::Release),
        1 => Just(Op::Remount),
    ]
}

#[derive(Debug, Clone)]
enum Kind {
    Dir(BTreeMap<usize, usize>),
    File(Vec<u8>),
    Symlink,
}

#[derive(Debug, Clone)]
struct Node {
    kind: Kind,
    links: u32,
    ino: u64,
}

/// A tree of numbered nodes. Node 0 is the root.
struct Model {
    nodes: Vec<Node>,
    /// Open files.
    held: Vec<usize>,
}

impl Model {
    fn dirs(&self) -> Vec<usize> {
        let mut found = vec![0];
        let mut i = 0;
        while i < found.len() {
            for child in self.entries(found[i]).values() {
                if matches!(self.nodes[*child].kind, Kind::Dir(_)) {
                    found.push(*child);
                }
            }
            i += 1;
        }
        found
    }

    fn files(&self) -> Vec<usize> {
        let mut found: BTreeSet<usize> = self.held.iter().copied().collect();
        for dir in self.dirs() {
            found
                .extend(self.entries(dir).values().filter(|n| matches!(self.nodes[**n].kind, Kind::File(_))));
        }
        found.into_iter().collect()
    }

    fn names_of(&self, node: usize) -> impl Iterator<Item = (usize, usize)> {
        let dirs = self.dirs().into_iter();
        dirs.flat_map(move |dir| self.entries(dir).iter().map(move |(name, of)| (dir, *name, *of)))
            .filter_map(move |(dir, name, of)| (of == node).then_some((dir, name)))
    }

    fn entries(&self, dir: usize) -> &BTreeMap<usize, usize> {
        match &self.nodes[dir].kind {
            Kind::Dir(entries) => entries,
            _ => panic!("not a directory"),
        }
    }

    fn entries_mut(&mut self, dir: usize) -> &mut BTreeMap<usize, usize> {
        match &mut self.nodes[dir].kind {
            Kind::Dir(entries) => entries,
            _ => panic!("not a directory"),
        }
    }

    fn data(&mut self, file: usize) -> &mut Vec<u8> {
        match &mut self.nodes[file].kind {
            Kind::File(data) => data,
            _ => panic!("not a file"),
        }
    }

    fn is_dir(&self, node: usize) -> bool {
        matches!(self.nodes[node].kind, Kind::Dir(_))
    }

    fn is_in(&self, dir: usize, node: usize) -> bool {
        dir == node
            || (self.is_dir(node)
                && self.entries(node).values().any(|child| self.is_dir(*child) && self.is_in(dir, *child)))
    }

    fn rename(
        &mut self,
        from: (usize, usize),
        to: (usize, usize),
        how: Rename,
    ) -> std::result::Result<(), i32> {
        let node = *self.entries(from.0).get(&from.1).ok_or(libc::ENOENT)?;
        let other = self.entries(to.0).get(&to.1).copied();
        if self.is_in(to.0, node) {
            return Err(libc::EINVAL);
        }
        match (other, how) {
            (Some(_), Rename::NoReplace) => return Err(libc::EEXIST),
            (None, Rename::Exchange) => return Err(libc::ENOENT),
            (Some(other), _) if other == node => return Ok(()),
            (Some(other), Rename::Exchange) => {
                if self.is_in(from.0, other) {
                    return Err(libc::EINVAL);
                }
                self.entries_mut(from.0).insert(from.1, other);
                self.entries_mut(to.0).insert(to.1, node);
                return Ok(());
            }
            (Some(other), _) => match (self.is_dir(node), self.is_dir(other)) {
                (true, false) => return Err(libc::ENOTDIR),
                (false, true) => return Err(libc::EISDIR),
                (true, true) if !self.entries(other).is_empty() => return Err(libc::ENOTEMPTY),
                _ => self.nodes[other].links -= 1,
            },
            (None, _) => {}
        }
        self.entries_mut(from.0).remove(&from.1);
        self.entries_mut(to.0).insert(to.1, node);
        Ok(())
    }
}

struct Both {
    disk: Arc<MemoryStorage>,
    fs: Option<Fs>,
    model: Model,
}

impl Both {
    fn new() -> Self {
        let disk = disk(SMALL);
        let fs = open(&disk);
        let root = Node { kind: Kind::Dir(BTreeMap::new()), links: 1, ino: ROOT };
        Self { disk, fs: Some(fs), model: Model { nodes: vec![root], held: Vec::new() } }
    }

    fn fs(&self) -> &Fs {
        self.fs.as_ref().expect("the file system is mounted")
    }

    fn make(&mut self, dir: u8, name: u8, mode: u32, kind: Kind) {
        let dir = pick(&self.model.dirs(), dir).unwrap();
        let new =
            NewInode { mode: mode | 0o644, rdev: 0, target: if mode == libc::S_IFLNK { b"to" } else { b"" } };
        let made = self.fs().create(ME, self.model.nodes[dir].ino, NAMES[name as usize], new);
        if self.model.entries(dir).contains_key(&name.into()) {
            return assert_eq!(errno(made), libc::EEXIST);
        }
        let id = self.model.nodes.len();
        self.model.nodes.push(Node { kind, links: 1, ino: made.unwrap().ino });
        self.model.entries_mut(dir).insert(name.into(), id);
    }

    fn remove(&mut self, dir: u8, name: u8, directory: bool) {
        let dir = pick(&self.model.dirs(), dir).unwrap();
        let at = self.model.nodes[dir].ino;
        let bytes = NAMES[name as usize];
        let done = if directory { self.fs().rmdir(at, bytes) } else { self.fs().unlink(at, bytes) };
        let expected = match self.model.entries(dir).get(&name.into()) {
            None => Err(libc::ENOENT),
            Some(node) => match (&self.model.nodes[*node].kind, directory) {
                (Kind::Dir(_), false) => Err(libc::EISDIR),
                (Kind::Dir(entries), true) if !entries.is_empty() => Err(libc::ENOTEMPTY),
                (Kind::Dir(_), true) => Ok(*node),
                (_, true) => Err(libc::ENOTDIR),
                (_, false) => Ok(*node),
            },
        };
        assert_eq!(done.map_err(|error| error.errno()), expected.map(|_| ()));
        if let Ok(node) = expected {
            self.model.entries_mut(dir).remove(&name.into());
            self.model.nodes[node].links -= 1;
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::File(dir, name) => self.make(dir, name, libc::S_IFREG, Kind::File(Vec::new())),
            Op::Dir(dir, name) => self.make(dir, name, libc::S_IFDIR, Kind::Dir(BTreeMap::new())),
            Op::Symlink(dir, name) => self.make(dir, name, libc::S_IFLNK, Kind::Symlink),
            Op::Unlink(dir, name) => self.remove(dir, name, false),
            Op::Rmdir(dir, name) => self.remove(dir, name, true),
            Op::Write(file, at, n) => {
                let Some(file) = pick(&self.model.files(), file) else { return };
                let data = bytes(u64::from(at) << 32 | u64::from(n), n as usize);
                self.fs().write(self.model.nodes[file].ino, at.into(), &data, false).unwrap();
                let end = (at + n) as usize;
                let old = self.model.data(file);
                old.resize(old.len().max(end), 0);
                old[at as usize..end].copy_from_slice(&data);
            }
            Op::Truncate(file, size) => {
                let Some(file) = pick(&self.model.files(), file) else { return };
                let set = SetAttr { size: Some(size.into()), ..SetAttr::default() };
                self.fs().set_attr(ME, self.model.nodes[file].ino, &set).unwrap();
                self.model.data(file).resize(size as usize, 0);
            }
            Op::Punch(file, at, n) => {
                let Some(file) = pick(&self.model.files(), file) else { return };
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                self.fs().fallocate(self.model.nodes[file].ino, at.into(), n.into(), mode).unwrap();
                let data = self.model.data(file);
                let (from, to) = ((at as usize).min(data.len()), ((at + n) as usize).min(data.len()));
                data[from..to].fill(0);
            }
            Op::Rename(from, to, how) => {
                let dirs = self.model.dirs();
                let (from_dir, to_dir) = (pick(&dirs, from.0).unwrap(), pick(&dirs, to.0).unwrap());
                let how = [Rename::Replace, Rename::NoReplace, Rename::Exchange][how as usize];
                let done = self.fs().rename(
                    (self.model.nodes[from_dir].ino, NAMES[from.1 as usize]),
                    (self.model.nodes[to_dir].ino, NAMES[to.1 as usize]),
                    how,
                );
                let expected = self.model.rename((from_dir, from.1.into()), (to_dir, to.1.into()), how);
                assert_eq!(done.map_err(|error| error.errno()), expected);
            }
            Op::Place(file, dir, name) => {
                let Some(node) = pick(&self.model.files(), file) else { return };
                let first = self.model.names_of(node).next();
                self.apply(&Op::Link(file, dir, name));
                let Some((dir, name)) = first else { return };
                self.fs().unlink(self.model.nodes[dir].ino, NAMES[name]).unwrap();
                self.model.entries_mut(dir).remove(&name);
                self.model.nodes[node].links -= 1;
            }
            Op::Link(file, dir, name) => {
                let Some(file) = pick(&self.model.files(), file) else { return };
                let dir = pick(&self.model.dirs(), dir).unwrap();
                let nodes = &self.model.nodes;
                let done = self.fs().link(nodes[file].ino, nodes[dir].ino, NAMES[name as usize]);
                if self.model.entries(dir).contains_key(&name.into()) {
                    assert_eq!(errno(done), libc::EEXIST);
                } else if nodes[file].links == 0 {
                    assert_eq!(errno(done), libc::ENOENT);
                } else {
                    done.unwrap();
                    self.model.nodes[file].links += 1;
                    self.model.entries_mut(dir).insert(name.into(), file);
                }
            }
            Op::Hold(file) => {
                let Some(file) = pick(&self.model.files(), file) else { return };
                self.fs().open_file(self.model.nodes[file].ino).unwrap();
                self.model.held.push(file);
            }
            Op::Release => {
                if let Some(file) = self.model.held.pop() {
                    self.fs().release(self.model.nodes[file].ino).unwrap();
                }
            }
            Op::Remount => self.remount(),
        }
    }

    fn remount(&mut self) {
        self.fs.take().unwrap().close().unwrap();
        assert_clean(&self.disk);
        self.fs = Some(open(&self.disk));
        self.model.held.clear();
        self.look(0);
    }

    /// Looks up everything, like a kernel with an empty cache, and compares.
    fn look(&self, dir: usize) {
        let (fs, ino) = (self.fs(), self.model.nodes[dir].ino);
        let entries = self.model.entries(dir);
        let mut expected: Vec<Vec<u8>> = entries.keys().map(|name| NAMES[*name].to_vec()).collect();
        expected.sort();
        assert_eq!(names(fs, ino), expected);
        for (name, child) in entries {
            let attr = fs.lookup(ino, NAMES[*name]).unwrap();
            let node = &self.model.nodes[*child];
            assert_eq!(attr.ino, node.ino);
            match &node.kind {
                Kind::Dir(_) => self.look(*child),
                Kind::Symlink => assert_eq!(fs.read_link(attr.ino).unwrap(), b"to"),
                Kind::File(data) => {
                    assert_eq!((attr.size, attr.links), (data.len() as u64, node.links));
                    assert!(content(fs, attr.ino) == *data, "the data of {name} differs");
                }
            }
        }
    }
}

fn pick(from: &[usize], i: u8) -> Option<usize> {
    (!from.is_empty()).then(|| from[usize::from(i) % from.len()])
}

fn apply_and_compare(ops: &[Op]) {
    let mut both = Both::new();
    for op in ops {
        both.apply(op);
    }
    both.look(0);
    both.remount();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn matches_the_model(ops in prop::collection::vec(op(), 1..120)) {
        apply_and_compare(&ops);
    }
}

mod soak {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
        #[test]
        #[ignore = "soak: hundreds of random runs"]
        fn matches_the_model(ops in prop::collection::vec(op(), 1..400)) {
            apply_and_compare(&ops);
        }
    }
}
